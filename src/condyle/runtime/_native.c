/* The one native piece: call a compiled entry on a batch, without the GIL, on several threads.
 *
 * Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain[, context]) checks the buffers of every call, cuts n states
 * into pieces of `grain` and lets threads take pieces until none is left; the calling thread takes its share. Threads
 * live for one call, so nothing survives a fork and nothing has to be torn down. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_PORTS 32
#define MAX_THREADS 256
#define STACK_BYTES (1 << 20)

typedef int (*entry_t)(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                       const ptrdiff_t *out_stride, void *work);
typedef int (*general_t)(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                         const ptrdiff_t *out_stride, void *work, const void *context);

typedef struct {
    PyObject_HEAD
    entry_t entry;
    general_t general; /* instead of entry where there is a context: one driver for many functions */
    const void *context;
    size_t work;
    size_t grain;
    Py_ssize_t itemsize;
    char format;
    Py_ssize_t n_in, n_out;
    Py_ssize_t size[2 * MAX_PORTS];
    _Atomic(void *) scratch; /* one workspace kept between calls; whoever takes it owns it */
} Entry;

typedef struct {
    Entry *self;
    size_t n;
    char *base[2 * MAX_PORTS];
    ptrdiff_t stride[2 * MAX_PORTS]; /* in elements; 0: one row for every state */
    atomic_size_t next;
    atomic_int status;
} Job;

static void *take_scratch(Entry *self)
{
    void *kept = atomic_exchange(&self->scratch, NULL);
    if (kept != NULL) {
        return kept;
    }
    return posix_memalign(&kept, 64, self->work) == 0 ? kept : NULL;
}

static void give_scratch(Entry *self, void *work)
{
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&self->scratch, &none, work)) {
        free(work);
    }
}

static void work_on(Job *job, void *work)
{
    Entry *self = job->self;
    const ptrdiff_t *stride = job->stride;
    const Py_ssize_t ports = self->n_in + self->n_out;
    void *at[2 * MAX_PORTS];
    for (;;) {
        const size_t start = atomic_fetch_add(&job->next, self->grain);
        size_t count;
        int status;
        if (start >= job->n) {
            return;
        }
        count = job->n - start < self->grain ? job->n - start : self->grain;
        for (Py_ssize_t k = 0; k < ports; k++) {
            at[k] = job->base[k] + (ptrdiff_t)start * stride[k] * self->itemsize;
        }
        status = self->general != NULL ? self->general(count, (const void *const *)at, stride, at + self->n_in,
                                                       stride + self->n_in, work, self->context)
                                       : self->entry(count, (const void *const *)at, stride, at + self->n_in,
                                                     stride + self->n_in, work);
        if (status != 0) {
            atomic_store(&job->status, status);
        }
    }
}

static void *thread_main(void *argument)
{
    Job *job = argument;
    void *work = take_scratch(job->self);
    if (work != NULL) { /* without memory the other threads do this one's share */
        work_on(job, work);
        give_scratch(job->self, work);
    }
    return NULL;
}

/* Starts up to `count` helpers; fewer when the system refuses. Signals stay with the Python threads. */
static int start_threads(Job *job, pthread_t *threads, int count)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int started = 0;
    if (count <= 0 || pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count && pthread_create(&threads[started], &attributes, thread_main, job) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void run_job(Job *job, void *work, Py_ssize_t threads)
{
    pthread_t others[MAX_THREADS];
    const size_t pieces = (job->n - 1) / job->self->grain + 1;
    size_t wanted = threads < 1 ? 1 : (size_t)threads;
    int started;
    wanted = wanted > pieces ? pieces : wanted;
    wanted = wanted > MAX_THREADS ? MAX_THREADS : wanted;
    started = start_threads(job, others, (int)wanted - 1);
    work_on(job, work);
    while (started > 0) {
        pthread_join(others[--started], NULL);
    }
}

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

/* Takes and checks the buffers of one sequence; *taken counts those to release. */
static int take_views(const Entry *self, PyObject *arrays, Job *job, Py_buffer *views, Py_ssize_t *taken, int output)
{
    const Py_ssize_t count = output ? self->n_out : self->n_in;
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (output ? PyBUF_WRITABLE : 0);
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
        if (check_view(self, view, (Py_ssize_t)job->n, port) != 0) {
            goto done;
        }
        job->base[port] = view->buf;
        job->stride[port] = view->shape[0] == 1 ? 0 : view->strides[0] / self->itemsize;
    }
    status = 0;
done:
    Py_DECREF(fast);
    return status;
}

static int run_views(Entry *self, Job *job, Py_ssize_t threads)
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
    Py_BEGIN_ALLOW_THREADS
    run_job(job, work, threads);
    Py_END_ALLOW_THREADS
    give_scratch(self, work);
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
    job.self = self;
    job.n = (size_t)n;
    atomic_init(&job.next, 0);
    atomic_init(&job.status, 0);
    if (take_views(self, args[1], &job, views, &taken, 0) == 0 &&
        take_views(self, args[2], &job, views, &taken, 1) == 0) {
        status = run_views(self, &job, threads);
    }
    while (taken > 0) {
        PyBuffer_Release(&views[--taken]);
    }
    if (status != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Whether a view is a user's array as it should be: C order, the port's own dimensions, behind them at most one batch
 * dimension. The first port sets the batch; the others must have the same. */
static int fits(const Entry *self, const Py_buffer *view, PyObject *dims, int *batched, Py_ssize_t *n)
{
    const Py_ssize_t own = PyTuple_GET_SIZE(dims);
    const char *format = view->format == NULL ? "B" : view->format;
    if (view->itemsize != self->itemsize || format[0] != self->format || format[1] != '\0') {
        return 0;
    }
    if (*batched < 0) {
        *batched = view->ndim == own + 1;
        *n = *batched ? view->shape[0] : 1;
    }
    if (view->ndim != own + *batched || (*batched && view->shape[0] != *n)) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < own; k++) {
        if (view->shape[*batched + k] != PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, k))) {
            return 0;
        }
    }
    return (uintptr_t)view->buf % (uintptr_t)self->itemsize == 0;
}

static int overlap(const Py_buffer *a, const Py_buffer *b)
{
    const char *p = a->buf, *q = b->buf;
    return p < q + b->len && q < p + a->len;
}

/* Takes the buffers of a direct call; 1 if all fit and no output lies over another array, else 0 without an error. */
static int take_direct(Entry *self, PyObject *const *args, Job *job, Py_buffer *views, Py_ssize_t *taken)
{
    const Py_ssize_t ports = self->n_in + self->n_out;
    int batched = -1;
    Py_ssize_t n = 0;
    if (!PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]) ||
        PyTuple_GET_SIZE(args[0]) != self->n_in || PyTuple_GET_SIZE(args[1]) != self->n_out ||
        PyTuple_GET_SIZE(args[2]) != ports) {
        return 0;
    }
    for (Py_ssize_t port = 0; port < ports; port++) {
        const int output = port >= self->n_in;
        PyObject *array = output ? PyTuple_GET_ITEM(args[1], port - self->n_in) : PyTuple_GET_ITEM(args[0], port);
        PyObject *dims = PyTuple_GET_ITEM(args[2], port);
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (output ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(array, &views[port], flags) != 0) {
            PyErr_Clear();
            return 0;
        }
        ++*taken;
        if (!PyTuple_Check(dims) || !fits(self, &views[port], dims, &batched, &n)) {
            return 0;
        }
        for (Py_ssize_t other = 0; output && other < port; other++) {
            if (overlap(&views[port], &views[other])) {
                return 0;
            }
        }
        job->base[port] = views[port].buf;
        job->stride[port] = n == 1 ? 0 : self->size[port];
    }
    job->n = (size_t)n;
    return n > 0;
}

/* The common case in one step: True if it ran, False if the arrays want the full treatment. */
static PyObject *entry_direct(PyObject *object, PyObject *const *args, Py_ssize_t n_args)
{
    Entry *self = (Entry *)object;
    Py_buffer views[2 * MAX_PORTS];
    Py_ssize_t taken = 0, threads;
    Job job;
    int status = 0, direct;
    if (n_args != 4) {
        PyErr_SetString(PyExc_TypeError, "direct(inputs, outputs, dims, threads) takes 4 arguments");
        return NULL;
    }
    threads = PyLong_AsSsize_t(args[3]);
    if (threads == -1 && PyErr_Occurred()) {
        return NULL;
    }
    job.self = self;
    atomic_init(&job.next, 0);
    atomic_init(&job.status, 0);
    direct = take_direct(self, args, &job, views, &taken);
    if (direct) {
        status = run_views(self, &job, threads);
    }
    while (taken > 0) {
        PyBuffer_Release(&views[--taken]);
    }
    if (status != 0 || PyErr_Occurred()) {
        return NULL;
    }
    return PyBool_FromLong(direct);
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

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t address, work, lanes, grain, context = 0;
    int format;
    PyObject *in_sizes, *out_sizes;
    Entry *self;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Entry takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "nnnCO!O!n|n", &address, &work, &lanes, &format, &PyTuple_Type, &in_sizes,
                          &PyTuple_Type, &out_sizes, &grain, &context)) {
        return NULL;
    }
    if (address == 0 || work < 0 || lanes < 1 || grain < 1 || grain > PY_SSIZE_T_MAX / 4 || lanes > 1024 ||
        (format != 'd' && format != 'f')) {
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
    self->grain = (size_t)((grain + lanes - 1) / lanes * lanes);
    self->format = (char)format;
    self->itemsize = format == 'd' ? 8 : 4;
    atomic_init(&self->scratch, NULL);
    if (read_sizes(in_sizes, self->size, &self->n_in) != 0 ||
        read_sizes(out_sizes, self->size + self->n_in, &self->n_out) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void entry_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(atomic_load(&((Entry *)object)->scratch));
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef entry_methods[] = {
    {"run", (PyCFunction)(void (*)(void))entry_run, METH_FASTCALL,
     "run(n, inputs, outputs, threads): n states; inputs (n or 1, size), outputs (n, size), rows contiguous."},
    {"direct", (PyCFunction)(void (*)(void))entry_direct, METH_FASTCALL,
     "direct(inputs, outputs, dims, threads): run if all arrays are plain (n, *dims) or (*dims); whether it did."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot entry_slots[] = {
    {Py_tp_new, entry_new},
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_methods, entry_methods},
    {Py_tp_doc, "Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain[, context]): a compiled function."},
    {0, NULL},
};

static PyType_Spec entry_spec = {
    .name = "condyle.runtime._native.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = entry_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&entry_spec);
    int status;
    if (type == NULL) {
        return -1;
    }
    status = PyModule_AddObjectRef(module, "Entry", type);
    Py_DECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_MOD_GIL_NOT_USED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Calls compiled functions on batches of states.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module_def);
}
