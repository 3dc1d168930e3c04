/* Arrays that lie on a GPU, as they describe themselves, and launches of kernels on them. `runtime.cuda.arrays` checks them:
 * here an array can only refuse, by an exception. */
#define DL_CUDA 2
#define DL_CUDA_MANAGED 13

#if PY_VERSION_HEX >= 0x030D0000
#define optional_attribute PyObject_GetOptionalAttr
#define dict_item PyDict_GetItemRef
#else
#define optional_attribute _PyObject_LookupAttr
static int dict_item(PyObject *dict, PyObject *key, PyObject **item)
{
    *item = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    return *item != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}
#endif

/* Of an array; what a list of arrays has a list of. A layout: shape, strides in bytes or None, number type, read-only. */
enum { ADDRESS, LAYOUT, DEVICE, STREAM, FACTS };
/* Of `__cuda_array_interface__`. */
enum { DATA, SHAPE, TYPESTR, REQUIRED, STRIDES = REQUIRED, ORIGIN, KEYS };

static struct {
    PyObject *facts[FACTS], *keys[KEYS];
    PyObject *dlpack, *where, *interface, *launch;
    PyObject *single, *twice; /* number types: float32, float64 */
    PyObject *stream, *stream_and_version, *version; /* keywords of `__dlpack__`, and the newest version */
    PyObject *to_borrow; /* the layout of an array that has not been borrowed yet */
    PyObject *zero, *unit;
} gpu_names;

static int name_gpu_things(void)
{
    static const char *facts[] = {"address", "layout", "device", "stream"};
    static const char *keys[] = {"data", "shape", "typestr", "strides", "stream"};
    int missing = 0;
    if (gpu_names.to_borrow != NULL) {
        return 0;
    }
    for (int k = 0; k < FACTS; k++) {
        missing |= (gpu_names.facts[k] = PyUnicode_InternFromString(facts[k])) == NULL;
    }
    for (int k = 0; k < KEYS; k++) {
        missing |= (gpu_names.keys[k] = PyUnicode_InternFromString(keys[k])) == NULL;
    }
    missing |= (gpu_names.dlpack = PyUnicode_InternFromString("__dlpack__")) == NULL;
    missing |= (gpu_names.where = PyUnicode_InternFromString("__dlpack_device__")) == NULL;
    missing |= (gpu_names.interface = PyUnicode_InternFromString("__cuda_array_interface__")) == NULL;
    missing |= (gpu_names.single = PyUnicode_InternFromString("<f4")) == NULL;
    missing |= (gpu_names.twice = PyUnicode_InternFromString("<f8")) == NULL;
    missing |= (gpu_names.launch = PyUnicode_InternFromString("cuLaunchKernel")) == NULL;
    missing |= (gpu_names.stream = Py_BuildValue("(O)", gpu_names.facts[STREAM])) == NULL;
    missing |= (gpu_names.stream_and_version =
                    Py_BuildValue("(ON)", gpu_names.facts[STREAM], PyUnicode_InternFromString("max_version"))) == NULL;
    missing |= (gpu_names.version = Py_BuildValue("(ii)", 1, 0)) == NULL;
    missing |= (gpu_names.zero = PyLong_FromLong(0)) == NULL;
    missing |= (gpu_names.unit = PyLong_FromLong(1)) == NULL;
    missing |= (gpu_names.to_borrow = Py_BuildValue("(()OsO)", Py_None, "", Py_False)) == NULL;
    return missing ? -1 : 0;
}

/* The exception that was raised, without its traceback, which would hold all arrays; NULL if it is to end the call. */
static PyObject *refusal(void)
{
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyException_SetTraceback(value, Py_None);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

/* A tuple of `count` objects, whose references it takes; NULL if any of them is. */
static PyObject *tuple_with(PyObject *const *objects, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t k = 0; k < count; k++) {
        if (tuple != NULL && objects[k] != NULL) {
            PyTuple_SET_ITEM(tuple, k, objects[k]);
        } else {
            Py_XDECREF(objects[k]);
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

#include "dlpack.h"

/* A tuple of Python's integers. */
static PyObject *integers(PyObject *sequence)
{
    PyObject *tuple = PySequence_Tuple(sequence), *converted;
    Py_ssize_t k = 0, count = tuple == NULL ? 0 : PyTuple_GET_SIZE(tuple);
    while (k < count && PyLong_CheckExact(PyTuple_GET_ITEM(tuple, k))) {
        k++;
    }
    if (k == count) {
        return tuple;
    }
    converted = PyTuple_New(count);
    for (k = 0; converted != NULL && k < count; k++) {
        PyObject *number = PyNumber_Index(PyTuple_GET_ITEM(tuple, k));
        if (number == NULL) {
            Py_CLEAR(converted);
        } else {
            PyTuple_SET_ITEM(converted, k, number);
        }
    }
    Py_DECREF(tuple);
    return converted;
}

/* A number of 64 bits, 0 for None. */
static PyObject *handle_of(PyObject *value)
{
    const int truth = PyObject_IsTrue(value);
    PyObject *number = truth < 0 ? NULL : truth ? PyNumber_Long(value) : Py_NewRef(gpu_names.zero);
    if (number != NULL && PyLong_AsUnsignedLongLong(number) == (unsigned long long)-1 && PyErr_Occurred()) {
        Py_CLEAR(number);
    }
    return number;
}

/* The stream as the driver numbers it; None where there is none. */
static PyObject *origin_of(PyObject *value)
{
    PyObject *number = value == Py_None ? Py_NewRef(Py_None) : handle_of(value);
    if (number != NULL && number != Py_None && PyLong_AsUnsignedLongLong(number) == 1) {
        Py_SETREF(number, Py_NewRef(gpu_names.zero));
    }
    return number;
}

/* Fills in facts from the entries of the interface. -1 with an exception. */
static int read_interface(PyObject *const *entries, PyObject **facts)
{
    PyObject *pair = PySequence_Tuple(entries[DATA]), *layout[4];
    int read_only;
    if (pair == NULL || PyTuple_GET_SIZE(pair) != 2) {
        if (pair != NULL) {
            PyErr_SetString(PyExc_ValueError, "data is not an address and a flag");
        }
        Py_XDECREF(pair);
        return -1;
    }
    read_only = PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1));
    facts[ADDRESS] = read_only < 0 ? NULL : handle_of(PyTuple_GET_ITEM(pair, 0));
    Py_DECREF(pair);
    facts[STREAM] = facts[ADDRESS] == NULL ? NULL : origin_of(entries[ORIGIN]);
    layout[0] = facts[STREAM] == NULL ? NULL : integers(entries[SHAPE]);
    layout[1] = layout[0] == NULL               ? NULL
                : entries[STRIDES] == Py_None ? Py_NewRef(Py_None)
                                              : integers(entries[STRIDES]);
    layout[2] = layout[1] == NULL ? NULL : PyObject_Str(entries[TYPESTR]);
    layout[3] = layout[2] == NULL ? NULL : PyBool_FromLong(read_only);
    facts[LAYOUT] = tuple_with(layout, 4);
    return facts[LAYOUT] == NULL ? -1 : 0;
}

static int describe_by_interface(PyObject *interface, PyObject **facts)
{
    PyObject *entries[KEYS] = {NULL};
    PyObject *dict = PyDict_CheckExact(interface) ? Py_NewRef(interface)
                                                  : PyObject_CallOneArg((PyObject *)&PyDict_Type, interface);
    int status = dict == NULL ? -1 : 0;
    for (int k = 0; k < KEYS && status == 0; k++) {
        status = dict_item(dict, gpu_names.keys[k], &entries[k]);
        if (status == 0 && k < REQUIRED) {
            PyErr_SetObject(PyExc_KeyError, gpu_names.keys[k]);
            status = -1;
        } else if (status == 0) {
            entries[k] = Py_NewRef(Py_None);
        }
        status = status < 0 ? -1 : 0;
    }
    status = status != 0 ? -1 : read_interface(entries, facts);
    for (int k = 0; k < KEYS; k++) {
        Py_XDECREF(entries[k]);
    }
    Py_XDECREF(dict);
    return status;
}

/* Whether an array lends itself by DLPack from a GPU; -1 with an exception. */
static int lends(PyObject *array)
{
    PyObject *method, *where, *type;
    Py_ssize_t number;
    int status = optional_attribute(array, gpu_names.where, &method);
    if (status <= 0) {
        return status;
    }
    where = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    type = where == NULL ? NULL : PySequence_GetItem(where, 0);
    Py_XDECREF(where);
    number = type == NULL ? -1 : PyNumber_AsSsize_t(type, NULL);
    Py_XDECREF(type);
    return PyErr_Occurred() ? -1 : number == DL_CUDA || number == DL_CUDA_MANAGED;
}

/* Fills in what an array says; no layout for what does not lie on a GPU. 1 if it is still to be borrowed. */
static int describe(PyObject *array, PyObject *arrays_of_ours, PyObject **facts)
{
    PyObject *interface;
    int status = Py_IS_TYPE(array, (PyTypeObject *)arrays_of_ours) ? 1 : PyObject_IsInstance(array, arrays_of_ours);
    if (status > 0) {
        for (int k = 0; k < FACTS; k++) {
            facts[k] = PyObject_GetAttr(array, gpu_names.facts[k]);
            status = facts[k] == NULL ? -1 : status;
        }
        return status < 0 ? -1 : 0;
    }
    if (status < 0 || PyArray_Check(array)) {
        return status;
    }
    status = lends(array);
    if (status != 0) {
        facts[LAYOUT] = status < 0 ? NULL : Py_NewRef(gpu_names.to_borrow);
        return status;
    }
    status = optional_attribute(array, gpu_names.interface, &interface);
    if (status > 0) {
        status = interface == Py_None ? 0 : describe_by_interface(interface, facts);
        Py_DECREF(interface);
    }
    return status;
}

/* The same with an exception as the layout of what refuses. -1 if it is to end the call. */
static int describe_or_refuse(PyObject *array, PyObject *arrays_of_ours, PyObject **facts)
{
    int status = describe(array, arrays_of_ours, facts);
    if (status < 0) {
        for (int k = 0; k < FACTS; k++) {
            Py_CLEAR(facts[k]);
        }
        facts[LAYOUT] = refusal();
        status = facts[LAYOUT] == NULL ? -1 : 0;
    }
    for (int k = 0; k < FACTS; k++) {
        facts[k] = facts[k] != NULL ? facts[k] : Py_NewRef(k == ADDRESS ? gpu_names.zero : Py_None);
    }
    return status;
}

/* describe(arrays, type of ours): lists of addresses, layouts, devices, streams, and of the numbers of those to borrow. */
static PyObject *module_describe(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t argument_count)
{
    const Py_ssize_t count = argument_count == 2 && PyTuple_CheckExact(args[0]) ? PyTuple_GET_SIZE(args[0]) : -1;
    PyObject *lists[FACTS + 1] = {NULL}, *lenders;
    int status = 0;
    if (count < 0) {
        PyErr_SetString(PyExc_TypeError, "describe(arrays, type)");
        return NULL;
    }
    for (int k = 0; k <= FACTS; k++) {
        lists[k] = PyList_New(k < FACTS ? count : 0);
        status |= lists[k] == NULL ? -1 : 0;
    }
    lenders = lists[FACTS];
    for (Py_ssize_t k = 0; status == 0 && k < count; k++) {
        PyObject *facts[FACTS] = {NULL};
        status = describe_or_refuse(PyTuple_GET_ITEM(args[0], k), args[1], facts);
        for (int fact = 0; fact < FACTS; fact++) {
            PyList_SET_ITEM(lists[fact], k, facts[fact]);
        }
        if (status > 0) {
            PyObject *number = PyLong_FromSsize_t(k);
            status = number == NULL ? -1 : PyList_Append(lenders, number);
            Py_XDECREF(number);
        }
    }
    if (status != 0) {
        Py_CLEAR(lists[0]);
    }
    return tuple_with(lists, FACTS + 1);
}

/* A parameter: a number, or (port, value): the address of `port` plus the value, or, if port is -1, the value. */
static int read_parameter(PyObject *value, PyObject *addresses, uint64_t *to)
{
    Py_ssize_t port;
    if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2) {
        port = PyLong_AsSsize_t(PyTuple_GET_ITEM(value, 0));
        if (port >= PyList_GET_SIZE(addresses)) {
            PyErr_SetString(PyExc_IndexError, "launch: a parameter is of no array");
        }
        *to = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(value, 1));
        *to += PyErr_Occurred() || port < 0 ? 0 : PyLong_AsUnsignedLongLong(PyList_GET_ITEM(addresses, port));
    } else {
        *to = PyLong_AsUnsignedLongLong(value);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The driver is called by `driver("cuLaunchKernel", ...)`, and reads the parameters before it returns. */
static PyObject *launch(PyObject *const *args, PyObject *values, PyObject *addresses)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(values);
    uint64_t *numbers = PyMem_Malloc((size_t)(count + 1) * 2 * sizeof *numbers);
    void **places;
    PyObject *unit = gpu_names.unit, *place = NULL, *answer = NULL;
    int status = 0;
    if (numbers == NULL) {
        return PyErr_NoMemory();
    }
    places = (void **)(numbers + count);
    for (Py_ssize_t k = 0; k < count && status == 0; k++) {
        status = read_parameter(PyTuple_GET_ITEM(values, k), addresses, &numbers[k]);
        places[k] = &numbers[k]; /* those of 32 bits are read from its lower half */
    }
    place = status == 0 ? PyLong_FromVoidPtr(places) : NULL;
    if (place != NULL) {
        PyObject *asked[] = {gpu_names.launch, args[1], args[2], unit,  unit, args[3], unit, unit, args[4], args[5],
                             place,            gpu_names.zero};
        answer = PyObject_Vectorcall(args[0], asked, sizeof asked / sizeof *asked, NULL);
    }
    Py_XDECREF(place);
    PyMem_Free(numbers);
    return answer;
}

/* launch(driver, function, grid, block, shared bytes, stream, values, addresses) */
static PyObject *module_launch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 8 || !PyTuple_CheckExact(args[6]) || !PyList_CheckExact(args[7])) {
        PyErr_SetString(PyExc_TypeError, "launch(driver, function, grid, block, shared_bytes, stream, values, addresses)");
        return NULL;
    }
    return launch(args, args[6], args[7]);
}
