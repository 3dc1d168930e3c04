/* XLA's handler for a GPU: it puts kernels into XLA's stream, on XLA's own buffers. It does not wait, allocate or copy, so
 * XLA may capture it into a graph. The driver is opened at run time. */

/* A parameter of a kernel: the address of buffer `port` plus `value` bytes, or, if port is -1, the number `value`. */
typedef struct {
    int64_t port;
    uint64_t value;
} Parameter;

typedef struct {
    void *function;
    unsigned grid, block, shared;
    size_t first, count; /* of its parameters */
} Launch;

/* All launches of one function for one number of states. Buffers: inputs, answers, scratch in bytes if there is any. */
typedef struct {
    void *context;
    int64_t device;
    Py_ssize_t n_buffers, n_in, n_launches, n_parameters;
    int types[2 * MAX_PORTS + 1];
    int64_t counts[2 * MAX_PORTS + 1];
    Launch *launches;
    Parameter *parameters;
} Launches;

static Exported exported_launches;

/* Functions of the driver, by the names of the current header. */
static struct {
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **parameters, void **extra);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*context_of)(void *stream, void **context);
    int (*name_of)(int status, const char **name);
} gpu_driver;

static int resolve(void *library, const char *name, void *place)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        PyErr_Format(PyExc_OSError, "the GPU's driver has no %s", name);
        return -1;
    }
    memcpy(place, &found, sizeof found);
    return 0;
}

static PyObject *module_open_gpu_driver(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *path;
    void *library;
    if (!PyArg_ParseTuple(args, "s", &path)) {
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* never closed: kernels are launched through it */
    if (library == NULL) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return NULL;
    }
    if (resolve(library, "cuLaunchKernel", &gpu_driver.launch) != 0 ||
        resolve(library, "cuCtxPushCurrent_v2", &gpu_driver.push) != 0 ||
        resolve(library, "cuCtxPopCurrent_v2", &gpu_driver.pop) != 0 ||
        resolve(library, "cuStreamGetCtx", &gpu_driver.context_of) != 0 ||
        resolve(library, "cuGetErrorName", &gpu_driver.name_of) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static FfiError *gpu_error(const FfiFrame *frame, const char *what, int status)
{
    const char *name = NULL;
    char message[160];
    gpu_driver.name_of(status, &name);
    PyOS_snprintf(message, sizeof message, "condyle: %s: %s", what, name == NULL ? "an unknown error of CUDA" : name);
    return ffi_error(frame, FFI_INTERNAL, message);
}

static const FfiBuffer *gpu_buffer(const FfiFrame *frame, int64_t port)
{
    return port < frame->inputs.count ? frame->inputs.buffers[port] : frame->outputs.buffers[port - frame->inputs.count];
}

static int gpu_fits(const FfiFrame *frame, const Launches *of)
{
    int fits = frame->inputs.count == of->n_in && frame->outputs.count == of->n_buffers - of->n_in;
    for (int64_t port = 0; fits && port < of->n_buffers; port++) {
        const FfiBuffer *buffer = gpu_buffer(frame, port);
        fits = buffer->dtype == of->types[port] && ffi_count(buffer) == of->counts[port];
    }
    return fits;
}

/* Launches in order; gives the first status that is not 0. values, places: memory for the parameters of the longest one. */
static int gpu_launch(const FfiFrame *frame, const Launches *of, void *stream, uint64_t *values, void **places)
{
    int status = 0;
    for (Py_ssize_t k = 0; k < of->n_launches && status == 0; k++) {
        const Launch *one = &of->launches[k];
        for (size_t p = 0; p < one->count; p++) {
            const Parameter *given = &of->parameters[one->first + p];
            const uint64_t base = given->port < 0 ? 0 : (uint64_t)(uintptr_t)gpu_buffer(frame, given->port)->data;
            values[p] = base + given->value; /* those of 32 bits are read from its lower half */
            places[p] = &values[p];
        }
        status = gpu_driver.launch(one->function, one->grid, 1, 1, one->block, 1, 1, one->shared, stream, places, NULL);
    }
    return status;
}

static FfiError *gpu_run(const FfiFrame *frame, const Launches *of, void *stream)
{
    uint64_t values[MAX_PARAMETERS];
    void *places[MAX_PARAMETERS], *context = NULL;
    int status = gpu_driver.context_of(stream, &context);
    if (status != 0) {
        return gpu_error(frame, "cuStreamGetCtx", status);
    }
    if (context != of->context) {
        char message[200];
        PyOS_snprintf(message, sizeof message,
                      "condyle: these functions are compiled for GPU %d and the arrays lie on another one: put them there, "
                      "or compile(target=\"cuda\", device=...)", (int)of->device);
        return ffi_error(frame, FFI_PRECONDITION, message);
    }
    status = gpu_driver.push(of->context);
    if (status != 0) {
        return gpu_error(frame, "cuCtxPushCurrent", status);
    }
    status = gpu_launch(frame, of, stream, values, places);
    gpu_driver.pop(&context);
    return status == 0 ? NULL : gpu_error(frame, "cuLaunchKernel", status);
}

static FfiError *gpu_call(FfiFrame *frame)
{
    int64_t number;
    const Launches *of = NULL;
    FfiStreamArguments asked = {sizeof asked, NULL, frame->context, NULL};
    FfiError *error;
    if (ffi_introduced(frame, FFI_CAPTURED)) {
        return NULL;
    }
    if (ffi_number(&frame->attributes, "number", &number)) {
        of = find_exported(&exported_launches, number);
    }
    if (of == NULL) {
        return ffi_unknown(frame);
    }
    if (!gpu_fits(frame, of)) {
        return ffi_unfit(frame);
    }
    error = frame->api->get_stream(&asked);
    return error != NULL ? error : gpu_run(frame, of, asked.stream);
}

/* Fills the launches: (function, grid, block, shared, ((port, value), ...)) each. -1 with an exception. */
static int read_launches(PyObject *given, Launches *to)
{
    for (Py_ssize_t k = 0; k < to->n_launches; k++) {
        Launch *one = &to->launches[k];
        unsigned long long function;
        PyObject *values;
        Parameter *grown;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, k), "KIIIO!", &function, &one->grid, &one->block, &one->shared,
                              &PyTuple_Type, &values)) {
            return -1;
        }
        one->function = (void *)(uintptr_t)function;
        one->first = (size_t)to->n_parameters;
        one->count = (size_t)PyTuple_GET_SIZE(values);
        if (one->count > MAX_PARAMETERS) {
            PyErr_SetString(PyExc_ValueError, "export_launches: too many parameters");
            return -1;
        }
        grown = realloc(to->parameters, (one->first + one->count + 1) * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        to->parameters = grown;
        for (size_t p = 0; p < one->count; p++) {
            long long port;
            unsigned long long value;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(values, p), "LK", &port, &value)) {
                return -1;
            }
            if (port < -1 || port >= to->n_buffers) {
                PyErr_SetString(PyExc_ValueError, "export_launches: a parameter is of no buffer");
                return -1;
            }
            grown[one->first + p] = (Parameter){port, value};
        }
        to->n_parameters += (Py_ssize_t)one->count;
    }
    return 0;
}

static int read_counts(PyObject *counts, int scratch, char format, Launches *to)
{
    to->n_buffers = PyTuple_GET_SIZE(counts);
    if (to->n_buffers > 2 * MAX_PORTS + 1 || to->n_in < 0 || to->n_in > to->n_buffers) {
        PyErr_SetString(PyExc_ValueError, "export_launches: too many arrays");
        return -1;
    }
    for (Py_ssize_t port = 0; port < to->n_buffers; port++) {
        to->types[port] = scratch && port == to->n_buffers - 1 ? FFI_U8 : ffi_type(format);
        to->counts[port] = PyLong_AsLongLong(PyTuple_GET_ITEM(counts, port));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static void free_launches(Launches *of)
{
    free(of->launches);
    free(of->parameters);
    free(of);
}

static PyObject *module_export_launches(PyObject *Py_UNUSED(module), PyObject *args)
{
    long long number, device;
    unsigned long long context;
    int format, scratch;
    PyObject *counts, *launches;
    Launches *of = calloc(1, sizeof *of);
    if (of == NULL) {
        return PyErr_NoMemory();
    }
    if (!PyArg_ParseTuple(args, "LKLCpnO!O!", &number, &context, &device, &format, &scratch, &of->n_in, &PyTuple_Type,
                          &counts, &PyTuple_Type, &launches) ||
        read_counts(counts, scratch, (char)format, of) != 0) {
        free_launches(of);
        return NULL;
    }
    if (gpu_driver.launch == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "export_launches: open_gpu_driver comes first");
        free_launches(of);
        return NULL;
    }
    of->context = (void *)(uintptr_t)context;
    of->device = device;
    of->n_launches = PyTuple_GET_SIZE(launches);
    of->launches = calloc((size_t)of->n_launches + 1, sizeof *of->launches);
    if (of->launches == NULL) {
        PyErr_NoMemory();
    }
    if (of->launches == NULL || read_launches(launches, of) != 0 || add_exported(&exported_launches, number, of) != 0) {
        free_launches(of);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *module_xla_gpu_handler(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyCapsule_New((void *)(uintptr_t)gpu_call, "xla._CUSTOM_CALL_TARGET", NULL);
}
