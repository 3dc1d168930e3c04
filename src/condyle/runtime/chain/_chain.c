/* Chain(isa, bits, code, constants, table, starts, words, work): one function of one chain in machine code; see chain.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "check.h"

#include "../code.h"
#include "../module.h"

typedef struct {
    PyObject_HEAD
    chain_plan plan;
    void *constants, *table, *starts, *words, *pages;
    size_t mapped;
    Py_ssize_t entry, context, work, lanes;
} Chain;

typedef struct {
    const char *name;
    Py_ssize_t bytes; /* of a vector */
    int (*can)(void);
    chain_run *const *run[2]; /* of float32, of float64 */
} driver;

#define SET(set, bytes) {#set, bytes, can_##set, {&chain_##set##_32, &chain_##set##_64}},
static const driver SETS[] = {INSTRUCTION_SETS(SET){NULL, 0, NULL, {NULL}}};
#undef SET

/* The driver of the set with this name, if it can run here with such numbers; or NULL. */
static const driver *driver_of(const char *name, int bits)
{
    for (const driver *set = SETS; set->name != NULL && (bits == 64 || bits == 32); set++) {
        if (strcmp(name, set->name) == 0 && set->can()) {
            return set;
        }
    }
    return NULL;
}

static int fine(const Chain *self, Room *room)
{
    const int64_t *head = self->plan.words, n = self->plan.n_words;
    int64_t at;
    if (!fine_head(head, n, self->lanes, room)) {
        return 0;
    }
    room->length = head[CHAIN_LENGTH];
    room->buffer = room->work - head[CHAIN_BUFFER];
    for (at = chain_runs(head) + 3 * head[CHAIN_RUNS] - head; at < n;) {
        const int64_t step = width(head + at, n - at, head, room);
        if (step == 0) {
            return 0;
        }
        at += step;
    }
    return 1;
}

static int fill(Chain *self, const Py_buffer *b, int bits, Py_ssize_t work)
{
    const int64_t bytes = self->lanes * bits / 8;
    Room room = {work, b[2].len / bytes, b[3].len / (bits / 8), b[0].len, 0, 0, self->lanes};
    self->constants = aligned_copy(&b[1]);
    self->table = aligned_copy(&b[2]);
    self->starts = aligned_copy(&b[3]);
    self->words = aligned_copy(&b[4]);
    if (self->constants == NULL || self->table == NULL || self->starts == NULL || self->words == NULL) {
        return -1;
    }
    self->plan.constants = self->constants, self->plan.table = self->table, self->plan.starts = self->starts;
    self->plan.words = self->words, self->plan.n_words = b[4].len / 8;
    if (work < 0 || work > INT32_MAX || !fine(self, &room)) {
        PyErr_SetString(PyExc_ValueError, "Chain: the words do not fit together");
        return -1;
    }
    self->plan.code = self->pages = executable(&b[0], &self->mapped);
    return self->pages == NULL ? -1 : 0;
}

static PyObject *chain_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *isa;
    int bits;
    Py_buffer b[5];
    Py_ssize_t work;
    Chain *self = NULL;
    const driver *set;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Chain takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "siy*y*y*y*y*n", &isa, &bits, &b[0], &b[1], &b[2], &b[3], &b[4], &work)) {
        return NULL;
    }
    set = driver_of(isa, bits);
    if (set == NULL) {
        PyErr_Format(PyExc_ValueError, "Chain: no driver for %s with %d bits on this machine", isa, bits);
    } else {
        self = (Chain *)type->tp_alloc(type, 0);
    }
    if (self != NULL) {
        self->entry = (Py_ssize_t)(uintptr_t)*set->run[bits == 64];
        self->context = (Py_ssize_t)(uintptr_t)&self->plan;
        self->work = work * set->bytes;
        self->lanes = set->bytes * 8 / bits;
        if (fill(self, b, bits, work) != 0) {
            Py_CLEAR(self);
        }
    }
    for (int k = 0; k < 5; k++) {
        PyBuffer_Release(&b[k]);
    }
    return (PyObject *)self;
}

static void chain_dealloc(PyObject *object)
{
    Chain *self = (Chain *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->pages != NULL) {
        munmap(self->pages, self->mapped);
    }
    free(self->constants);
    free(self->table);
    free(self->starts);
    free(self->words);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"entry", T_PYSSIZET, offsetof(Chain, entry), READONLY, "address of the driver"},
    {"context", T_PYSSIZET, offsetof(Chain, context), READONLY, "what the driver wants as its last argument"},
    {"work_bytes", T_PYSSIZET, offsetof(Chain, work), READONLY, "bytes of the workspace of one thread"},
    {"lanes", T_PYSSIZET, offsetof(Chain, lanes), READONLY, "chunks"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, chain_new},
    {Py_tp_dealloc, chain_dealloc},
    {Py_tp_members, members},
    {Py_tp_doc, "Chain(isa, bits, code, constants, table, starts, words, work): one function of a chain of joints."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "condyle.runtime._chain.Chain",
    .basicsize = sizeof(Chain),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static int module_exec(PyObject *module)
{
    return add_type(module, "Chain", &spec, NULL);
}

MODULE(_chain, "Chains of joints in machine code, a chunk of the chain in each lane.", NULL)
