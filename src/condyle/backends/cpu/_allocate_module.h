/* Arguments and results of _allocate.c. */
#include "../../runtime/module.h"

/* One row: its name, and (instructions, form, operands, swaps, ...). */
static int read_row(Row *row, PyObject *name, PyObject *given)
{
    PyObject *instructions, *operands;
    Py_ssize_t made;
    if (!PyUnicode_Check(name) || !PyTuple_Check(given) || PyTuple_GET_SIZE(given) < 4) {
        return -1;
    }
    instructions = PyTuple_GET_ITEM(given, 0), operands = PyTuple_GET_ITEM(given, 2);
    row->name = name;
    row->form = (int)PyLong_AsLong(PyTuple_GET_ITEM(given, 1));
    row->swaps = PyObject_IsTrue(PyTuple_GET_ITEM(given, 3));
    if (!PyTuple_Check(instructions) || !PyTuple_Check(operands) || row->form < BINARY || row->form > CHAINED) {
        return -1;
    }
    made = PyTuple_GET_SIZE(instructions), row->count = (int)PyTuple_GET_SIZE(operands);
    if (made != (row->form == CHAINED ? 3 : 1) || row->count < 1 || row->count > 3 ||
        (row->form == CHAINED && row->count != 3) || (row->form == BINARY && row->count != 2) ||
        (row->form == UNARY && row->count != 1)) {
        return -1;
    }
    for (Py_ssize_t k = 0; k < made; k++) {
        row->instructions[k] = PyTuple_GET_ITEM(instructions, k);
    }
    row->values = 0;
    for (int k = 0; k < row->count; k++) {
        row->operands[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(operands, k));
        if (row->operands[k] < -2 || row->operands[k] > 2) {
            return -1;
        }
        row->values = row->operands[k] >= row->values ? row->operands[k] + 1 : row->values;
    }
    return 0;
}

/* The table of operations.py. */
static int read_rows(Allocator *s, PyObject *rows)
{
    PyObject *name, *given;
    Py_ssize_t at = 0;
    while (PyDict_Next(rows, &at, &name, &given)) {
        if (s->n_rows == MOST_ROWS || read_row(&s->rows[s->n_rows++], name, given) != 0 || PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "allocate: a row of the table is malformed");
            return -1;
        }
    }
    return 0;
}

/* The operation of a node; -1 with an exception. */
static int read_node(const Allocator *s, Operation *op, PyObject *node, int64_t one)
{
    PyObject *name = PyTuple_GET_ITEM(node, 0);
    int k = 0;
    while (k < s->n_rows && name != s->rows[k].name) {
        k++;
    }
    if (k == s->n_rows) { /* equal, but another object */
        for (k = 0; k < s->n_rows && PyUnicode_Compare(name, s->rows[k].name) != 0; k++) {
        }
    }
    if (k == s->n_rows || PyTuple_GET_SIZE(node) != 1 + s->rows[k].values) {
        PyErr_Format(PyExc_ValueError, "the processor target has no operation %R", node);
        return -1;
    }
    op->row = &s->rows[k];
    op->count = op->row->count;
    for (int i = 0; i < op->count; i++) {
        const int given = op->row->operands[i];
        op->values[i] = given < 0 ? one - 1 - given : PyLong_AsLongLong(PyTuple_GET_ITEM(node, 1 + given));
        if (op->values[i] < 0 || (given >= 0 && op->values[i] >= one)) {
            PyErr_SetString(PyExc_ValueError, "a node uses what is not there");
            return -1;
        }
    }
    return 0;
}

/* Gives a constant a home if it has none yet. */
static int find_constant(Allocator *s, PyObject *nodes, int64_t value, PyObject *number)
{
    const int64_t one = s->n - 2;
    PyObject *constant, *place_;
    if (s->home[value] != NO_HOME) {
        return 0;
    }
    if (value >= one) {
        constant = PyFloat_FromDouble(value == one ? 1.0 : -0.0);
    } else {
        PyObject *node = PyTuple_GET_ITEM(nodes, value);
        if (PyUnicode_Compare(PyTuple_GET_ITEM(node, 0), constant_name) != 0) {
            return 0;
        }
        constant = Py_NewRef(PyTuple_GET_ITEM(node, 1));
    }
    place_ = constant == NULL ? NULL : PyObject_CallOneArg(number, constant);
    Py_XDECREF(constant);
    if (place_ == NULL) {
        return -1;
    }
    s->home[value] = -1 - PyLong_AsLongLong(place_);
    Py_DECREF(place_);
    return PyErr_Occurred() ? -1 : 0;
}

/* Operations in order, uses of each value in order of time, homes; -1 with an exception. */
static int read_program(Allocator *s, PyObject *nodes, PyObject *order, PyObject *homes, PyObject *number)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int64_t total = 0;
    for (Py_ssize_t t = 0; t < s->length; t++) {
        const int64_t index = PyLong_AsLongLong(PyList_GET_ITEM(order, t));
        if (index < 0 || index >= s->n - 2) {
            PyErr_SetString(PyExc_ValueError, "the order holds what is no node");
            return -1;
        }
        s->order[t] = index;
        if (read_node(s, &s->ops[t], PyTuple_GET_ITEM(nodes, index), s->n - 2) != 0) {
            return -1;
        }
        for (int k = 0; k < s->ops[t].count; k++) {
            s->last_use[s->ops[t].values[k]] += !among(s->ops[t].values[k], s->ops[t].values, k);
        }
        s->where[index] = -2; /* computed here */
    }
    while (PyDict_Next(homes, &at, &key, &value)) {
        const int64_t node = PyLong_AsLongLong(key), slot = PyLong_AsLongLong(value);
        const int is_constant = slot < -SLOT && node >= 0 && node < s->n - 2 && s->where[node] != -2;
        if (node < 0 || node >= s->n - 2 || (slot < 0 && !is_constant)) {
            PyErr_SetString(PyExc_ValueError, "a home is out of range");
            return -1;
        }
        if (s->where[node] == -2) {
            s->store[node] = slot;
        } else {
            s->home[node] = SLOT + slot;
        }
    }
    for (int64_t v = 0; v < s->n; v++) {
        s->where[v] = -1;
        s->first_use[v] = total;
        total += s->last_use[v];
        s->last_use[v] = s->first_use[v];
    }
    for (Py_ssize_t t = 0; t < s->length; t++) {
        const Operation *op = &s->ops[t];
        for (int k = 0; k < op->count; k++) {
            if (among(op->values[k], op->values, k)) {
                continue;
            }
            s->use[s->last_use[op->values[k]]++] = t;
            if (find_constant(s, nodes, op->values[k], number) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static PyObject *instructions(const Allocator *s, PyTypeObject *type)
{
    PyObject *list = PyList_New(s->n_code);
    for (Py_ssize_t k = 0; list != NULL && k < s->n_code; k++) {
        const Made *made = &s->code[k];
        PyObject *one = type->tp_alloc(type, 5);
        PyObject *to = PyLong_FromLongLong(made->to), *a = PyLong_FromLongLong(made->a), *b = PyLong_FromLongLong(made->b);
        PyObject *c = PyLong_FromLongLong(made->c);
        if (one == NULL || to == NULL || a == NULL || b == NULL || c == NULL) {
            Py_XDECREF(one), Py_XDECREF(to), Py_XDECREF(a), Py_XDECREF(b), Py_XDECREF(c);
            Py_CLEAR(list);
            break;
        }
#if PY_VERSION_HEX >= 0x030E0000
        ((PyTupleObject *)one)->ob_hash = -1;
#endif
        PyTuple_SET_ITEM(one, 0, Py_NewRef(made->op));
        PyTuple_SET_ITEM(one, 1, to);
        PyTuple_SET_ITEM(one, 2, a);
        PyTuple_SET_ITEM(one, 3, b);
        PyTuple_SET_ITEM(one, 4, c);
        PyObject_GC_UnTrack(one); /* it has a name and numbers only, no cycles: this saves the collector's time */
        PyList_SET_ITEM(list, k, one);
    }
    return list;
}

/* Allocates all memory of known size; one block for the numbers. */
static int reserve(Allocator *s, int64_t *numbers)
{
    const int64_t n = s->n;
    s->home = numbers, s->store = numbers + n, s->spilled = numbers + 2 * n;
    s->first_use = numbers + 3 * n, s->last_use = numbers + 4 * n, s->spare = numbers + 5 * n;
    s->order = numbers + 6 * n, s->use = s->order + s->length;
    s->where = malloc((size_t)n * sizeof *s->where);
    s->ops = malloc(((size_t)s->length + 1) * sizeof *s->ops);
    if (s->where == NULL || s->ops == NULL) {
        return -1;
    }
    for (int64_t v = 0; v < n; v++) {
        s->home[v] = NO_HOME;
        s->store[v] = s->spilled[v] = -1;
        s->last_use[v] = 0;
        s->where[v] = -1;
    }
    for (int r = 0; r < s->registers; r++) {
        s->held[r] = -1;
        s->free[s->n_free++] = s->registers - 1 - r;
    }
    return 0;
}

static PyObject *allocated(Allocator *s, PyObject *nodes, PyObject *order, PyObject *homes, PyObject *number,
                           PyTypeObject *type)
{
    PyObject *list;
    if (read_program(s, nodes, order, homes, number) != 0) {
        return NULL;
    }
    for (Py_ssize_t t = 0; t < s->length && !s->failed; t++) {
        step(s, t);
    }
    if (s->failed) {
        PyErr_SetString(PyExc_RuntimeError, "too few registers or no memory");
        return NULL;
    }
    list = instructions(s, type);
    return list == NULL ? NULL : Py_BuildValue("(NL)", list, (long long)s->size);
}

static PyObject *allocate(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *nodes, *order, *homes, *number, *type, *rows, *answer;
    Allocator s = {0};
    long long size, far;
    int64_t *numbers;
    if (!PyArg_ParseTuple(args, "O!O!O!OO!O!iLLd", &PyTuple_Type, &nodes, &PyList_Type, &order, &PyDict_Type, &homes,
                          &number, &PyType_Type, &type, &PyDict_Type, &rows, &s.registers, &size, &far, &s.dirty)) {
        return NULL;
    }
    if (read_rows(&s, rows) != 0) {
        return NULL;
    }
    if (s.registers < 4 || s.registers > MOST_REGISTERS || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_ValueError, "allocate: an argument is out of range");
        return NULL;
    }
    s.size = size, s.far = far;
    s.n = PyTuple_GET_SIZE(nodes) + 2;
    s.length = PyList_GET_SIZE(order);
    numbers = malloc(((size_t)s.n * 6 + (size_t)s.length * 4) * sizeof *numbers);
    if (numbers == NULL || reserve(&s, numbers) != 0) {
        answer = PyErr_NoMemory();
    } else {
        answer = allocated(&s, nodes, order, homes, number, (PyTypeObject *)type);
    }
    free(numbers);
    free(s.where);
    free(s.ops);
    free(s.code);
    return answer;
}

static int module_exec(PyObject *Py_UNUSED(module))
{
    constant_name = PyUnicode_InternFromString("const");
    load_name = PyUnicode_InternFromString("load");
    store_name = PyUnicode_InternFromString("store");
    return constant_name && load_name && store_name ? 0 : -1;
}

static PyMethodDef functions[] = {
    {"allocate", allocate, METH_VARARGS,
     "allocate(nodes, order, homes, number, instruction, rows, registers, size, far, dirty): as allocate.py says."},
    {"schedule", schedule, METH_VARARGS, "schedule(nodes, order, window, issue, latency): as schedule.py says."},
    {"traffic", traffic, METH_VARARGS, "traffic(code, slot_bytes, sets, ways): as allocate.py."},
    {NULL, NULL, 0, NULL},
};

MODULE(_allocate, "Schedules, register allocation and its cost for target cpu.", functions)
