/* Counts operands in memory and cache misses of the workspace: see traffic() of allocate.py. */
#define LINE 64
#define MOST_SETS 1024
#define MOST_WAYS 32

/* Moves a line to the front of its cache set; whether it was missing. */
static int touch(int64_t *kept, int ways, int64_t line)
{
    int k = 0;
    while (k < ways - 1 && kept[k] != line) {
        k++;
    }
    const int missing = kept[k] != line;
    memmove(kept + 1, kept, (size_t)k * sizeof *kept);
    kept[0] = line;
    return missing;
}

static PyObject *traffic(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const int B = 3; /* the place of an instruction's last operand */
    PyObject *code;
    int64_t *near, reads = 0, misses = 0;
    int slot_bytes, sets, ways;
    if (!PyArg_ParseTuple(args, "O!iii", &PyList_Type, &code, &slot_bytes, &sets, &ways)) {
        return NULL;
    }
    if (slot_bytes < 1 || sets < 1 || sets > MOST_SETS || ways < 1 || ways > MOST_WAYS) {
        PyErr_SetString(PyExc_ValueError, "traffic: an argument is out of range");
        return NULL;
    }
    near = malloc((size_t)sets * (size_t)ways * sizeof *near);
    if (near == NULL) {
        return PyErr_NoMemory();
    }
    for (int k = 0; k < sets * ways; k++) {
        near[k] = -1;
    }
    for (int again = 0; again < 2; again++) {
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(code); k++) {
            PyObject *const one = PyList_GET_ITEM(code, k);
            const int64_t b = PyTuple_Check(one) && PyTuple_GET_SIZE(one) > B ? PyLong_AsLongLong(PyTuple_GET_ITEM(one, B)) : 0;
            reads += again && (b < 0 || b >= SLOT);
            if (b >= SLOT) {
                const int64_t line = (b - SLOT) * slot_bytes / LINE;
                misses += touch(near + line % sets * ways, ways, line) && again;
            }
        }
    }
    free(near);
    return PyErr_Occurred() ? NULL : Py_BuildValue("(LL)", (long long)reads, (long long)misses);
}
