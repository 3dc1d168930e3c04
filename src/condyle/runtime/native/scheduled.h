/* Scheduled(words, entries, format): entries called in order on arrays of one problem, one problem after the other.
 *
 * A problem has slabs, which are arrays: inputs and outputs come from outside; the last slab is the one inside, in the
 * workspace of a thread, whose first numbers begin at 0. An operand is where steps read or write in a slab: an
 * address in the workspace. A loop moves some of them at each turn, and back behind its last turn.
 *
 * Words (int64): the number of inputs, outputs, numbers that begin at 0, operands, moves and steps; the numbers in each slab;
 * of each operand its slab, its first number and the stride of its states; of each move an operand and by how many numbers;
 * of each step six words, kind, count, from, to, a, b:
 *
 *     0 CALL  entry `a` computes `count` states; its operands begin with `from`, inputs then outputs
 *     1 COPY  `count` rows of `a` numbers, from operand `from` to operand `to`
 *     2 FLIP  the same of `count` matrices, one behind the other, of a rows and b columns: they are transposed
 *     3 LOOP  back to step `from`, `count` times in all, or until operand `to` is above 0 (-1: no flag); moves a .. a + b - 1
 *
 * Words are checked once: whatever they are, no step leaves its slabs. */
enum { SCHEDULED_CALL, SCHEDULED_COPY, SCHEDULED_FLIP, SCHEDULED_LOOP };
enum { SCHEDULED_HEAD = 6, OPERAND_WORDS = 3, MOVE_WORDS = 2, STEP_WORDS = 6, SCHEDULED_LINE = 64 };
#define SCHEDULED_MOST ((int64_t)1 << 30) /* of every word, so that two of them multiplied are a number */

typedef struct {
    int64_t kind, count, from, to, a, b;
    general_t general;
    entry_t entry;
    const void *context;
} ScheduledStep;

typedef struct {
    PyObject_HEAD
    PyObject *words, *entries;
    const int64_t *slab, *operand, *move; /* in the words */
    int64_t n_in, n_out, n_zero, n_operand, n_move, n_step;
    ScheduledStep *step;
    ptrdiff_t *stride; /* of each operand */
    int64_t *reach;    /* of each operand the first number at the turn where it stands first, and last */
    size_t pointers, turns, inside; /* where parts of the workspace begin, behind that of the entries */
    size_t item;
    Py_ssize_t context, address, work;
    char format;
} Scheduled;

static void copy_rows(const Scheduled *self, const ScheduledStep *step, char *const *pointer)
{
    const ptrdiff_t from = self->stride[step->from], to = self->stride[step->to], item = (ptrdiff_t)self->item;
    const int whole = from == step->a && to == step->a;
    const size_t bytes = (size_t)(whole ? step->count * step->a : step->a) * self->item;
    for (ptrdiff_t k = 0; k < (whole ? 1 : step->count); k++) {
        memmove(pointer[step->to] + k * to * item, pointer[step->from] + k * from * item, bytes);
    }
}

static void transpose(const Scheduled *self, const ScheduledStep *step, char *const *pointer)
{
    const char *from = pointer[step->from];
    char *to = pointer[step->to];
    for (int64_t k = 0; k < step->count; k++, to += (size_t)(step->a * step->b) * self->item) {
        for (int64_t i = 0; i < step->a; i++) {
            for (int64_t j = 0; j < step->b; j++, from += self->item) {
                memcpy(to + (size_t)(j * step->a + i) * self->item, from, self->item);
            }
        }
    }
}

/* Whether a loop is done; its pointers are moved on, or back to where they began. */
static int end_turn(const Scheduled *self, const ScheduledStep *step, char **pointer, int64_t *turn)
{
    const char *const flag = step->to < 0 ? NULL : pointer[step->to];
    const int above = flag != NULL && (self->item == 8 ? *(const double *)flag > 0 : *(const float *)flag > 0);
    const int ends = above || *turn + 1 == step->count;
    const int64_t by = (ends ? -*turn : 1) * (int64_t)self->item;
    const int64_t *move = self->move + MOVE_WORDS * step->a, *const last = move + MOVE_WORDS * step->b;
    for (; move < last; move += MOVE_WORDS) {
        pointer[move[0]] += move[1] * by;
    }
    *turn = ends ? 0 : *turn + 1;
    return ends;
}

/* All steps of one problem. turn: of each loop, 0 before and behind it. */
static int run_steps(const Scheduled *self, char **pointer, int64_t *turn, void *work)
{
    for (int64_t k = 0; k < self->n_step; k++) {
        const ScheduledStep *const step = self->step + k;
        if (step->kind == SCHEDULED_CALL) {
            const void *const *in = (const void *const *)pointer + step->from;
            void *const *out = (void *const *)pointer + step->to;
            const ptrdiff_t *in_stride = self->stride + step->from, *out_stride = self->stride + step->to;
            const size_t n = (size_t)step->count;
            const int status = step->general != NULL
                                   ? step->general(n, in, in_stride, out, out_stride, work, step->context)
                                   : step->entry(n, in, in_stride, out, out_stride, work);
            if (status != 0) {
                return status;
            }
        } else if (step->kind == SCHEDULED_LOOP) {
            k = end_turn(self, step, pointer, turn + k) ? k : step->from - 1;
        } else {
            (step->kind == SCHEDULED_COPY ? copy_rows : transpose)(self, step, pointer);
        }
    }
    return 0;
}

static int run_scheduled(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                         const ptrdiff_t *out_stride, void *work, const void *context)
{
    const Scheduled *const self = context;
    char **const pointer = (char **)((char *)work + self->pointers), *slab[2 * MAX_PORTS + 1];
    int64_t *const turn = (int64_t *)((char *)work + self->turns);
    const int64_t ends = self->n_in + self->n_out;
    int status = 0;
    slab[ends] = (char *)work + self->inside;
    for (size_t problem = 0; problem < n && status == 0; problem++) {
        for (int64_t k = 0; k < ends; k++) {
            const void *base = k < self->n_in ? in[k] : out[k - self->n_in];
            const ptrdiff_t stride = k < self->n_in ? in_stride[k] : out_stride[k - self->n_in];
            slab[k] = (char *)(uintptr_t)base + (ptrdiff_t)problem * stride * (ptrdiff_t)self->item;
        }
        for (int64_t k = 0; k < self->n_operand; k++) {
            const int64_t *operand = self->operand + OPERAND_WORDS * k;
            pointer[k] = slab[operand[0]] + operand[1] * (int64_t)self->item;
        }
        memset(slab[ends], 0, (size_t)self->n_zero * self->item);
        memset(turn, 0, (size_t)self->n_step * sizeof *turn);
        status = run_steps(self, pointer, turn, work);
    }
    return status;
}

/* Whether `count` states of `width` numbers from an operand lie in its slab at every turn, and may be written. */
static int lies_inside(const Scheduled *self, int64_t operand, int64_t count, int64_t width, int write)
{
    const int64_t slab = operand >= 0 && operand < self->n_operand ? self->operand[OPERAND_WORDS * operand] : -1;
    const int64_t span = slab >= 0 ? self->stride[operand] * (count - 1) : 0, *reach = self->reach + 2 * operand;
    return slab >= 0 && (!write || slab >= self->n_in) && reach[0] + (span < 0 ? span : 0) >= 0 &&
           reach[1] + (span > 0 ? span : 0) + width <= self->slab[slab];
}

/* The same of a call, which also gets the functions of its entry. One of packed arrays has whole tiles, or one row for all. */
static int read_call(Scheduled *self, ScheduledStep *step)
{
    const int there = step->a >= 0 && step->a < PyTuple_GET_SIZE(self->entries);
    const Entry *entry = there ? (const Entry *)PyTuple_GET_ITEM(self->entries, step->a) : NULL;
    int fine = there && step->from >= 0 && step->from + entry->n_in + entry->n_out <= self->n_operand &&
               entry->format == self->format && (!entry->packed || step->count % (int64_t)entry->lanes == 0) &&
               (entry->packed == 0 || entry->packed == (PACKED_IN | PACKED_OUT));
    for (int64_t k = 0; fine && k < entry->n_in + entry->n_out; k++) {
        const int64_t operand = step->from + k, width = entry->size[k], stride = self->stride[operand];
        const int write = k >= entry->n_in;
        fine = (!entry->packed || stride == width || (stride == 0 && !write)) &&
               lies_inside(self, operand, step->count, width, write);
    }
    if (fine) {
        step->to = step->from + entry->n_in;
        step->general = entry->general, step->entry = entry->entry, step->context = entry->context;
        self->pointers = entry->work > self->pointers ? entry->work : self->pointers;
    }
    return fine;
}

static int read_step(Scheduled *self, ScheduledStep *step, int64_t number)
{
    const int64_t a = step->a, b = step->b, count = step->count;
    switch (step->kind) {
    case SCHEDULED_CALL:
        return read_call(self, step);
    case SCHEDULED_COPY:
        return a >= 0 && lies_inside(self, step->from, count, a, 0) && lies_inside(self, step->to, count, a, 1);
    case SCHEDULED_FLIP:
        return a >= 1 && b >= 1 && a * b <= SCHEDULED_MOST && lies_inside(self, step->from, 1, a * b * count, 0) &&
               lies_inside(self, step->to, 1, a * b * count, 1);
    case SCHEDULED_LOOP:
        return step->from >= 0 && step->from <= number && (step->to == -1 || lies_inside(self, step->to, 1, 1, 0));
    default:
        return 0;
    }
}

/* What the operands of a loop reach at its turns. No other loop moves them. */
static int read_moves(Scheduled *self, const ScheduledStep *step)
{
    int fine = step->a >= 0 && step->b >= 0 && step->a + step->b <= self->n_move;
    for (int64_t k = step->a; fine && k < step->a + step->b; k++) {
        const int64_t operand = self->move[MOVE_WORDS * k], span = self->move[MOVE_WORDS * k + 1] * (step->count - 1);
        fine = operand >= 0 && operand < self->n_operand && self->reach[2 * operand] == self->reach[2 * operand + 1];
        if (fine) {
            self->reach[2 * operand + (span > 0)] += span;
        }
    }
    return fine;
}

static int read_steps(Scheduled *self, const int64_t *at)
{
    int fine = self->n_zero <= self->slab[self->n_in + self->n_out];
    for (int64_t k = 0; k <= self->n_in + self->n_out; k++) {
        fine = fine && self->slab[k] >= 0;
    }
    for (int64_t k = 0; fine && k < self->n_operand; k++) {
        const int64_t *operand = self->operand + OPERAND_WORDS * k;
        fine = operand[0] >= 0 && operand[0] <= self->n_in + self->n_out;
        self->reach[2 * k] = self->reach[2 * k + 1] = operand[1];
        self->stride[k] = (ptrdiff_t)operand[2];
    }
    for (int64_t k = 0; fine && k < self->n_step; k++, at += STEP_WORDS) {
        ScheduledStep *step = self->step + k;
        step->kind = at[0], step->count = at[1], step->from = at[2], step->to = at[3], step->a = at[4], step->b = at[5];
        fine = step->count >= 1 && (step->kind != SCHEDULED_LOOP || read_moves(self, step));
    }
    for (int64_t k = 0; fine && k < self->n_operand; k++) {
        fine = lies_inside(self, k, 1, 0, 0); /* at every turn, also where no step reads it */
    }
    for (int64_t k = 0; fine && k < self->n_step; k++) {
        fine = read_step(self, self->step + k, k);
    }
    return fine;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + SCHEDULED_LINE - 1) / SCHEDULED_LINE * SCHEDULED_LINE;
}

/* Points into the words, and lays out the workspace; 0 where they do not fit together. */
static int read_schedule(Scheduled *self)
{
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(self->words);
    const int64_t count = PyBytes_GET_SIZE(self->words) / 8;
    int fine = count >= SCHEDULED_HEAD;
    for (int64_t k = 0; fine && k < count; k++) {
        fine = at[k] >= -SCHEDULED_MOST && at[k] <= SCHEDULED_MOST && (k >= SCHEDULED_HEAD || at[k] >= 0);
    }
    fine = fine && at[0] <= MAX_PORTS && at[1] <= MAX_PORTS &&
           count == SCHEDULED_HEAD + at[0] + at[1] + 1 + OPERAND_WORDS * at[3] + MOVE_WORDS * at[4] + STEP_WORDS * at[5];
    if (!fine) {
        return 0;
    }
    self->n_in = at[0], self->n_out = at[1], self->n_zero = at[2];
    self->n_operand = at[3], self->n_move = at[4], self->n_step = at[5];
    self->slab = at + SCHEDULED_HEAD;
    self->operand = self->slab + self->n_in + self->n_out + 1;
    self->move = self->operand + OPERAND_WORDS * self->n_operand;
    self->step = PyMem_Calloc((size_t)self->n_step + 1, sizeof *self->step);
    self->stride = PyMem_Calloc((size_t)self->n_operand + 1, sizeof *self->stride);
    self->reach = PyMem_Calloc((size_t)self->n_operand + 1, 2 * sizeof *self->reach);
    if (self->step == NULL || self->stride == NULL || self->reach == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    if (!read_steps(self, self->move + MOVE_WORDS * self->n_move)) {
        return 0;
    }
    self->pointers = whole_lines(self->pointers);
    self->turns = self->pointers + whole_lines((size_t)self->n_operand * sizeof(char *));
    self->inside = self->turns + whole_lines((size_t)self->n_step * sizeof(int64_t));
    self->work = (Py_ssize_t)(self->inside + (size_t)self->slab[self->n_in + self->n_out] * self->item + SCHEDULED_LINE);
    return 1;
}

static PyObject *scheduled_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *words, *entries;
    int format, fine = keywords == NULL || PyDict_GET_SIZE(keywords) == 0;
    Scheduled *self;
    if (!PyArg_ParseTuple(args, "SO!C", &words, &PyTuple_Type, &entries, &format)) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entries); k++) {
        fine = fine && Py_IS_TYPE(PyTuple_GET_ITEM(entries, k), entry_type);
    }
    if (!fine || (format != 'd' && format != 'f')) {
        PyErr_SetString(PyExc_TypeError, "Scheduled: expected words, a tuple of Entry, and format 'd' or 'f'");
        return NULL;
    }
    self = (Scheduled *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->words = Py_NewRef(words), self->entries = Py_NewRef(entries);
    self->format = (char)format, self->item = format == 'd' ? 8 : 4;
    self->context = (Py_ssize_t)(uintptr_t)self, self->address = (Py_ssize_t)(uintptr_t)run_scheduled;
    if (!read_schedule(self)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "Scheduled: the words do not fit together");
        }
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void scheduled_dealloc(PyObject *object)
{
    Scheduled *self = (Scheduled *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(self->step);
    PyMem_Free(self->stride);
    PyMem_Free(self->reach);
    Py_XDECREF(self->words);
    Py_XDECREF(self->entries);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef scheduled_members[] = {
    {"address", T_PYSSIZET, offsetof(Scheduled, address), READONLY, "of the function that runs it"},
    {"context", T_PYSSIZET, offsetof(Scheduled, context), READONLY, "what that wants as its last argument"},
    {"work_bytes", T_PYSSIZET, offsetof(Scheduled, work), READONLY, "bytes of the workspace of one thread"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot scheduled_slots[] = {
    {Py_tp_new, scheduled_new},
    {Py_tp_dealloc, scheduled_dealloc},
    {Py_tp_members, scheduled_members},
    {Py_tp_doc, "Scheduled(words, entries, format): entries called in order on arrays of one problem."},
    {0, NULL},
};

static PyType_Spec scheduled_spec = {
    .name = "condyle.runtime._native.Scheduled",
    .basicsize = sizeof(Scheduled),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = scheduled_slots,
};
