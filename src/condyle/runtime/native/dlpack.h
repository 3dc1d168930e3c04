/* DLPack (dmlc.github.io/dlpack): arrays of other libraries lent to us, and ours lent to them, without a copy. Whatever a
 * tensor says, no memory is read but what DLPack promises to be there. */
#define DL_FLOAT 2
#define DL_READ_ONLY 1
#define DL_MOST_DIMS 64
#define DL_PLAIN "dltensor"
#define DL_VERSIONED "dltensor_versioned"

typedef struct {
    int32_t type, number;
} DlDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DlNumber;

/* Strides count entries, none at all is C order. */
typedef struct {
    void *data;
    DlDevice device;
    int32_t ndim;
    DlNumber number;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DlTensor;

typedef struct DlManaged {
    DlTensor tensor;
    void *context;
    void (*deleter)(struct DlManaged *);
} DlManaged;

typedef struct DlManagedVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DlManagedVersioned *);
    uint64_t flags;
    DlTensor tensor;
} DlManagedVersioned;

/* The number type: as NumPy writes it, or in words. */
static PyObject *number_type(DlNumber number)
{
    static const char *const kinds[] = {"int", "uint", "float", NULL, "bfloat", "complex", "bool"};
    const char *name = number.code < sizeof kinds / sizeof *kinds ? kinds[number.code] : NULL;
    char kind[24], lanes[16] = "";
    if (number.code == DL_FLOAT && number.lanes == 1) {
        return number.bits == 32   ? Py_NewRef(gpu_names.single)
               : number.bits == 64 ? Py_NewRef(gpu_names.twice)
                                   : PyUnicode_FromFormat("<f%d", number.bits / 8);
    }
    PyOS_snprintf(kind, sizeof kind, "kind %d of ", number.code);
    if (number.lanes != 1) {
        PyOS_snprintf(lanes, sizeof lanes, " x %d", number.lanes);
    }
    return PyUnicode_FromFormat("%s%d%s", name == NULL ? kind : name, number.bits, lanes);
}

/* A tuple of `count` numbers times `factor`. */
static PyObject *tuple_of(const int64_t *numbers, int32_t count, int64_t factor)
{
    PyObject *tuple = PyTuple_New(count);
    for (int32_t k = 0; tuple != NULL && k < count; k++) {
        int64_t product;
        PyObject *number;
        if (__builtin_mul_overflow(numbers[k], factor, &product)) {
            product = INT64_MAX; /* a stride of no array */
        }
        number = PyLong_FromLongLong(product);
        if (number == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, k, number);
        }
    }
    return tuple;
}

/* (address, layout, device, capsule); no device for an address of which the driver must be asked. */
static PyObject *read_tensor(const DlTensor *tensor, int read_only, PyObject *capsule)
{
    const uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    if (tensor->ndim < 0 || tensor->ndim > DL_MOST_DIMS || (tensor->ndim > 0 && tensor->shape == NULL)) {
        return PyErr_Format(PyExc_BufferError, "its DLPack tensor has ndim %d, expected 0 to %d, and a shape",
                            (int)tensor->ndim, DL_MOST_DIMS);
    }
    PyObject *layout[] = {
        tuple_of(tensor->shape, tensor->ndim, 1),
        tensor->strides == NULL ? Py_NewRef(Py_None)
                                : tuple_of(tensor->strides, tensor->ndim, tensor->number.bits / 8),
        number_type(tensor->number),
        PyBool_FromLong(read_only),
    };
    PyObject *answer[] = {
        PyLong_FromUnsignedLongLong(address),
        tuple_with(layout, 4),
        tensor->data == NULL ? Py_NewRef(Py_None) : PyLong_FromLong(tensor->device.number),
        Py_NewRef(capsule),
    };
    return tuple_with(answer, 4);
}

static PyObject *refuse_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule); /* or its error: it is no capsule */
    PyObject *errors, *error, *shown;
    if (name == NULL && PyErr_Occurred()) {
        return NULL;
    }
    errors = PyImport_ImportModule("condyle.errors");
    error = errors == NULL ? NULL : PyObject_GetAttrString(errors, "DTypeError");
    shown = name == NULL ? Py_NewRef(Py_None) : PyBytes_FromString(name);
    if (error != NULL && shown != NULL) {
        PyErr_Format(error, "a DLPack capsule named %R: expected b'" DL_PLAIN "' or b'" DL_VERSIONED "', not used before",
                     shown);
    }
    Py_XDECREF(errors), Py_XDECREF(error), Py_XDECREF(shown);
    return NULL;
}

static PyObject *read_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, DL_VERSIONED)) {
        const DlManagedVersioned *managed = PyCapsule_GetPointer(capsule, DL_VERSIONED);
        if (managed->major != 1) { /* the rest is of a form that we do not know */
            return PyErr_Format(PyExc_BufferError, "it speaks version %u of DLPack, expected 1", managed->major);
        }
        return read_tensor(&managed->tensor, (managed->flags & DL_READ_ONLY) != 0, capsule);
    }
    if (PyCapsule_IsValid(capsule, DL_PLAIN)) {
        return read_tensor(&((const DlManaged *)PyCapsule_GetPointer(capsule, DL_PLAIN))->tensor, 0, capsule);
    }
    return refuse_capsule(capsule);
}

static PyObject *borrow(PyObject *array, PyObject *stream)
{
    PyObject *arguments[] = {array, stream, gpu_names.version}, *capsule, *answer, *type, *value, *trace;
    capsule = PyObject_VectorcallMethod(gpu_names.dlpack, arguments, 1, gpu_names.stream_and_version);
    if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) { /* older than DLPack 1.0 */
        PyErr_Clear();
        capsule = PyObject_VectorcallMethod(gpu_names.dlpack, arguments, 1, gpu_names.stream);
    }
    if (capsule == NULL) {
        return NULL;
    }
    answer = read_capsule(capsule);
    PyErr_Fetch(&type, &value, &trace); /* what ends a capsule may be Python code */
    Py_DECREF(capsule);
    PyErr_Restore(type, value, trace);
    return answer;
}

/* borrow(array, stream): what the array is, with an exception as the layout of one that refuses. The last entry is its
 * capsule, which ends when it is let go of, and calls its deleter then, as nobody renamed it. */
static PyObject *module_borrow(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    PyObject *answer = NULL, *layout;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "borrow(array, stream)");
        return NULL;
    }
    answer = borrow(args[0], args[1]);
    layout = answer == NULL ? refusal() : NULL;
    return layout == NULL ? answer : Py_BuildValue("(iNOO)", 0, layout, Py_None, Py_None);
}

/* An array of ours that is lent: the owner lives until the borrower is done. */
typedef struct {
    PyObject *owner;
    union {
        DlManaged plain;
        DlManagedVersioned versioned;
    } managed;
    int64_t shape[DL_MOST_DIMS], strides[DL_MOST_DIMS];
} Loan;

/* Borrowers may call it without the GIL, and while the process is ending: then the owner stays. */
static void end_loan(Loan *loan)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(loan->owner);
        PyGILState_Release(state);
        free(loan);
    }
}

static void delete_plain(DlManaged *managed)
{
    end_loan(managed->context);
}

static void delete_versioned(DlManagedVersioned *managed)
{
    end_loan(managed->context);
}

/* The end of a capsule: whoever took the array has renamed it. */
static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, DL_PLAIN)) {
        delete_plain(PyCapsule_GetPointer(capsule, DL_PLAIN));
    } else if (PyCapsule_IsValid(capsule, DL_VERSIONED)) {
        delete_versioned(PyCapsule_GetPointer(capsule, DL_VERSIONED));
    }
}

/* Fills in a dense shape. -1 with an exception. */
static int set_shape(Loan *loan, PyObject *shape)
{
    uint64_t step = 1;
    if (PyTuple_GET_SIZE(shape) > DL_MOST_DIMS) {
        PyErr_Format(PyExc_BufferError, "DLPack lends arrays of up to %d dimensions", DL_MOST_DIMS);
        return -1;
    }
    for (Py_ssize_t k = PyTuple_GET_SIZE(shape) - 1; k >= 0; k--) {
        loan->shape[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, k));
        loan->strides[k] = (int64_t)step;
        step *= (uint64_t)loan->shape[k];
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* lend(owner, address, shape, bits, device, versioned): a capsule of a dense array of floats on a GPU. */
static PyObject *module_lend(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *owner, *shape, *capsule;
    unsigned long long address;
    int bits, device, versioned;
    Loan *loan;
    if (!PyArg_ParseTuple(args, "OKO!iip", &owner, &address, &PyTuple_Type, &shape, &bits, &device, &versioned)) {
        return NULL;
    }
    loan = calloc(1, sizeof *loan);
    if (loan == NULL) {
        return PyErr_NoMemory();
    }
    const DlTensor tensor = {
        .data = (void *)(uintptr_t)address,
        .device = {DL_CUDA, device},
        .ndim = (int32_t)PyTuple_GET_SIZE(shape),
        .number = {DL_FLOAT, (uint8_t)bits, 1},
        .shape = loan->shape,
        .strides = loan->strides,
    };
    if (versioned) {
        loan->managed.versioned =
            (DlManagedVersioned){.major = 1, .context = loan, .deleter = delete_versioned, .tensor = tensor};
    } else {
        loan->managed.plain = (DlManaged){.context = loan, .deleter = delete_plain, .tensor = tensor};
    }
    capsule = set_shape(loan, shape) != 0 ? NULL
                                          : PyCapsule_New(&loan->managed, versioned ? DL_VERSIONED : DL_PLAIN, end_capsule);
    if (capsule == NULL) {
        free(loan);
        return NULL;
    }
    loan->owner = Py_NewRef(owner);
    return capsule;
}
