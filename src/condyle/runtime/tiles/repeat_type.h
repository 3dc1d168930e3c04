/* Repeat(body, numbers): a Plan or a Single repeated over time; numbers (int64) as repeat.h says, checked here. */
#include "repeat.h"

#define REPEAT_HEAD 5
#define REPEAT_STEPS (1 << 24)
#define REPEAT_PAD 16 /* slots behind the last sum that are read, and not used */

typedef struct {
    PyObject_HEAD
    repeat_plan plan;
    PyObject *body, *numbers; /* what the plan points into */
    uint32_t *line;
    tiles_run *const *entries; /* one for each way */
    int ways;
    Py_ssize_t context, work, lanes;
} Repeat;

/* Types are told by what frees them: none of them has subclasses. */
static int is_plan(PyObject *body)
{
    return Py_TYPE(body)->tp_dealloc == plan_dealloc;
}

/* Whether no carried output stands in a slot that is written before it is read. */
static int64_t is_direct(const repeat_plan *self)
{
    const tiles_plan *plan = self->plan;
    for (int64_t k = 0; k < self->n_in; k++) {
        const int64_t carried = self->take[k].carried;
        for (int64_t e = 0; carried >= 0 && e < self->in_size[k]; e++) {
            const int64_t slot = plan->slots[plan->out[carried].table + e];
            for (int64_t other = 0; other < self->n_in; other++) {
                const int64_t at = slot - plan->in[other].slot;
                if (self->take[other].carried >= 0 && at >= 0 && at < self->in_size[other] && !(other == k && at == e)) {
                    return 0;
                }
            }
        }
    }
    return 1;
}

/* Whether a loop that ends has answers of its last steps alone, and begins with inputs as they are. Where all states end
 * together, what is carried is read from its answers. */
static int fine_until(const repeat_plan *self)
{
    int fine = self->until >= -1 && self->until < self->n_out && (self->together == 0 || self->together == 1);
    if (!fine || self->until < 0) {
        return fine && !self->together;
    }
    fine = self->out_size[self->until] == 1 && !self->backwards;
    for (int64_t k = 0; k < self->n_give; k++) {
        fine = fine && self->give[k].every == 0;
    }
    for (int64_t k = 0; k < self->n_in; k++) {
        int64_t answer = 0;
        while (answer < self->n_give && (self->give[answer].output != self->take[k].carried || self->give[answer].summed)) {
            answer++;
        }
        fine = fine && (self->take[k].carried < 0 || (self->take[k].every == 0 && (answer < self->n_give || !self->together)));
    }
    return fine;
}

/* Points the plan into its numbers; fails if they lead out of the body's ports. */
static int read_repeat(repeat_plan *self, PyObject *numbers)
{
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(numbers);
    const int64_t count = PyBytes_GET_SIZE(numbers) / 8;
    int fine = count >= REPEAT_HEAD && at[0] >= 1 && at[0] <= REPEAT_STEPS && (at[1] == 0 || at[1] == 1) && at[2] >= 0 &&
               at[2] <= REPEAT_PORTS && count == REPEAT_HEAD + 2 * self->n_in + 3 * at[2];
    if (!fine) {
        return -1;
    }
    self->steps = at[0], self->backwards = at[1], self->n_give = at[2], self->until = at[3], self->together = at[4];
    self->take = (const repeat_take *)(at + REPEAT_HEAD);
    self->give = (const repeat_give *)(self->take + self->n_in);
    for (int64_t k = 0; k < self->n_in; k++) {
        const int64_t carried = self->take[k].carried;
        fine = fine && carried >= -1 && carried < self->n_out && self->take[k].every >= 0 &&
               (carried < 0 || self->in_size[k] == self->out_size[carried]);
    }
    for (int64_t k = 0; k < self->n_give; k++) {
        const repeat_give *give = self->give + k;
        const int counts = give->output == REPEAT_COUNT && self->until >= 0 && give->summed == 0;
        fine = fine && (counts || (give->output >= 0 && give->output < self->n_out)) && give->every >= 0 &&
               (give->summed == 0 || (give->summed == 1 && give->every == 0));
    }
    return fine && fine_until(self) ? 0 : -1;
}

/* What comes behind the body's workspace on tiles; the bytes of all. */
static Py_ssize_t tile_room(repeat_plan *self, Py_ssize_t vector)
{
    const tiles_plan *plan = self->plan;
    const int64_t tiles = plan->n_loop > 0 ? plan->loops[LOOPS_TILES] : 1;
    int64_t longest = 0;
    self->body = plan->stage + TILES_STAGED + 16;
    for (int64_t k = 0; k < self->n_in; k++) {
        self->moving += self->take[k].carried >= 0 ? self->in_size[k] : 0;
        longest = self->in_size[k] > longest ? self->in_size[k] : longest;
    }
    self->moving = self->moving > longest ? self->moving : longest;
    for (int64_t k = 0; k < self->n_give; k++) {
        self->sums += self->give[k].summed ? self->out_size[self->give[k].output] : 0;
    }
    self->direct = is_direct(self);
    return (Py_ssize_t)((self->body + self->moving + tiles * self->sums + REPEAT_PAD) * vector);
}

static Py_ssize_t lone_room(repeat_plan *self, Py_ssize_t work, int64_t item)
{
    self->body = work / item;
    for (int64_t k = 0; k < self->n_in; k++) {
        self->moving += self->in_size[k];
    }
    for (int64_t k = 0; k < self->n_out; k++) {
        self->sums += self->out_size[k];
    }
    return (Py_ssize_t)((self->body + self->moving + 2 * self->sums) * item);
}

/* Slots 0, 1, 2, ... as many as the longest sum has, and a whole group more, since rows are read by groups. */
static uint32_t *line_of(const repeat_plan *self)
{
    int64_t most = 0;
    uint32_t *line;
    for (int64_t k = 0; k < self->n_out; k++) {
        most = self->out_size[k] > most ? self->out_size[k] : most;
    }
    line = malloc((size_t)(most + REPEAT_PAD) * sizeof *line);
    for (int64_t k = 0; line != NULL && k < most + REPEAT_PAD; k++) {
        line[k] = (uint32_t)k;
    }
    return line;
}

/* The sizes of the ports of a Plan or a Single, and how it is driven; -1 if they are too many. */
static int read_body(Repeat *self, PyObject *body)
{
    repeat_plan *plan = &self->plan;
    const int tiles = is_plan(body);
    const Plan *whole = (const Plan *)body;
    const Single *alone = (const Single *)body;
    const int64_t *sizes = tiles ? NULL : (const int64_t *)PyBytes_AS_STRING(alone->numbers) + SINGLE_HEAD;
    plan->n_in = tiles ? whole->plan.n_in : alone->plan.n_in;
    plan->n_out = tiles ? whole->plan.n_out : alone->plan.n_out;
    if (plan->n_in > REPEAT_PORTS || plan->n_out > REPEAT_PORTS) {
        return -1;
    }
    for (int64_t k = 0; k < plan->n_in; k++) {
        plan->in_size[k] = tiles ? whole->plan.in[k].size : sizes[k];
    }
    for (int64_t k = 0; k < plan->n_out; k++) {
        plan->out_size[k] = tiles ? whole->plan.out[k].size : sizes[plan->n_in + k];
    }
    plan->plan = tiles ? &whole->plan : NULL;
    plan->single = tiles ? NULL : &alone->plan;
    self->entries = tiles ? *whole->set->repeat[whole->bits == 64] : alone->set->repeat_single[alone->bits == 64];
    self->ways = tiles ? TILES_WAYS : 1;
    self->lanes = tiles ? whole->lanes : 1;
    return 0;
}

static PyObject *repeat_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *body, *numbers;
    Repeat *self;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Repeat takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OS", &body, &numbers)) {
        return NULL;
    }
    if (!is_plan(body) && Py_TYPE(body)->tp_dealloc != single_dealloc) {
        PyErr_SetString(PyExc_TypeError, "Repeat: the body is a Plan or a Single");
        return NULL;
    }
    self = (Repeat *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->body = Py_NewRef(body), self->numbers = Py_NewRef(numbers);
    if (read_body(self, body) != 0 || read_repeat(&self->plan, numbers) != 0) {
        PyErr_SetString(PyExc_ValueError, "Repeat: the numbers do not fit together");
        Py_DECREF(self);
        return NULL;
    }
    self->plan.line = self->line = line_of(&self->plan);
    if (self->line == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (is_plan(body)) {
        self->work = tile_room(&self->plan, ((const Plan *)body)->vector);
    } else {
        self->work = lone_room(&self->plan, ((const Single *)body)->work, ((const Single *)body)->bits / 8);
    }
    self->context = (Py_ssize_t)(uintptr_t)&self->plan;
    return (PyObject *)self;
}

static void repeat_dealloc(PyObject *object)
{
    Repeat *self = (Repeat *)object;
    PyTypeObject *type = Py_TYPE(object);
    free(self->line);
    Py_XDECREF(self->body);
    Py_XDECREF(self->numbers);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef repeat_members[] = {
    {"context", T_PYSSIZET, offsetof(Repeat, context), READONLY, "what the driver wants as its last argument"},
    {"work_bytes", T_PYSSIZET, offsetof(Repeat, work), READONLY, "bytes of the workspace of one thread"},
    {"lanes", T_PYSSIZET, offsetof(Repeat, lanes), READONLY, "states a tile; 1 for one state alone"},
    {NULL, 0, 0, 0, NULL},
};

/* The address of the driver for arrays that come and go this way, as of a Plan; a Single has way 0 alone. */
static PyObject *repeat_entry(PyObject *object, PyObject *way)
{
    Repeat *self = (Repeat *)object;
    const long number = PyLong_AsLong(way);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (number < 0 || number >= self->ways || (self->plan.together && (number & (TILES_PACKED_IN | TILES_PACKED_OUT)))) {
        PyErr_SetString(PyExc_ValueError, "entry: there is no such way");
        return NULL;
    }
    return PyLong_FromSsize_t((Py_ssize_t)(uintptr_t)self->entries[number]);
}

static PyMethodDef repeat_methods[] = {
    {"entry", repeat_entry, METH_O, "entry(way): the address of the driver, as of a Plan; of a Single way 0."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot repeat_slots[] = {
    {Py_tp_new, repeat_new},
    {Py_tp_dealloc, repeat_dealloc},
    {Py_tp_members, repeat_members},
    {Py_tp_methods, repeat_methods},
    {Py_tp_doc, "Repeat(body, numbers): a Plan or a Single, repeated over time."},
    {0, NULL},
};

static PyType_Spec repeat_spec = {
    .name = "condyle.runtime._tiles.Repeat",
    .basicsize = sizeof(Repeat),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = repeat_slots,
};
