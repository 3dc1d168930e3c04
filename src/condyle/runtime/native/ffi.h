/* The part of XLA's foreign function interface that the handlers here use: `ffi_entries.h` calls machine code of the
 * processor, `ffi_launches.h` puts kernels into a stream of a GPU. Both find their function by a number, without Python.
 *
 * The structures are those of XLA's C interface, version 0.1, as far as they are used; later versions only append. */
#define FFI_MAJOR 0
#define FFI_MINOR 1
#define FFI_CAPTURED 1 /* trait: always the same launches, so that a graph may capture them */
#define FFI_U8 6
#define FFI_F32 11
#define FFI_F64 12
#define FFI_S64 5
#define FFI_METADATA 1
#define FFI_SCALAR 3
#define FFI_STRING 4

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
    void *context;
    void *stream;
} FfiStreamArguments;

typedef struct {
    size_t struct_size;
    FfiExtension *extension;
    FfiVersion version;
    const void *internal;
    FfiError *(*new_error)(FfiErrorArguments *);
    void *get_message, *destroy_error, *register_handler;
    FfiError *(*get_stream)(FfiStreamArguments *);
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

/* The functions that XLA's programs may call, by number; they stay until the process ends. */
typedef struct {
    struct {
        int64_t number;
        const void *code;
    } *rows;
    size_t count, room;
} Exported; /* under exported_lock */

static const void *find_exported(const Exported *list, int64_t number)
{
    const void *code = NULL;
    pthread_mutex_lock(&exported_lock);
    for (size_t k = list->count; k-- > 0 && code == NULL;) {
        if (list->rows[k].number == number) {
            code = list->rows[k].code;
        }
    }
    pthread_mutex_unlock(&exported_lock);
    return code;
}

/* -1 with an exception if there is no memory. */
static int add_exported(Exported *list, int64_t number, const void *code)
{
    void *rows = list->rows;
    pthread_mutex_lock(&exported_lock);
    if (list->count == list->room) {
        rows = realloc(list->rows, (2 * list->room + 16) * sizeof *list->rows);
        if (rows != NULL) {
            list->rows = rows;
            list->room = 2 * list->room + 16;
        }
    }
    if (rows != NULL) {
        list->rows[list->count].number = number;
        list->rows[list->count++].code = code;
    }
    pthread_mutex_unlock(&exported_lock);
    if (rows == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static int ffi_is(const FfiText *text, const char *name)
{
    return text->length == strlen(name) && memcmp(text->text, name, text->length) == 0;
}

static FfiError *ffi_error(const FfiFrame *frame, int code, const char *message)
{
    FfiErrorArguments args = {sizeof args, NULL, message, code};
    return frame->api->new_error(&args);
}

/* A function of Python that says in what a function, by its identity, differs from those that are here; or NULL. */
static PyObject *explaining;

/* Writes what Python says of the identity, which begins with ": "; nothing if it says nothing. */
static void ffi_explain(const FfiText *identity, char *said, size_t room)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = NULL;
    const char *text = NULL;
    if (explaining != NULL) {
        answer = PyObject_CallFunction(explaining, "s#", identity->text, (Py_ssize_t)identity->length);
        text = answer == NULL ? NULL : PyUnicode_AsUTF8(answer);
    }
    if (text != NULL && text[0] != '\0') {
        snprintf(said, room, ": %s", text);
    }
    PyErr_Clear();
    Py_XDECREF(answer);
    PyGILState_Release(state);
}

static FfiError *ffi_unknown(const FfiFrame *frame)
{
    const FfiAttributes *given = &frame->attributes;
    char said[512] = "", message[800];
    for (int64_t k = 0; k < given->count; k++) {
        if (given->types[k] == FFI_STRING && ffi_is(given->names[k], "identity")) {
            ffi_explain(given->values[k], said, sizeof said);
        }
    }
    snprintf(message, sizeof message,
             "condyle: this process has not loaded the function%s. Trace a call of it here first: "
             "condyle.interop.jax.wrap of the same robot with the same options",
             said);
    return ffi_error(frame, FFI_PRECONDITION, message);
}

static FfiError *ffi_unfit(const FfiFrame *frame)
{
    return ffi_error(frame, FFI_INVALID_ARGUMENT, "condyle: the arrays do not fit the function");
}

/* Answers XLA's query for the handler's metadata; whether it was one. */
static int ffi_introduced(const FfiFrame *frame, uint32_t traits)
{
    FfiMetadata *asked = (FfiMetadata *)frame->extension;
    if (asked == NULL || asked->base.type != FFI_METADATA) {
        return 0;
    }
    asked->metadata->version.major = FFI_MAJOR;
    asked->metadata->version.minor = FFI_MINOR;
    asked->metadata->traits = traits;
    return 1;
}

static int ffi_number(const FfiAttributes *given, const char *name, int64_t *value)
{
    for (int64_t k = 0; k < given->count; k++) {
        const FfiScalar *scalar = given->values[k];
        if (given->types[k] == FFI_SCALAR && ffi_is(given->names[k], name) && scalar->dtype == FFI_S64) {
            *value = *(const int64_t *)scalar->value;
            return 1;
        }
    }
    return 0;
}

static int64_t ffi_count(const FfiBuffer *buffer)
{
    int64_t numbers = 1;
    for (int64_t k = 0; k < buffer->rank; k++) {
        numbers *= buffer->dims[k];
    }
    return numbers;
}

static int ffi_type(char format)
{
    return format == 'd' ? FFI_F64 : FFI_F32;
}
