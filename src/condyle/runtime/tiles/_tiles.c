/* Machine code in memory, and the drivers that call it.
 *
 * supported() has the instruction sets that this processor, its system and this build can do, the best one first, and the
 * bytes of their vectors.
 * Plan(isa, bits, code, constants, slots, values, numbers) holds one function: pages are written, then made executable,
 * and are never both. numbers (int64): slots of the workspace, number of inputs, outputs, steps, values and words of
 * loops; then four for each input and output, three for each step, a slot for each value, the words; see plan.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "numbers.h"

#include "../code.h"
#include "../module.h"
#include "sets.h"

typedef struct {
    PyObject_HEAD
    tiles_plan plan;
    PyObject *slots, *values, *numbers; /* bytes that the plan points into */
    PyObject *whose; /* the plan whose code this one runs; NULL: its own */
    int64_t *unit;
    void *constants;
    void *pages;
    size_t mapped;
    tiles_run *const *entries; /* one for each way */
    Py_ssize_t context, work, lanes, vector;
    const drivers *set;
    int bits;
} Plan;

/* The names of the sets that can run here, and the bytes of their vectors. */
static PyObject *supported(PyObject *module, PyObject *none)
{
    PyObject *names = PyDict_New();
    (void)module, (void)none;
    for (const drivers *set = SETS; names != NULL && set->name != NULL; set++) {
        PyObject *bytes = set->can() ? PyLong_FromSsize_t(set->bytes) : NULL;
        if (bytes != NULL && PyDict_SetItemString(names, set->name, bytes) != 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(bytes);
    }
    return names;
}

static int fill(Plan *self, const Py_buffer *code, const Py_buffer *constants, int bits)
{
    self->plan.constants = self->constants = aligned_copy(constants);
    if (self->constants == NULL) {
        return -1;
    }
    if (read_numbers(&self->plan, self->numbers, self->slots, bits / 8, code->len, constants->len) != 0 ||
        PyBytes_GET_SIZE(self->values) != self->plan.n_value * bits / 8) {
        PyErr_SetString(PyExc_ValueError, "Plan: the numbers do not fit together");
        return -1;
    }
    self->plan.values = PyBytes_AS_STRING(self->values);
    self->work *= self->plan.stage + TILES_STAGED + 16;
    self->plan.code = self->pages = executable(code, &self->mapped);
    return self->pages == NULL ? -1 : 0;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *isa;
    int bits;
    Py_buffer code, constants;
    PyObject *slots, *values, *numbers;
    const drivers *set;
    Plan *self = NULL;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Plan takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "siy*y*SSS", &isa, &bits, &code, &constants, &slots, &values, &numbers)) {
        return NULL;
    }
    set = set_of(isa, bits);
    if (set == NULL) {
        PyErr_Format(PyExc_ValueError, "Plan: no driver for %s with %d bits on this machine", isa, bits);
    } else {
        self = (Plan *)type->tp_alloc(type, 0);
    }
    if (self != NULL) {
        self->slots = Py_NewRef(slots), self->values = Py_NewRef(values), self->numbers = Py_NewRef(numbers);
        self->entries = *set->tiles[bits == 64];
        self->context = (Py_ssize_t)(uintptr_t)&self->plan;
        self->work = self->vector = set->bytes;
        self->set = set, self->bits = bits;
        self->lanes = set->bytes * 8 / bits;
        if (fill(self, &code, &constants, bits) != 0) {
            Py_CLEAR(self);
        }
    }
    PyBuffer_Release(&code);
    PyBuffer_Release(&constants);
    return (PyObject *)self;
}

/* The plan that checks quaternions too: (input, first entry) of each. */
static PyObject *plan_checked(PyObject *object, PyObject *places)
{
    const Plan *whose = (Plan *)object;
    const Py_ssize_t count = PyTuple_Check(places) ? PyTuple_GET_SIZE(places) : 0;
    Plan *self;
    if (count == 0) {
        PyErr_SetString(PyExc_ValueError, "checked: expected a tuple of quaternions");
        return NULL;
    }
    self = (Plan *)Py_TYPE(object)->tp_alloc(Py_TYPE(object), 0);
    if (self == NULL) {
        return NULL;
    }
    self->plan = whose->plan;
    self->plan.n_unit = 0;
    self->entries = whose->entries, self->work = whose->work, self->lanes = whose->lanes, self->vector = whose->vector;
    self->set = whose->set, self->bits = whose->bits;
    self->context = (Py_ssize_t)(uintptr_t)&self->plan;
    self->whose = Py_NewRef(object);
    self->plan.unit = self->unit = PyMem_Malloc(2 * (size_t)count * sizeof *self->unit);
    if (self->unit == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        Py_ssize_t input, first;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(places, k), "nn", &input, &first)) {
            Py_DECREF(self);
            return NULL;
        }
        if (input < 0 || input >= self->plan.n_in || first < 0 || first > self->plan.in[input].size - 4) {
            PyErr_SetString(PyExc_ValueError, "checked: a quaternion is out of range");
            Py_DECREF(self);
            return NULL;
        }
        self->unit[2 * k] = input, self->unit[2 * k + 1] = self->plan.in[input].slot + first;
        self->plan.n_unit++;
    }
    return (PyObject *)self;
}

static void plan_dealloc(PyObject *object)
{
    Plan *self = (Plan *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->whose);
    PyMem_Free(self->unit);
    if (self->pages != NULL) {
        munmap(self->pages, self->mapped);
    }
    free(self->constants);
    Py_XDECREF(self->slots);
    Py_XDECREF(self->values);
    Py_XDECREF(self->numbers);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef plan_members[] = {
    {"context", T_PYSSIZET, offsetof(Plan, context), READONLY, "what the driver wants as its last argument"},
    {"work_bytes", T_PYSSIZET, offsetof(Plan, work), READONLY, "bytes of the workspace of one thread"},
    {"lanes", T_PYSSIZET, offsetof(Plan, lanes), READONLY, "states a tile"},
    {NULL, 0, 0, 0, NULL},
};

/* The address of the driver for arrays that come and go this way: a sum of the TILES_ numbers of plan.h. */
static PyObject *plan_entry(PyObject *self, PyObject *way)
{
    const long number = PyLong_AsLong(way);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (number < 0 || number >= TILES_WAYS) {
        PyErr_SetString(PyExc_ValueError, "entry: there is no such way");
        return NULL;
    }
    return PyLong_FromSsize_t((Py_ssize_t)(uintptr_t)((Plan *)self)->entries[number]);
}

static PyMethodDef plan_methods[] = {
    {"entry", plan_entry, METH_O,
     "entry(way): the address of the driver; way: 1 for packed inputs, 2 for packed outputs, 4 to stream them, added up."},
    {"checked", plan_checked, METH_O,
     "checked(places): the same plan, whose driver answers NOT_UNIT for quaternions of another length; places: the input "
     "and the first entry of each. It is for inputs that come as rows."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_members, plan_members},
    {Py_tp_methods, plan_methods},
    {Py_tp_doc, "Plan(isa, bits, code, constants, slots, values, numbers): one function in machine code."},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "condyle.runtime._tiles.Plan",
    .basicsize = sizeof(Plan),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = plan_slots,
};

#include "single_type.h"

#include "repeat_type.h"

static PyMethodDef functions[] = {
    {"supported", supported, METH_NOARGS, "supported(): the instruction sets that can run here, the best first, and the bytes of a vector of each."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    const int failed = add_type(module, "Plan", &plan_spec, NULL) != 0 || add_type(module, "Single", &single_spec, NULL) != 0 ||
                       add_type(module, "Repeat", &repeat_spec, NULL) != 0;
    return failed ? -1 : 0;
}

MODULE(_tiles, "Machine code in memory, and the drivers that call it on batches of states.", functions)
