/* Single(isa, bits, code, constants, numbers): one function for one state in machine code. numbers (int64): numbers in the
 * workspace, inputs, outputs, steps; the size of each input and output; five for each step; see single.h. */
#include "single.h"

#define SINGLE_HEAD 4
#define SINGLE_SLACK 16 /* bytes behind the last constant: a change of sign reads a whole register */

typedef struct {
    PyObject_HEAD
    single_plan plan;
    PyObject *numbers; /* bytes that the plan points into */
    void *constants, *pages;
    size_t mapped;
    Py_ssize_t entry, columns, context, work, lanes;
    const drivers *set;
    int bits;
} Single;

/* The size of each memory, 0 for one that is not there. */
typedef struct {
    int64_t size[SINGLE_MOST];
    int64_t count, first_output, code, lanes;
} Memories;

/* Entries `from` .. `from + count - 1` of a memory are there. */
static int inside(const Memories *all, int64_t memory, int64_t from, int64_t count)
{
    return memory >= 0 && memory < all->count && from >= 0 && count >= 0 && from <= all->size[memory] &&
           count <= all->size[memory] - from;
}

static int may_write(const Memories *all, int64_t memory)
{
    return memory == 0 || memory >= all->first_output;
}

static int step_fits(const Memories *all, const single_step *step)
{
    switch (step->kind) {
    case SINGLE_KERNEL:
        return step->a >= 0 && step->a < all->code;
    case SINGLE_LOAD: {
        const int64_t lane = step->d >= 0 ? step->d % all->lanes : -1;
        return lane >= 0 && step->c >= 1 && step->c <= all->lanes - lane && inside(all, step->a, step->b, step->c) &&
               inside(all, 0, step->d - lane, all->lanes);
    }
    case SINGLE_SINES:
        return step->a >= 0 && step->a % all->lanes == 0 && step->b >= 0 && step->b <= all->size[0] &&
               inside(all, 0, step->a, 3 * all->lanes * step->b);
    case SINGLE_COPY:
        return inside(all, step->a, step->b, 1) && inside(all, step->c, step->d, 1) && may_write(all, step->c);
    case SINGLE_CLEAR:
        return inside(all, step->a, 0, step->b) && may_write(all, step->a);
    case SINGLE_REACH:
        return step->a >= 0 && step->a % all->lanes == 0 && step->b >= 0 && step->b <= all->size[0] &&
               inside(all, 0, step->a, all->lanes * step->b);
    default:
        return 0;
    }
}

/* Points the plan into its numbers; fails if a step would lead out of its memories. */
static int read_steps(Single *self, Memories *all)
{
    single_plan *plan = &self->plan;
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(self->numbers);
    const int64_t count = PyBytes_GET_SIZE(self->numbers) / 8;
    int fine = count >= SINGLE_HEAD;
    for (int64_t k = 0; fine && k < SINGLE_HEAD; k++) {
        fine = at[k] >= 0 && at[k] < INT32_MAX;
    }
    fine = fine && at[1] + at[2] <= SINGLE_MOST - 2 && count == SINGLE_HEAD + at[1] + at[2] + 5 * at[3];
    if (!fine) {
        return -1;
    }
    plan->n_in = at[1], plan->n_out = at[2], plan->n_step = at[3];
    all->count = 2 + at[1] + at[2];
    all->first_output = 2 + at[1];
    all->size[0] = at[0];
    for (int64_t k = 2; k < all->count; k++) {
        all->size[k] = at[SINGLE_HEAD + k - 2];
        fine = fine && all->size[k] >= 0 && all->size[k] < INT32_MAX;
    }
    plan->step = (const single_step *)(at + SINGLE_HEAD + at[1] + at[2]);
    for (int64_t k = 0; fine && k < plan->n_step; k++) {
        fine = step_fits(all, plan->step + k);
    }
    return fine ? 0 : -1;
}

static int single_fill(Single *self, const Py_buffer *code, const Py_buffer *constants, int bits)
{
    Memories all = {.lanes = self->lanes, .code = code->len};
    all.size[1] = constants->len >= SINGLE_SLACK ? (constants->len - SINGLE_SLACK) / (bits / 8) : -1;
    if (all.size[1] < 0 || read_steps(self, &all) != 0) {
        PyErr_SetString(PyExc_ValueError, "Single: the numbers do not fit together");
        return -1;
    }
    self->work = (Py_ssize_t)all.size[0] * (bits / 8);
    self->plan.constants = self->constants = aligned_copy(constants);
    if (self->constants == NULL) {
        return -1;
    }
    self->plan.code = self->pages = executable(code, &self->mapped);
    return self->pages == NULL ? -1 : 0;
}

static PyObject *single_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *isa;
    int bits;
    Py_buffer code, constants;
    PyObject *numbers;
    const drivers *set;
    Single *self = NULL;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Single takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "siy*y*S", &isa, &bits, &code, &constants, &numbers)) {
        return NULL;
    }
    set = set_of(isa, bits);
    if (set == NULL) {
        PyErr_Format(PyExc_ValueError, "Single: no driver for %s with %d bits on this machine", isa, bits);
    } else {
        self = (Single *)type->tp_alloc(type, 0);
    }
    if (self != NULL) {
        self->numbers = Py_NewRef(numbers);
        self->entry = (Py_ssize_t)(uintptr_t)*set->single[bits == 64];
        self->columns = (Py_ssize_t)(uintptr_t)*set->columns[bits == 64];
        self->context = (Py_ssize_t)(uintptr_t)&self->plan;
        self->lanes = set->bytes * 8 / bits;
        self->set = set, self->bits = bits;
        if (single_fill(self, &code, &constants, bits) != 0) {
            Py_CLEAR(self);
        }
    }
    PyBuffer_Release(&code);
    PyBuffer_Release(&constants);
    return (PyObject *)self;
}

static void single_dealloc(PyObject *object)
{
    Single *self = (Single *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->pages != NULL) {
        munmap(self->pages, self->mapped);
    }
    free(self->constants);
    Py_XDECREF(self->numbers);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef single_members[] = {
    {"entry", T_PYSSIZET, offsetof(Single, entry), READONLY, "address of the driver"},
    {"columns", T_PYSSIZET, offsetof(Single, columns), READONLY, "address of the driver for columns of panels"},
    {"context", T_PYSSIZET, offsetof(Single, context), READONLY, "what the driver wants as its last argument"},
    {"work_bytes", T_PYSSIZET, offsetof(Single, work), READONLY, "bytes of the workspace"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot single_slots[] = {
    {Py_tp_new, single_new},
    {Py_tp_dealloc, single_dealloc},
    {Py_tp_members, single_members},
    {Py_tp_doc, "Single(isa, bits, code, constants, numbers): one function for one state in machine code."},
    {0, NULL},
};

static PyType_Spec single_spec = {
    .name = "condyle.runtime._tiles.Single",
    .basicsize = sizeof(Single),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = single_slots,
};
