/* Entry: a compiled function called on rows that were checked before. */
static int check_view(const Entry *self, const Py_buffer *view, Py_ssize_t n, Py_ssize_t port)
{
    const char *format = view->format == NULL ? "B" : view->format;
    const int output = port >= self->n_in;
    const char *way = output ? "output" : "input";
    const Py_ssize_t number = output ? port - self->n_in : port;
    if (*format == '@' || *format == '=') {
        format++;
    }
    if (view->itemsize != self->itemsize || format[0] != self->format || format[1] != '\0') {
        PyErr_Format(PyExc_TypeError, "%s %zd: format '%s', expected '%c'", way, number, view->format, self->format);
        return -1;
    }
    if (view->ndim != 2 || view->shape[1] != self->size[port] ||
        !(view->shape[0] == n || (!output && view->shape[0] == 1))) {
        PyErr_Format(PyExc_ValueError, "%s %zd: expected shape (%zd, %zd)", way, number, n, self->size[port]);
        return -1;
    }
    if (n == 0 || view->shape[1] == 0) {
        return 0; /* nothing is read, and the strides of empty arrays mean nothing */
    }
    if ((view->shape[1] > 1 && view->strides[1] != self->itemsize) || view->strides[0] % self->itemsize != 0 ||
        (uintptr_t)view->buf % (uintptr_t)self->itemsize != 0) {
        PyErr_Format(PyExc_ValueError, "%s %zd: rows must be contiguous and aligned", way, number);
        return -1;
    }
    if (output && n > 1 && Py_ABS(view->strides[0]) < self->size[port] * self->itemsize) {
        PyErr_Format(PyExc_ValueError, "output %zd: its rows overlap", number);
        return -1;
    }
    return 0;
}

/* A packed array: (tiles, size, lanes), contiguous. */
static int check_tiles(const Entry *self, const Py_buffer *view, Py_ssize_t n, Py_ssize_t port)
{
    const Py_ssize_t lanes = (Py_ssize_t)self->lanes;
    const char *format = view->format == NULL ? "B" : view->format;
    if (view->itemsize != self->itemsize || format[0] != self->format || format[1] != '\0') {
        PyErr_Format(PyExc_TypeError, "packed array: format '%s', expected '%c'", view->format, self->format);
        return -1;
    }
    if (view->ndim != 3 || view->shape[0] != (n + lanes - 1) / lanes || view->shape[1] != self->size[port] ||
        view->shape[2] != lanes || !PyBuffer_IsContiguous(view, 'C') ||
        (uintptr_t)view->buf % (uintptr_t)self->itemsize != 0) {
        PyErr_Format(PyExc_ValueError, "packed array: expected shape (%zd, %zd, %zd), contiguous",
                     (n + lanes - 1) / lanes, self->size[port], lanes);
        return -1;
    }
    return 0;
}

/* Takes and checks the buffers of one sequence; *taken counts those to release. */
static int take_views(const Entry *self, PyObject *arrays, Job *job, Py_buffer *views, Py_ssize_t *taken, int output)
{
    const Py_ssize_t count = output ? self->n_out : self->n_in;
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (output ? PyBUF_WRITABLE : 0);
    const int packed = self->packed & (output ? PACKED_OUT : PACKED_IN);
    PyObject *fast = PySequence_Fast(arrays, "inputs and outputs are sequences of arrays");
    int status = -1;
    if (fast == NULL) {
        return -1;
    }
    if (PySequence_Fast_GET_SIZE(fast) != count) {
        PyErr_Format(PyExc_ValueError, "expected %zd arrays, got %zd", count, PySequence_Fast_GET_SIZE(fast));
        goto done;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        const Py_ssize_t port = *taken;
        Py_buffer *view = &views[port];
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(fast, k), view, flags) != 0) {
            goto done;
        }
        ++*taken;
        if (packed && !output && view->ndim == 2) { /* one row for all states, not packed */
            if (check_view(self, view, 1, port) != 0) {
                goto done;
            }
            job->base[port] = view->buf;
            job->stride[port] = 0;
            continue;
        }
        if ((packed ? check_tiles : check_view)(self, view, (Py_ssize_t)job->n, port) != 0) {
            goto done;
        }
        job->base[port] = view->buf;
        job->stride[port] = packed ? self->size[port] : view->shape[0] == 1 ? 0 : view->strides[0] / self->itemsize;
    }
    status = 0;
done:
    Py_DECREF(fast);
    return status;
}

static void start_job(Job *job, const Entry *self, size_t n)
{
    job->self = self;
    job->quaternions = NULL;
    job->general = self->stream != NULL && n >= self->large ? self->stream : self->general;
    job->n = n;
    atomic_init(&job->taken, 0);
    atomic_init(&job->status, 0);
    atomic_init(&job->running, 0);
    job->caller = NULL;
}

/* Runs a job whose bases and strides are set; -1 with an exception, 1 for a quaternion that has not unit length. */
static int run(Entry *self, Job *job, Py_ssize_t threads)
{
    void *work;
    if (job->n == 0) {
        return 0;
    }
    work = take_scratch(self);
    if (work == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (job->n <= self->brief) {
        run_piece(job, 0, job->n, work);
    } else {
        job->caller = PyEval_SaveThread();
        run_job(job, work, threads);
        PyEval_RestoreThread(job->caller);
    }
    give_scratch(self, work);
    if (PyErr_Occurred()) { /* a signal's handler raised */
        return -1;
    }
    if (atomic_load(&job->status) == NOT_UNIT) {
        return 1;
    }
    if (atomic_load(&job->status) != 0) {
        PyErr_Format(PyExc_RuntimeError, "the compiled function failed with status %d", atomic_load(&job->status));
        return -1;
    }
    return 0;
}

static PyObject *entry_run(PyObject *object, PyObject *const *args, Py_ssize_t n_args)
{
    Entry *self = (Entry *)object;
    Py_buffer views[2 * MAX_PORTS];
    Py_ssize_t taken = 0, n, threads;
    Job job;
    int status = -1;
    if (n_args != 4) {
        PyErr_SetString(PyExc_TypeError, "run(n, inputs, outputs, threads) takes 4 arguments");
        return NULL;
    }
    n = PyLong_AsSsize_t(args[0]);
    threads = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "n is negative");
        return NULL;
    }
    start_job(&job, self, (size_t)n);
    if (take_views(self, args[1], &job, views, &taken, 0) == 0 &&
        take_views(self, args[2], &job, views, &taken, 1) == 0) {
        status = run(self, &job, threads);
    }
    while (taken > 0) {
        PyBuffer_Release(&views[--taken]);
    }
    if (status > 0) {
        PyErr_SetString(PyExc_ValueError, "a quaternion has not unit length");
    }
    if (status != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int read_sizes(PyObject *sizes, Py_ssize_t *to, Py_ssize_t *count)
{
    const Py_ssize_t length = PyTuple_GET_SIZE(sizes);
    if (length > MAX_PORTS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return -1;
    }
    for (Py_ssize_t k = 0; k < length; k++) {
        to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, k));
        if (to[k] < 0 || to[k] > PY_SSIZE_T_MAX / 16) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a size is out of range");
            }
            return -1;
        }
    }
    *count = length;
    return 0;
}

/* How many bytes of results stay in the caches, since others need them too. */
static size_t cached_bytes(void)
{
    long last = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    last = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return last / CACHE_PART > CACHE_LEAST ? (size_t)last / CACHE_PART : CACHE_LEAST;
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t address, work, lanes, grain, context = 0, stream = 0, usual = 0, rounded;
    size_t bytes = 0;
    int format, packed = 0, checks = 0;
    PyObject *in_sizes, *out_sizes;
    Entry *self;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Entry takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "nnnCO!O!n|ninpn", &address, &work, &lanes, &format, &PyTuple_Type, &in_sizes,
                          &PyTuple_Type, &out_sizes, &grain, &context, &packed, &stream, &checks, &usual)) {
        return NULL;
    }
    if (address == 0 || work < 0 || lanes < 1 || grain < 1 || grain > PY_SSIZE_T_MAX / 4 || lanes > 1024 || usual < 0 ||
        usual > grain || (format != 'd' && format != 'f')) {
        PyErr_SetString(PyExc_ValueError, "Entry: an argument is out of range");
        return NULL;
    }
    self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    if (context != 0) {
        self->general = (general_t)address;
        self->context = (const void *)context;
    } else {
        self->entry = (entry_t)address;
    }
    self->work = work == 0 ? 64 : (size_t)work;
    usual = usual > 0 ? usual : grain;
    rounded = (usual + lanes - 1) / lanes * lanes;
    self->brief = usual >= 16 ? (size_t)usual / 8 : usual > 1;
    self->lanes = (size_t)lanes;
    self->grain = (size_t)((grain + lanes - 1) / lanes * lanes);
    self->small = (size_t)rounded - (size_t)rounded * 3 / 8;
    self->small = self->small > self->grain / 16 ? self->small : self->grain / 16; /* no piece is shorter */
    self->format = (char)format;
    self->itemsize = format == 'd' ? 8 : 4;
    self->packed = packed;
    self->checks = checks;
    self->stream = (general_t)stream;
    atomic_init(&self->scratch, NULL);
    self->sizes = PySequence_Concat(in_sizes, out_sizes);
    if (self->sizes == NULL || read_sizes(in_sizes, self->size, &self->n_in) != 0 ||
        read_sizes(out_sizes, self->size + self->n_in, &self->n_out) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    for (Py_ssize_t k = 0; k < self->n_out; k++) {
        bytes += (size_t)(self->size[self->n_in + k] * self->itemsize);
    }
    self->vast = VAST_BYTES / (bytes > 0 ? bytes : 1) + 1;
    self->large = cached_bytes() / (bytes > 0 ? bytes : 1) + 1;
    return (PyObject *)self;
}

static void entry_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(atomic_load(&((Entry *)object)->scratch));
    Py_XDECREF(((Entry *)object)->sizes);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef entry_methods[] = {
    {"run", (PyCFunction)(void (*)(void))entry_run, METH_FASTCALL,
     "run(n, inputs, outputs, threads): n states; inputs (n or 1, size), outputs (n, size), rows contiguous; "
     "packed ones (tiles, size, lanes)."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef entry_members[] = {
    {"lanes", T_PYSSIZET, offsetof(Entry, lanes), READONLY, "states a tile"},
    {"sizes", T_OBJECT_EX, offsetof(Entry, sizes), READONLY, "numbers of one state in each input, then in each output"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot entry_slots[] = {
    {Py_tp_new, entry_new},
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_methods, entry_methods},
    {Py_tp_members, entry_members},
    {Py_tp_doc, "Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain[, context, packed, stream, checks, usual]): a "
                "compiled function."},
    {0, NULL},
};

static PyType_Spec entry_spec = {
    .name = "condyle.runtime._native.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = entry_slots,
};
