/* Function: the native fast path of a Python method. */

typedef struct {
    int nd;
    npy_intp length[MAX_DIMS];
    npy_intp size;
} Port;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *slow;   /* the method; it also keeps the compiled code loaded */
    PyObject *names;  /* of the arguments: inputs, f_ext if there is one, out */
    PyObject *result; /* the named tuple of several outputs */
    PyArray_Descr *dtype;
    Entry *entry[2];  /* without and with f_ext; NULL: not compiled yet */
    Entry *single[2]; /* instead for one state alone, where there is one */
    PackedCall packed[2];
    PyObject *kept[2]; /* answers that may be filled again; see answers.h */
    Py_ssize_t threads;
    int oldest; /* of those */
    int n_in, n_out, takes_f_ext;
    Py_ssize_t positional; /* so many arguments may be given without their names; the method has another order behind */
    uint64_t fractions, positives; /* bit k: entries of input k are from 0 to 1, above 0; the method refuses others */
    Quaternions *quaternions; /* of inputs: the method refuses those that have not unit length; NULL: none */
    int shares; /* whether an input without batch dimensions serves all states; else the method answers then */
    Port port[2 * MAX_PORTS]; /* inputs, f_ext if there is one, outputs */
} Function;

typedef struct {
    int nd;
    npy_intp n;
    npy_intp length[MAX_DIMS];
} Batch;

/* The arguments in the order of the names, NULL for those left out; 0 if the Python method must report an error. */
static int sort_arguments(const Function *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                          PyObject **given)
{
    const Py_ssize_t known = self->n_in + self->takes_f_ext + 1;
    if (count > known || count > self->positional) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < known; k++) {
        given[k] = k < count ? args[k] : NULL;
    }
    for (Py_ssize_t k = 0; keywords != NULL && k < PyTuple_GET_SIZE(keywords); k++) {
        Py_ssize_t slot = known - 1;
        while (slot >= 0 && PyTuple_GET_ITEM(self->names, slot) != PyTuple_GET_ITEM(keywords, k)) {
            slot--;
        }
        if (slot < 0 || given[slot] != NULL) {
            return 0;
        }
        given[slot] = args[count + k];
    }
    for (Py_ssize_t k = 0; k < known; k++) {
        if (given[k] == Py_None) {
            given[k] = NULL;
        }
        if (given[k] == NULL && k < self->n_in) {
            return 0;
        }
    }
    return 1;
}

/* Whether a kernel can use it: an array of the right dtype, in C order, with batch dimensions and then the port's. */
static int fits(const Function *self, PyObject *object, const Port *port, const Batch *batch, int flags)
{
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp *shape;
    if (object == NULL || !PyArray_CheckExact(object) || PyArray_DESCR(array) != self->dtype ||
        (PyArray_FLAGS(array) & (flags | WARN_ON_WRITE)) != flags ||
        PyArray_NDIM(array) != batch->nd + port->nd) {
        return 0;
    }
    shape = PyArray_DIMS(array);
    for (int k = 0; k < batch->nd; k++) {
        if (shape[k] != batch->length[k]) {
            return 0;
        }
    }
    for (int k = 0; k < port->nd; k++) {
        if (shape[batch->nd + k] != port->length[k]) {
            return 0;
        }
    }
    return 1;
}

/* Whether no entry of an input that has a range is beyond it. NaN is an answer's own. The method knows how far a flag
 * may be beyond. Not inline, since few functions have any. */
__attribute__((noinline)) static int within(const Function *self, Py_ssize_t port, const void *data, npy_intp count)
{
    const double *wide = data;
    const float *narrow = data;
    const int positive = self->positives >> port & 1;
    int beyond = 0;
    for (npy_intp k = 0; k < count; k++) {
        const double x = self->dtype->type == 'd' ? wide[k] : (double)narrow[k];
        beyond |= positive ? x <= 0.0 : x < 0.0 || x > 1.0;
    }
    return !beyond;
}

/* Whether an input may be computed with. */
static int in_range(const Function *self, Py_ssize_t port, const void *data, npy_intp count)
{
    return ((self->fractions | self->positives) >> port & 1) == 0 || within(self, port, data, count);
}

/* Whether it is a Python float for an input of one number: it is for all states, and is stored in the job. */
static int take_number(const Function *self, PyObject *object, const Port *port, Job *job, Py_ssize_t k)
{
    double value;
    float narrow;
    if (object == NULL || !PyFloat_Check(object) || port->nd != 0 || !self->shares) {
        return 0;
    }
    value = PyFloat_AS_DOUBLE(object);
    narrow = (float)value;
    if (self->dtype->type == 'd') {
        memcpy(&job->number[k], &value, sizeof value);
    } else {
        memcpy(&job->number[k], &narrow, sizeof narrow);
    }
    job->base[k] = (char *)&job->number[k];
    job->stride[k] = 0;
    return in_range(self, k, job->base[k], 1);
}

/* The batch dimensions of the input with the most of them; 0 if there are too many, or an input is neither an array nor a
 * Python float. */
static int read_batch(const Function *self, PyObject *const *given, int count, Batch *batch)
{
    const npy_intp *shape = NULL;
    batch->n = 1;
    batch->nd = -1;
    for (int k = 0; k < count; k++) {
        PyArrayObject *array = (PyArrayObject *)given[k];
        if (given[k] != NULL && PyFloat_Check(given[k])) {
            continue;
        }
        if (array == NULL || !PyArray_CheckExact(given[k])) {
            return 0;
        }
        if (PyArray_NDIM(array) - self->port[k].nd > batch->nd) {
            batch->nd = PyArray_NDIM(array) - self->port[k].nd;
            shape = PyArray_DIMS(array);
        }
    }
    if (batch->nd < 0 || batch->nd > MAX_DIMS) {
        return 0;
    }
    for (int k = 0; k < batch->nd; k++) {
        batch->length[k] = shape[k];
        batch->n *= batch->length[k]; /* of an array that fits, so it does not overflow */
    }
    return 1;
}

/* Inputs with this batch, or, where that is allowed, without batch dimensions: one row for all states. */
static int take_inputs(const Function *self, PyObject *const *given, Batch *batch, Job *job, int count)
{
    static const Batch none = {0, 1, {0}};
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (!read_batch(self, given, count, batch)) {
        return 0;
    }
    for (int k = 0; k < count; k++) {
        int one;
        if (take_number(self, given[k], &self->port[k], job, k)) {
            continue;
        }
        if (!PyArray_CheckExact(given[k])) {
            return 0;
        }
        one = batch->n == 1 || PyArray_NDIM((PyArrayObject *)given[k]) == self->port[k].nd;
        if (!fits(self, given[k], &self->port[k], batch, flags) &&
            !(self->shares && one && fits(self, given[k], &self->port[k], &none, flags))) {
            return 0;
        }
        job->base[k] = PyArray_BYTES((PyArrayObject *)given[k]);
        job->stride[k] = one ? 0 : self->port[k].size;
        if (!in_range(self, k, job->base[k], (one ? 1 : batch->n) * self->port[k].size)) {
            return 0;
        }
    }
    return batch->n > 0;
}

/* An item of a list, a new reference: without the GIL another thread may change the list. NULL without an exception if it
 * is gone. */
static PyObject *list_item(PyObject *list, int k)
{
#ifdef Py_GIL_DISABLED
    PyObject *item = PyList_GetItemRef(list, k);
    if (item == NULL) {
        PyErr_Clear();
    }
    return item;
#else
    return Py_NewRef(PyList_GET_ITEM(list, k));
#endif
}

/* One output of `out=`, a new reference; NULL if `out` has another type than those handled here. */
static PyObject *out_item(const Function *self, PyObject *out, int k)
{
    if (self->n_out == 1 && PyArray_CheckExact(out)) {
        return Py_NewRef(out);
    }
    if (PyTuple_CheckExact(out) || Py_TYPE(out) == (PyTypeObject *)self->result) {
        return PyTuple_GET_SIZE(out) == self->n_out ? Py_NewRef(PyTuple_GET_ITEM(out, k)) : NULL;
    }
    return PyList_CheckExact(out) && PyList_GET_SIZE(out) == self->n_out ? list_item(out, k) : NULL;
}

/* The caller's own array, checked, a new reference; NULL without an exception if it does not fit. */
static PyObject *own_output(const Function *self, PyObject *out, int k, const Batch *batch)
{
    PyObject *array = out_item(self, out, k);
    const Port *port = &self->port[self->n_in + self->takes_f_ext + k];
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    if (!fits(self, array, port, batch, flags)) {
        Py_CLEAR(array);
    }
    return array;
}

static PyObject *fresh_output(const Function *self, int k, const Batch *batch)
{
    const Port *port = &self->port[self->n_in + self->takes_f_ext + k];
    npy_intp shape[2 * MAX_DIMS];
    const npy_intp itemsize = self->dtype->type == 'd' ? 8 : 4;
    PyObject *array;
    memcpy(shape, batch->length, (size_t)batch->nd * sizeof *shape);
    memcpy(shape + batch->nd, port->length, (size_t)port->nd * sizeof *shape);
    array = new_array(self->dtype, batch->nd + port->nd, shape, batch->n * port->size * itemsize);
    if (array == NULL) {
        PyErr_Clear(); /* the method says what is wrong */
    }
    return array;
}

/* Whether the bytes of port `a` overlap those of port `b`. */
static int overlap(const Job *job, Py_ssize_t a, Py_ssize_t b)
{
    const char *p = job->base[a], *q = job->base[b];
    const ptrdiff_t item = job->self->itemsize, last = (ptrdiff_t)job->n - 1;
    return p < q + (last * job->stride[b] + job->self->size[b]) * item &&
           q < p + (last * job->stride[a] + job->self->size[a]) * item;
}

/* The result as the method returns it; steals the references. */
static PyObject *pack(const Function *self, PyObject **results)
{
    PyTypeObject *type = (PyTypeObject *)self->result;
    PyObject *packed;
    if (type == NULL) {
        return results[0];
    }
    packed = type->tp_alloc(type, self->n_out);
#if PY_VERSION_HEX >= 0x030E0000
    if (packed != NULL) {
        ((PyTupleObject *)packed)->ob_hash = -1;
    }
#endif
    for (int k = 0; k < self->n_out; k++) {
        if (packed != NULL) {
            PyTuple_SET_ITEM(packed, k, results[k]);
        } else {
            Py_DECREF(results[k]);
        }
    }
    return packed;
}

/* A dense array without batch dimensions, one row for all states, if the packed layout of the port has all entries. */
static int take_one(const Function *self, const PackedCall *call, PyObject *object, Job *job, Py_ssize_t port)
{
    static const Batch none = {0, 1, {0}};
    if (take_number(self, object, &self->port[port], job, port)) {
        return 1;
    }
    if (call->entry->size[port] != self->port[port].size ||
        !fits(self, object, &self->port[port], &none, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
        return 0;
    }
    job->base[port] = PyArray_BYTES((PyArrayObject *)object);
    job->stride[port] = 0;
    return in_range(self, port, job->base[port], self->port[port].size);
}

/* Prepares a call in which every array is packed, or one row for all states; 0 without an exception if the Python method
 * must handle it. */
static int prepare_packed(const Function *self, const PackedCall *call, PyObject *const *given, PyObject *out, Job *job,
                          PyObject **results)
{
    const Packed *first = (const Packed *)given[0];
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    const Py_ssize_t n_in = call->entry->n_in;
    for (Py_ssize_t k = 0; k < n_in; k++) {
        if (!take_packed(call, given[k], first, self->dtype, job, k, flags) &&
            !(self->shares && take_one(self, call, given[k], job, k))) {
            return 0;
        }
    }
    start_job(job, call->entry, (size_t)first->n);
    job->quaternions = self->quaternions;
    if (out == NULL && job->n >= job->self->vast) {
        return 0;
    }
    for (int k = 0; k < self->n_out; k++) {
        const Py_ssize_t port = n_in + k;
        results[k] = out == NULL                                      ? fresh_packed(call, first, self->dtype, port)
                     : self->n_out == 1 && Py_TYPE(out) == call->type ? Py_NewRef(out)
                                                                      : out_item(self, out, k);
        if (results[k] == NULL ||
            !take_packed(call, results[k], first, self->dtype, job, port, flags | NPY_ARRAY_WRITEABLE)) {
            return 0;
        }
        for (Py_ssize_t other = 0; out != NULL && other < port; other++) {
            if (packed_overlap(job, port, other)) {
                return 0;
            }
        }
    }
    return first->n > 0;
}

/* The call of packed arrays, and its result; NULL without an exception if the Python method must handle it. */
static PyObject *packed_answer(const Function *self, const PackedCall *call, PyObject *const *given, PyObject *out, Job *job)
{
    PyObject *results[MAX_PORTS];
    memset(results, 0, (size_t)self->n_out * sizeof *results);
    if (prepare_packed(self, call, given, out, job, results)) {
        return pack(self, results);
    }
    for (int k = 0; k < self->n_out; k++) {
        Py_XDECREF(results[k]);
    }
    return NULL;
}

#include "answers.h"

static PyObject *function_call(PyObject *object, PyObject *const *args, size_t flagged, PyObject *keywords)
{
    Function *self = (Function *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    PyObject *given[MAX_PORTS + 2], *f_ext, *out, *answer = NULL;
    int status;
    const PackedCall *call;
    Entry *entry;
    Batch batch;
    Job job;
    if (!sort_arguments(self, args, count, keywords, given)) {
        return PyObject_Vectorcall(self->slow, args, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    }
    f_ext = self->takes_f_ext ? given[self->n_in] : NULL;
    out = given[self->n_in + self->takes_f_ext];
    entry = self->entry[f_ext != NULL];
    call = &self->packed[f_ext != NULL];
    if (call->entry != NULL && Py_TYPE(given[0]) == call->type) {
        entry = call->entry;
        answer = packed_answer(self, call, given, out, &job);
    } else if (entry != NULL && take_inputs(self, given, &batch, &job, self->n_in + (f_ext != NULL))) {
        if (batch.n == 1 && self->single[f_ext != NULL] != NULL) {
            entry = self->single[f_ext != NULL];
        }
        start_job(&job, entry, (size_t)batch.n);
        job.quaternions = self->quaternions;
        if (out != NULL) {
            answer = own_answer(self, out, &batch, &job);
        } else if (job.n < entry->vast) {
            answer = fresh_answer(self, &batch, &job);
        }
    }
    if (answer == NULL) {
        return PyErr_Occurred() ? NULL
                                : PyObject_Vectorcall(self->slow, args, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    }
    status = run(entry, &job, self->threads);
    if (status != 0) {
        Py_CLEAR(answer);
    }
    return status > 0 ? PyObject_Vectorcall(self->slow, args, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords) : answer;
}

/* Reads the dimensions of ports, each a tuple; a size of zero is refused, since the method handles empty arrays. */
static int read_ports(PyObject *tuples, Port *port, int *count)
{
    const Py_ssize_t length = PyTuple_GET_SIZE(tuples);
    if (length < 1 || length > MAX_PORTS) {
        PyErr_Format(PyExc_ValueError, "%zd arrays, expected 1 to %d", length, MAX_PORTS);
        return -1;
    }
    for (Py_ssize_t k = 0; k < length; k++) {
        PyObject *dims = PyTuple_GET_ITEM(tuples, k);
        if (!PyTuple_Check(dims) || PyTuple_GET_SIZE(dims) > MAX_DIMS) {
            PyErr_SetString(PyExc_TypeError, "dimensions are a tuple of a few numbers");
            return -1;
        }
        port[k].nd = (int)PyTuple_GET_SIZE(dims);
        port[k].size = 1;
        for (int i = 0; i < port[k].nd; i++) {
            port[k].length[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, i));
            if (port[k].length[i] < 1 || port[k].length[i] > (1 << 20)) {
                if (!PyErr_Occurred()) {
                    PyErr_SetString(PyExc_ValueError, "a dimension is out of range");
                }
                return -1;
            }
            port[k].size *= port[k].length[i];
        }
    }
    *count = (int)length;
    return 0;
}

static int check_result(PyObject *result, int n_out)
{
    if (result == Py_None ? n_out == 1
                          : PyType_Check(result) && PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type) &&
                                ((PyTypeObject *)result)->tp_basicsize == PyTuple_Type.tp_basicsize) {
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "result is a named tuple, or None for one output");
    return -1;
}

/* The quaternions of configurations; -1 with an exception. places: the first entry of each in a configuration. */
static int read_quaternions(Function *self, uint64_t ports, PyObject *places)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(places);
    if (ports == 0 || count == 0) {
        return 0;
    }
    self->quaternions = PyMem_Malloc(sizeof *self->quaternions + (size_t)count * sizeof *self->quaternions->at);
    if (self->quaternions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->quaternions->ports = ports;
    self->quaternions->count = count;
    self->quaternions->size = 0;
    for (int k = 0; k < self->n_in; k++) {
        if (ports >> k & 1 && self->port[k].nd > 0) {
            self->quaternions->size = self->port[k].length[self->port[k].nd - 1];
        }
    }
    for (int k = 0; k < 64; k++) {
        if (ports >> k & 1 && (k >= self->n_in || self->port[k].size % Py_MAX(self->quaternions->size, 1) != 0)) {
            PyErr_SetString(PyExc_ValueError, "Function: an input is no configuration");
            return -1;
        }
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        self->quaternions->at[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, k));
        if (PyErr_Occurred()) {
            return -1;
        }
        if (self->quaternions->at[k] < 0 || self->quaternions->at[k] > self->quaternions->size - 4) {
            PyErr_SetString(PyExc_ValueError, "Function: a quaternion is out of range");
            return -1;
        }
    }
    return 0;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *slow, *names, *inputs, *outputs, *result, *quaternions = NULL;
    PyArray_Descr *dtype;
    Py_ssize_t threads, positional = PY_SSIZE_T_MAX;
    Function *self;
    int takes_f_ext, shares = 1;
    unsigned long long fractions = 0, positives = 0, configurations = 0;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Function takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO!pO!O!O!On|pnKKKO!", &slow, &PyTuple_Type, &names, &takes_f_ext, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &outputs, &PyArrayDescr_Type, &dtype, &result, &threads, &shares,
                          &positional, &fractions, &positives, &configurations, &PyTuple_Type, &quaternions)) {
        return NULL;
    }
    self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = function_call;
    self->slow = Py_NewRef(slow);
    self->names = Py_NewRef(names);
    self->dtype = (PyArray_Descr *)Py_NewRef((PyObject *)dtype);
    self->threads = threads;
    self->takes_f_ext = takes_f_ext;
    self->shares = shares;
    self->positional = positional;
    self->fractions = fractions;
    self->positives = positives;
    if (read_ports(inputs, self->port, &self->n_in) != 0 ||
        read_ports(outputs, self->port + self->n_in, &self->n_out) != 0 || check_result(result, self->n_out) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->n_in -= takes_f_ext;
    self->result = result == Py_None ? NULL : Py_NewRef(result);
    if (self->n_in < 1 || PyTuple_GET_SIZE(names) != self->n_in + takes_f_ext + 1) {
        PyErr_SetString(PyExc_ValueError, "Function: one name for each input, and `out`");
        Py_DECREF(self);
        return NULL;
    }
    if (quaternions != NULL && read_quaternions(self, configurations, quaternions) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyTypeObject *entry_type;

/* Whether an entry has the ports of this function. */
static int belongs(const Function *self, int f_ext, const Entry *entry)
{
    int same = f_ext <= self->takes_f_ext && entry->n_in == self->n_in + f_ext && entry->n_out == self->n_out &&
               entry->format == self->dtype->type;
    for (Py_ssize_t k = 0; same && k < entry->n_in + entry->n_out; k++) {
        const Py_ssize_t port = k < entry->n_in ? k : k - entry->n_in + self->n_in + self->takes_f_ext;
        same = entry->size[k] == self->port[port].size;
    }
    return same;
}

/* Sets the entries of dense calls, with or without f_ext; `single` is for one state. Entries that are set are not replaced,
 * since a call may be running in them. */
static PyObject *function_set_entry(PyObject *object, PyObject *args)
{
    Function *self = (Function *)object;
    PyObject *single = Py_None;
    Entry *entry;
    int f_ext;
    if (!PyArg_ParseTuple(args, "pO!|O", &f_ext, entry_type, &entry, &single)) {
        return NULL;
    }
    if (single != Py_None && !Py_IS_TYPE(single, entry_type)) {
        PyErr_SetString(PyExc_TypeError, "set_entry: single is an entry or None");
        return NULL;
    }
    if (!belongs(self, f_ext, entry) || (single != Py_None && !belongs(self, f_ext, (Entry *)single))) {
        PyErr_SetString(PyExc_ValueError, "this entry belongs to another function");
        return NULL;
    }
    if (self->entry[f_ext] == NULL) {
        self->single[f_ext] = single == Py_None ? NULL : (Entry *)Py_NewRef(single);
        self->entry[f_ext] = (Entry *)Py_NewRef((PyObject *)entry);
    }
    Py_RETURN_NONE;
}

/* Whether packed configurations have all their entries. */
static int has_configurations(const Function *self, const Entry *entry)
{
    int whole = 1;
    for (Py_ssize_t k = 0; self->quaternions != NULL && k < self->n_in; k++) {
        whole &= (self->quaternions->ports >> k & 1) == 0 || entry->size[k] == self->port[k].size;
    }
    return whole;
}

/* Sets the entry of packed calls, with or without f_ext. layouts: of all its ports. type: that of packed arrays. */
static PyObject *function_set_packed(PyObject *object, PyObject *args)
{
    Function *self = (Function *)object;
    PackedCall *call;
    Entry *entry;
    PyObject *type, *layouts;
    int f_ext;
    if (!PyArg_ParseTuple(args, "pO!O!O!", &f_ext, entry_type, &entry, &PyType_Type, &type, &PyTuple_Type, &layouts)) {
        return NULL;
    }
    if (f_ext > self->takes_f_ext || entry->packed != (PACKED_IN | PACKED_OUT) || entry->n_in != self->n_in + f_ext ||
        !has_configurations(self, entry) || entry->n_out != self->n_out || entry->format != self->dtype->type ||
        PyTuple_GET_SIZE(layouts) != entry->n_in + entry->n_out ||
        !PyType_IsSubtype((PyTypeObject *)type, packed_base)) {
        PyErr_SetString(PyExc_ValueError, "this entry belongs to another function");
        return NULL;
    }
    call = &self->packed[f_ext];
    if (call->entry == NULL) {
        call->type = (PyTypeObject *)Py_NewRef(type);
        call->layouts = Py_NewRef(layouts);
        call->entry = (Entry *)Py_NewRef((PyObject *)entry);
    }
    Py_RETURN_NONE;
}

/* A pickle is that of the method: an object and a name. */
static PyObject *function_reduce(PyObject *object, PyObject *Py_UNUSED(none))
{
    return PyObject_CallMethod(((Function *)object)->slow, "__reduce__", NULL);
}

/* Help, signature and name are those of the method. */
static PyObject *function_getattr(PyObject *object, PyObject *name)
{
    PyObject *slow = ((Function *)object)->slow, *found;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        return Py_NewRef(slow);
    }
    if (PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__module__") == 0) {
        return PyObject_GetAttr(slow, name);
    }
    found = PyObject_GenericGetAttr(object, name);
    if (PyUnicode_CompareWithASCIIString(name, "__signature__") == 0) {
        return found; /* not the function's behind the method, which names self */
    }
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(slow, name);
    }
    return found;
}

static PyObject *function_repr(PyObject *object)
{
    return PyObject_Repr(((Function *)object)->slow);
}

static int function_traverse(PyObject *object, visitproc visit, void *arg)
{
    Function *self = (Function *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->slow);
    Py_VISIT(self->result);
    return 0;
}

static int function_clear(PyObject *object)
{
    Function *self = (Function *)object;
    PyObject *slow = self->slow;
    self->slow = Py_NewRef(Py_None); /* whoever still calls gets an error, not a crash */
    Py_XDECREF(slow);
    return 0;
}

static void function_dealloc(PyObject *object)
{
    Function *self = (Function *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->names);
    Py_XDECREF(self->result);
    Py_XDECREF((PyObject *)self->dtype);
    Py_XDECREF((PyObject *)self->entry[0]);
    Py_XDECREF((PyObject *)self->entry[1]);
    Py_XDECREF((PyObject *)self->single[0]);
    Py_XDECREF((PyObject *)self->single[1]);
    for (int k = 0; k < 2; k++) {
        Py_XDECREF((PyObject *)self->packed[k].entry);
        Py_XDECREF((PyObject *)self->packed[k].type);
        Py_XDECREF(self->packed[k].layouts);
    }
    Py_XDECREF(self->kept[0]);
    Py_XDECREF(self->kept[1]);
    PyMem_Free(self->quaternions);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef function_methods[] = {
    {"set_entry", function_set_entry, METH_VARARGS, "set_entry(f_ext, entry[, single]): plain calls run this entry."},
    {"set_packed", function_set_packed, METH_VARARGS,
     "set_packed(f_ext, entry, type, layouts): packed calls run this entry."},
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, function_getattr},
    {Py_tp_repr, function_repr},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "condyle.runtime._native.Function",
    .basicsize = sizeof(Function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = function_slots,
};
