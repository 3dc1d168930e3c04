/* Scheduled(words, entries, format): entries called in order on arrays of one problem, one problem after the other.
 *
 * A problem has slabs, which are arrays: inputs and outputs come from outside, those inside lie in the workspace of a
 * thread. The first ones inside begin at 0. An operand is a place in a slab that steps read or write. Places are
 * addresses in the workspace; a loop moves some of them at each turn, and back behind its last turn.
 *
 * Words (int64): the number of inputs, outputs, slabs inside that begin at 0, slabs, operands, moves and steps; the numbers in each slab (inputs, outputs,
 * inside); of each operand its slab, its first number and the stride of its states; of each move an operand and by how many
 * numbers; of each step six words, kind, count, from, to, a, b:
 *
 *     0 CALL  an entry computes `count` states; from: its first operand, inputs then outputs; a: the entry
 *     1 COPY  `count` rows of a numbers, from operand `from` to operand `to`
 *     2 FLIP  `count` matrices of a rows and b columns are transposed, contiguous
 *     3 LOOP  back to step `from`, `count` times in all or until operand `to` is above 0 (-1: no flag); moves a .. a + b - 1
 *
 * Words are checked once, so that no step leaves its slabs, whatever they are. */
enum { SCHEDULED_CALL, SCHEDULED_COPY, SCHEDULED_FLIP, SCHEDULED_LOOP };
enum { SCHEDULED_HEAD = 7, OPERAND_WORDS = 3, MOVE_WORDS = 2, STEP_WORDS = 6, SCHEDULED_LINE = 64 };
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
    int64_t n_in, n_out, n_zero, n_slab, n_operand, n_move, n_step;
    ScheduledStep *step;
    ptrdiff_t *stride; /* of each operand */
    int64_t *reach;    /* of each operand the first number at the turn where it stands first, and last */
    size_t *begin;     /* of each slab inside, bytes behind the first one */
    size_t places, turns, inside, inside_bytes; /* where parts of the workspace begin, behind that of the entries */
    Py_ssize_t context, address, work;
    size_t item;
    char format;
} Scheduled;

static int is_above(const void *flag, size_t item)
{
    return item == 8 ? *(const double *)flag > 0 : *(const float *)flag > 0;
}

static void copy_rows(const Scheduled *self, const ScheduledStep *step, char *const *place)
{
    const size_t bytes = (size_t)step->a * self->item;
    const ptrdiff_t from = self->stride[step->from], to = self->stride[step->to];
    if (from == step->a && to == step->a) {
        memmove(place[step->to], place[step->from], (size_t)step->count * bytes);
        return;
    }
    for (ptrdiff_t k = 0; k < step->count; k++) {
        memmove(place[step->to] + k * to * (ptrdiff_t)self->item, place[step->from] + k * from * (ptrdiff_t)self->item, bytes);
    }
}

static void transpose(const Scheduled *self, const ScheduledStep *step, char *const *place)
{
    const char *from = place[step->from];
    char *to = place[step->to];
    for (int64_t k = 0; k < step->count; k++, to += (size_t)(step->a * step->b) * self->item) {
        for (int64_t i = 0; i < step->a; i++) {
            for (int64_t j = 0; j < step->b; j++, from += self->item) {
                memcpy(to + (size_t)(j * step->a + i) * self->item, from, self->item);
            }
        }
    }
}

static void move_places(const Scheduled *self, const ScheduledStep *step, char **place, int64_t turns)
{
    const int64_t *move = self->move + MOVE_WORDS * step->a, *const end = move + MOVE_WORDS * step->b;
    for (; move < end; move += MOVE_WORDS) {
        place[move[0]] += move[1] * turns * (int64_t)self->item;
    }
}

/* All steps of one problem. turn: of each loop, 0 before and behind it. */
static int run_steps(const Scheduled *self, char **place, int64_t *turn, void *work)
{
    for (int64_t k = 0; k < self->n_step; k++) {
        const ScheduledStep *const step = self->step + k;
        switch (step->kind) {
        case SCHEDULED_CALL: {
            const void *const *in = (const void *const *)place + step->from;
            void *const *out = (void *const *)place + step->to;
            const ptrdiff_t *strides = self->stride;
            const int status = step->general != NULL ? step->general((size_t)step->count, in, strides + step->from, out,
                                                                     strides + step->to, work, step->context)
                                                     : step->entry((size_t)step->count, in, strides + step->from, out,
                                                                   strides + step->to, work);
            if (status != 0) {
                return status;
            }
            break;
        }
        case SCHEDULED_COPY:
            copy_rows(self, step, place);
            break;
        case SCHEDULED_FLIP:
            transpose(self, step, place);
            break;
        default:
            if (++turn[k] < step->count && (step->to < 0 || !is_above(place[step->to], self->item))) {
                move_places(self, step, place, 1);
                k = step->from - 1;
            } else {
                move_places(self, step, place, 1 - turn[k]);
                turn[k] = 0;
            }
        }
    }
    return 0;
}

static int run_scheduled(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                         const ptrdiff_t *out_stride, void *work, const void *context)
{
    const Scheduled *const self = context;
    char **const place = (char **)((char *)work + self->places), *const inside = (char *)work + self->inside;
    int64_t *const turn = (int64_t *)((char *)work + self->turns);
    const int64_t ends = self->n_in + self->n_out;
    for (size_t problem = 0; problem < n; problem++) {
        int status;
        for (int64_t k = 0; k < self->n_operand; k++) {
            const int64_t slab = self->operand[OPERAND_WORDS * k], first = self->operand[OPERAND_WORDS * k + 1];
            const int64_t output = slab - self->n_in;
            char *base = inside;
            if (slab < self->n_in) {
                base = (char *)(uintptr_t)in[slab] + (ptrdiff_t)problem * in_stride[slab] * (ptrdiff_t)self->item;
            } else if (slab < ends) {
                base = (char *)out[output] + (ptrdiff_t)problem * out_stride[output] * (ptrdiff_t)self->item;
            } else {
                base += self->begin[slab - ends];
            }
            place[k] = base + (size_t)first * self->item;
        }
        memset(turn, 0, (size_t)self->n_step * sizeof *turn);
        memset(inside, 0, self->begin[self->n_zero]);
        status = run_steps(self, place, turn, work);
        if (status != 0) {
            return status;
        }
    }
    return 0;
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
static int fits_call(Scheduled *self, ScheduledStep *step)
{
    const int there = step->a >= 0 && step->a < PyTuple_GET_SIZE(self->entries);
    const Entry *entry = there ? (const Entry *)PyTuple_GET_ITEM(self->entries, step->a) : NULL;
    int fine = there && step->from >= 0 && step->from + entry->n_in + entry->n_out <= self->n_operand &&
               entry->format == self->format && (!entry->packed || step->count % (int64_t)entry->lanes == 0) &&
               (entry->packed == 0 || entry->packed == (PACKED_IN | PACKED_OUT));
    for (int64_t k = 0; fine && k < entry->n_in + entry->n_out; k++) {
        const int64_t operand = step->from + k, width = entry->size[k], stride = self->stride[operand];
        const int write = k >= entry->n_in;
        fine = (!entry->packed || stride == width || (stride == 0 && !write)) && lies_inside(self, operand, step->count, width, write);
    }
    if (fine) {
        step->to = step->from + entry->n_in;
        step->general = entry->general, step->entry = entry->entry, step->context = entry->context;
        self->places = entry->work > self->places ? entry->work : self->places;
    }
    return fine;
}

static int fits_step(Scheduled *self, ScheduledStep *step, int64_t number)
{
    const int64_t a = step->a, b = step->b, count = step->count;
    switch (step->kind) {
    case SCHEDULED_CALL:
        return fits_call(self, step);
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

/* Points into the words; 0 where they do not fit together. */
static int read_schedule(Scheduled *self)
{
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(self->words);
    const int64_t count = PyBytes_GET_SIZE(self->words) / 8;
    int fine = count >= SCHEDULED_HEAD;
    for (int64_t k = 0; fine && k < count; k++) {
        fine = at[k] >= -SCHEDULED_MOST && at[k] <= SCHEDULED_MOST && (k >= SCHEDULED_HEAD || at[k] >= 0);
    }
    fine = fine && at[0] <= MAX_PORTS && at[1] <= MAX_PORTS && at[0] + at[1] + at[2] < at[3] &&
           count == SCHEDULED_HEAD + at[3] + OPERAND_WORDS * at[4] + MOVE_WORDS * at[5] + STEP_WORDS * at[6];
    if (!fine) {
        return 0;
    }
    self->n_in = at[0], self->n_out = at[1], self->n_zero = at[2], self->n_slab = at[3];
    self->n_operand = at[4], self->n_move = at[5], self->n_step = at[6];
    self->slab = at + SCHEDULED_HEAD;
    self->operand = self->slab + self->n_slab;
    self->move = self->operand + OPERAND_WORDS * self->n_operand;
    at = self->move + MOVE_WORDS * self->n_move;
    self->step = PyMem_Calloc((size_t)self->n_step + 1, sizeof *self->step);
    self->stride = PyMem_Calloc((size_t)self->n_operand + 1, sizeof *self->stride);
    self->reach = PyMem_Calloc((size_t)self->n_operand + 1, 2 * sizeof *self->reach);
    self->begin = PyMem_Calloc((size_t)self->n_slab + 1, sizeof *self->begin);
    if (self->step == NULL || self->stride == NULL || self->reach == NULL || self->begin == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (int64_t k = 0; fine && k < self->n_operand; k++) {
        const int64_t *operand = self->operand + OPERAND_WORDS * k;
        fine = operand[0] >= 0 && operand[0] < self->n_slab;
        self->reach[2 * k] = self->reach[2 * k + 1] = operand[1];
        self->stride[k] = (ptrdiff_t)operand[2];
    }
    for (int64_t k = 0; fine && k < self->n_step; k++, at += STEP_WORDS) {
        ScheduledStep *step = self->step + k;
        step->kind = at[0], step->count = at[1], step->from = at[2], step->to = at[3], step->a = at[4], step->b = at[5];
        fine = step->count >= 1 && (step->kind != SCHEDULED_LOOP || read_moves(self, step));
    }
    for (int64_t k = 0; fine && k < self->n_operand; k++) {
        fine = lies_inside(self, k, 1, 0, 0);
    }
    for (int64_t k = 0; fine && k < self->n_step; k++) {
        fine = fits_step(self, self->step + k, k);
    }
    return fine;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + SCHEDULED_LINE - 1) / SCHEDULED_LINE * SCHEDULED_LINE;
}

/* The parts of the workspace; 0 where they are more than there may be. */
static int lay_out(Scheduled *self)
{
    const int64_t ends = self->n_in + self->n_out;
    int fine = 1;
    self->places = whole_lines(self->places);
    self->turns = self->places + whole_lines((size_t)self->n_operand * sizeof(char *));
    self->inside = self->turns + whole_lines((size_t)self->n_step * sizeof(int64_t));
    for (int64_t k = 0; fine && k < self->n_slab; k++) {
        fine = self->slab[k] >= 0 && self->inside_bytes < PY_SSIZE_T_MAX / 4;
        if (fine && k >= ends) {
            self->begin[k - ends] = self->inside_bytes;
            self->inside_bytes += whole_lines((size_t)self->slab[k] * self->item);
        }
    }
    self->work = (Py_ssize_t)(self->inside + self->inside_bytes);
    return fine;
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
    if (!read_schedule(self) || !lay_out(self)) {
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
    PyMem_Free(self->begin);
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
