/* Packed: the fields of a packed array, and calls in which every array is packed. */

typedef struct {
    PyObject_HEAD
    PyObject *blocks; /* array (tiles, columns, lanes) */
    PyObject *layout; /* which entry a column is; equal ones are the same object */
    PyObject *batch;  /* tuple of the batch dimensions */
    Py_ssize_t n;     /* their product */
} Packed;

static PyTypeObject *packed_base;

/* The product of the batch dimensions, -1 with an exception. */
static Py_ssize_t count_states(PyObject *batch)
{
    Py_ssize_t n = 1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(batch); k++) {
        const Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(batch, k));
        if (length < 0 || (length > 0 && n > PY_SSIZE_T_MAX / 2 / length)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "Packed: a batch dimension is out of range");
            }
            return -1;
        }
        n *= length;
    }
    return n;
}

static Py_ssize_t number_of(PyObject *layout, const char *name)
{
    PyObject *value = PyObject_GetAttrString(layout, name);
    const Py_ssize_t number = value == NULL ? -1 : PyLong_AsSsize_t(value);
    Py_XDECREF(value);
    return number;
}

static PyObject *packed_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *blocks, *layout, *batch;
    PyArrayObject *array;
    Packed *self;
    Py_ssize_t n, columns, lanes;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Packed takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!OO!", &PyArray_Type, &blocks, &layout, &PyTuple_Type, &batch) ||
        (n = count_states(batch)) < 0 || (columns = number_of(layout, "columns")) < 0 ||
        (lanes = number_of(layout, "lanes")) < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "Packed: that is no layout");
        }
        return NULL;
    }
    array = (PyArrayObject *)blocks;
    if (!PyArray_CheckExact(blocks) || lanes < 1 || PyArray_NDIM(array) != 3 || !PyArray_ISCARRAY_RO(array) ||
        PyArray_DIM(array, 0) != n / lanes + (n % lanes != 0) || PyArray_DIM(array, 1) != columns ||
        PyArray_DIM(array, 2) != lanes) {
        PyErr_Format(PyExc_ValueError, "Packed: blocks must be a C-contiguous array (%zd, %zd, %zd)",
                     lanes < 1 ? 0 : n / lanes + (n % lanes != 0), columns, lanes);
        return NULL;
    }
    self = (Packed *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->blocks = Py_NewRef(blocks), self->layout = Py_NewRef(layout), self->batch = Py_NewRef(batch);
        self->n = n;
    }
    return (PyObject *)self;
}

static void packed_dealloc(PyObject *object)
{
    Packed *self = (Packed *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->blocks);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->batch);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef packed_members[] = {
    {"blocks", T_OBJECT_EX, offsetof(Packed, blocks), READONLY, "the numbers: (tiles, columns, lanes)"},
    {"layout", T_OBJECT_EX, offsetof(Packed, layout), READONLY, "which entry each column is"},
    {"batch", T_OBJECT_EX, offsetof(Packed, batch), READONLY, "the batch dimensions"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot packed_slots[] = {
    {Py_tp_new, packed_new},
    {Py_tp_dealloc, packed_dealloc},
    {Py_tp_members, packed_members},
    {0, NULL},
};

static PyType_Spec packed_spec = {
    .name = "condyle.runtime._native.PackedBase",
    .basicsize = sizeof(Packed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = packed_slots,
};

/* The data of a Function whose packed calls are compiled. */
typedef struct {
    Entry *entry;
    PyTypeObject *type; /* of packed arrays */
    PyObject *layouts;  /* of all ports of the entry */
} PackedCall;

static Py_ssize_t padded(const Packed *packed, const Entry *entry)
{
    const Py_ssize_t lanes = (Py_ssize_t)entry->lanes;
    return (packed->n / lanes + (packed->n % lanes != 0)) * lanes;
}

/* Points the job's port to a packed array if its type, layout and batch are those of the call. */
static int take_packed(const PackedCall *call, PyObject *object, const Packed *first, PyArray_Descr *dtype, Job *job,
                       Py_ssize_t port, int flags)
{
    const npy_intp lanes = (npy_intp)call->entry->lanes;
    const Packed *packed = (const Packed *)object;
    PyArrayObject *blocks;
    if (object == NULL || Py_TYPE(object) != call->type || packed->n != first->n ||
        packed->layout != PyTuple_GET_ITEM(call->layouts, port)) {
        return 0;
    }
    blocks = (PyArrayObject *)packed->blocks; /* a user can reshape and resize it */
    if (PyArray_DESCR(blocks) != dtype || (PyArray_FLAGS(blocks) & (flags | WARN_ON_WRITE)) != flags ||
        PyArray_NDIM(blocks) != 3 || PyArray_DIM(blocks, 0) * lanes != padded(packed, call->entry) ||
        PyArray_DIM(blocks, 1) != call->entry->size[port] || PyArray_DIM(blocks, 2) != lanes) {
        return 0;
    }
    if (packed->batch != first->batch) {
        const int same = PyObject_RichCompareBool(packed->batch, first->batch, Py_EQ);
        if (same != 1) {
            PyErr_Clear();
            return 0;
        }
    }
    job->base[port] = PyArray_BYTES(blocks);
    job->stride[port] = call->entry->size[port];
    return 1;
}

static PyObject *fresh_packed(const PackedCall *call, const Packed *first, PyArray_Descr *dtype, Py_ssize_t port)
{
    const npy_intp lanes = (npy_intp)call->entry->lanes;
    const npy_intp shape[3] = {padded(first, call->entry) / lanes, call->entry->size[port], lanes};
    PyObject *blocks = new_array(dtype, 3, shape, shape[0] * shape[1] * shape[2] * call->entry->itemsize);
    Packed *packed = blocks == NULL ? NULL : (Packed *)call->type->tp_alloc(call->type, 0);
    if (packed == NULL) {
        Py_XDECREF(blocks);
        PyErr_Clear(); /* the method says what is wrong */
        return NULL;
    }
    packed->blocks = blocks;
    packed->layout = Py_NewRef(PyTuple_GET_ITEM(call->layouts, port));
    packed->batch = Py_NewRef(first->batch);
    packed->n = first->n;
    return (PyObject *)packed;
}

/* Whether the bytes of port `a` overlap those of port `b`, with padding lanes. */
static int packed_overlap(const Job *job, Py_ssize_t a, Py_ssize_t b)
{
    const size_t lanes = job->self->lanes;
    const ptrdiff_t bytes = (ptrdiff_t)((job->n + lanes - 1) / lanes * lanes) * job->self->itemsize;
    return job->base[a] < job->base[b] + bytes * job->self->size[b] &&
           job->base[b] < job->base[a] + bytes * job->self->size[a];
}
