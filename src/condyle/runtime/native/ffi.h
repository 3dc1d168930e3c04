/* The door for XLA: a handler of its foreign function interface that calls entries by number, without Python.
 *
 * The structures are those of XLA's C interface, version 0.1, as far as they are used; later versions only append. */
#define FFI_MAJOR 0
#define FFI_MINOR 1
#define FFI_F32 11
#define FFI_F64 12
#define FFI_S64 5
#define FFI_METADATA 1
#define FFI_SCALAR 3

enum { FFI_INVALID_ARGUMENT = 3, FFI_EXHAUSTED = 8, FFI_PRECONDITION = 9, FFI_INTERNAL = 13 };

typedef struct FfiExtension {
    size_t struct_size;
    int type;
    struct FfiExtension *next;
} FfiExtension;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    int major, minor;
} FfiVersion;

typedef struct {
    FfiExtension base;
    struct {
        size_t struct_size;
        FfiVersion version;
        uint32_t traits;
    } *metadata;
} FfiMetadata;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} FfiBuffer;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    int64_t count;
    int *types;
    FfiBuffer **buffers;
} FfiBuffers;

typedef struct {
    const char *text;
    size_t length;
} FfiText;

typedef struct {
    int dtype;
    void *value;
} FfiScalar;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    int64_t count;
    int *types;
    FfiText **names;
    void **values;
} FfiAttributes;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    const char *message;
    int code;
} FfiErrorArguments;

typedef struct FfiError FfiError;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    FfiVersion version;
    const void *internal;
    FfiError *(*new_error)(FfiErrorArguments *);
} FfiApi;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    const FfiApi *api;
    void *context;
    int stage;
    FfiBuffers inputs, outputs;
    FfiAttributes attributes;
} FfiFrame;

/* Entries that a program of XLA may call, by number; they stay as long as the process. */
typedef struct {
    int64_t number;
    Entry *entry, *single; /* single: instead for one state alone; may be NULL */
} Exported;

static struct {
    Exported *rows;
    size_t count, room;
} exported; /* under exported_lock */

static int find_exported(int64_t number, Exported *found)
{
    int known = 0;
    pthread_mutex_lock(&exported_lock);
    for (size_t k = exported.count; k-- > 0 && !known;) {
        if (exported.rows[k].number == number) {
            *found = exported.rows[k];
            known = 1;
        }
    }
    pthread_mutex_unlock(&exported_lock);
    return known;
}

static FfiError *ffi_error(const FfiFrame *frame, int code, const char *message)
{
    FfiErrorArguments args = {sizeof args, NULL, message, code};
    return frame->api->new_error(&args);
}

static int ffi_number(const FfiAttributes *given, const char *name, int64_t *value)
{
    for (int64_t k = 0; k < given->count; k++) {
        const FfiText *text = given->names[k];
        const FfiScalar *scalar = given->values[k];
        if (given->types[k] == FFI_SCALAR && text->length == strlen(name) &&
            memcmp(text->text, name, text->length) == 0 && scalar->dtype == FFI_S64) {
            *value = *(const int64_t *)scalar->value;
            return 1;
        }
    }
    return 0;
}

/* Rows of `size` numbers in a buffer; -1 where it has another type or no whole rows. */
static int64_t ffi_rows(const FfiBuffer *buffer, Py_ssize_t size, char format)
{
    int64_t numbers = 1;
    if (buffer->dtype != (format == 'd' ? FFI_F64 : FFI_F32)) {
        return -1;
    }
    for (int64_t k = 0; k < buffer->rank; k++) {
        numbers *= buffer->dims[k];
    }
    return size == 0 ? (numbers == 0 ? 1 : -1) : numbers % size == 0 ? numbers / size : -1;
}

/* Bases and strides of a job; 0 where a buffer does not fit. */
static int ffi_bind(Job *job, const Entry *self, const FfiFrame *frame, int64_t n)
{
    for (Py_ssize_t port = 0; port < self->n_in + self->n_out; port++) {
        const int output = port >= self->n_in;
        const FfiBuffer *buffer = (output ? frame->outputs.buffers : frame->inputs.buffers)[output ? port - self->n_in : port];
        const int64_t rows = ffi_rows(buffer, self->size[port], self->format);
        if (rows != n && (output || rows != 1) && self->size[port] != 0) {
            return 0;
        }
        job->base[port] = buffer->data;
        job->stride[port] = rows == 1 && !output ? 0 : self->size[port];
    }
    return 1;
}

static FfiError *ffi_run(const FfiFrame *frame, Entry *self, int64_t n, int64_t threads)
{
    Job job;
    void *work;
    start_job(&job, self, (size_t)n);
    if (!ffi_bind(&job, self, frame, n)) {
        return ffi_error(frame, FFI_INVALID_ARGUMENT, "condyle: the arrays do not fit the function");
    }
    work = take_scratch(self);
    if (work == NULL) {
        return ffi_error(frame, FFI_EXHAUSTED, "condyle: no memory for a workspace");
    }
    if (job.n <= self->brief) {
        run_piece(&job, 0, job.n, work);
    } else {
        run_job(&job, work, (Py_ssize_t)threads);
    }
    give_scratch(self, work);
    return atomic_load(&job.status) == 0 ? NULL : ffi_error(frame, FFI_INTERNAL, "condyle: the compiled function failed");
}

static FfiError *ffi_call(FfiFrame *frame)
{
    int64_t number, threads, n;
    Exported found;
    if (frame->extension != NULL && frame->extension->type == FFI_METADATA) {
        FfiMetadata *asked = (FfiMetadata *)frame->extension;
        asked->metadata->version.major = FFI_MAJOR;
        asked->metadata->version.minor = FFI_MINOR;
        asked->metadata->traits = 0;
        return NULL;
    }
    if (!ffi_number(&frame->attributes, "number", &number) || !ffi_number(&frame->attributes, "threads", &threads) ||
        !find_exported(number, &found)) {
        return ffi_error(frame, FFI_PRECONDITION,
                         "condyle: this process has not loaded the function: trace it here, by condyle.interop.jax.wrap");
    }
    if (frame->inputs.count != found.entry->n_in || frame->outputs.count != found.entry->n_out ||
        found.entry->n_out == 0) {
        return ffi_error(frame, FFI_INVALID_ARGUMENT, "condyle: the arrays do not fit the function");
    }
    n = ffi_rows(frame->outputs.buffers[0], found.entry->size[found.entry->n_in], found.entry->format);
    if (n < 0) {
        return ffi_error(frame, FFI_INVALID_ARGUMENT, "condyle: the arrays do not fit the function");
    }
    return n == 0 ? NULL : ffi_run(frame, n == 1 && found.single != NULL ? found.single : found.entry, n, threads);
}

static PyObject *module_export(PyObject *Py_UNUSED(module), PyObject *args)
{
    long long number;
    PyObject *entry, *single;
    Exported *rows;
    if (!PyArg_ParseTuple(args, "LO!O", &number, entry_type, &entry, &single)) {
        return NULL;
    }
    if (single != Py_None && !PyObject_TypeCheck(single, entry_type)) {
        PyErr_SetString(PyExc_TypeError, "export(number, entry, single): single is an Entry or None");
        return NULL;
    }
    pthread_mutex_lock(&exported_lock);
    if (exported.count == exported.room) {
        rows = realloc(exported.rows, (2 * exported.room + 16) * sizeof *rows);
        if (rows == NULL) {
            pthread_mutex_unlock(&exported_lock);
            return PyErr_NoMemory();
        }
        exported.rows = rows;
        exported.room = 2 * exported.room + 16;
    }
    exported.rows[exported.count].number = number;
    exported.rows[exported.count].entry = (Entry *)entry;
    exported.rows[exported.count++].single = single == Py_None ? NULL : (Entry *)single;
    pthread_mutex_unlock(&exported_lock);
    Py_INCREF(entry); /* for ever: a program of XLA may call it at any time */
    Py_INCREF(single);
    Py_RETURN_NONE;
}

static PyObject *module_xla_handler(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyCapsule_New((void *)(uintptr_t)ffi_call, "xla._CUSTOM_CALL_TARGET", NULL);
}
