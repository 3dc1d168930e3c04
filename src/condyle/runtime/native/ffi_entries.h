/* XLA's handler for the processor: it calls entries by number, in XLA's thread. */

/* The vjp of a rollout: for some rollouts at a time forward, which stores the states, then backward; see
 * compile/repeated.GradientKernel, which does the same on arrays. */
typedef struct {
    Entry *forward, *forward_single; /* NULL where one step is all */
    size_t steps;
    Py_ssize_t n_carried, port[MAX_PORTS];
    size_t width[MAX_PORTS]; /* entries of a state, by what is carried */
    size_t bytes;            /* of the states of one rollout */
} Tape;

typedef struct {
    Entry *entry, *single; /* single: instead for one state alone; may be NULL */
    Tape *tape;            /* before the entry, which then runs backward; may be NULL */
} Called;

static Exported exported_entries;

/* The number of rows of `size` numbers in a buffer; -1 if it has another type, or no whole number of rows. */
static int64_t ffi_rows(const FfiBuffer *buffer, Py_ssize_t size, char format)
{
    const int64_t numbers = ffi_count(buffer);
    if (buffer->dtype != ffi_type(format)) {
        return -1;
    }
    return size == 0 ? (numbers == 0 ? 1 : -1) : numbers % size == 0 ? numbers / size : -1;
}

/* Entries of a row of a port, as XLA has it: states are one row before the first step. */
static Py_ssize_t row_size(const Called *called, Py_ssize_t port)
{
    const Tape *tape = called->tape;
    for (Py_ssize_t k = 0; tape != NULL && k < tape->n_carried; k++) {
        if (tape->port[k] == port) {
            return (Py_ssize_t)tape->width[k];
        }
    }
    return called->entry->size[port];
}

/* Bases and strides of a job; 0 where a buffer does not fit. */
static int ffi_bind(Job *job, const Called *called, const FfiFrame *frame, int64_t n)
{
    const Entry *self = called->entry;
    for (Py_ssize_t port = 0; port < self->n_in + self->n_out; port++) {
        const int output = port >= self->n_in;
        const FfiBuffer *buffer = (output ? frame->outputs.buffers : frame->inputs.buffers)[output ? port - self->n_in : port];
        const Py_ssize_t size = row_size(called, port);
        const int64_t rows = ffi_rows(buffer, size, self->format);
        if (rows != n && (output || rows != 1) && size != 0) {
            return 0;
        }
        job->base[port] = buffer->data;
        job->stride[port] = rows == 1 && !output ? 0 : size;
    }
    return 1;
}

/* Runs a job whose bases and strides are set, and what else of it is not. */
static int ffi_job(Job *job, Entry *self, Entry *single, size_t n, int64_t threads)
{
    void *work;
    self = n == 1 && single != NULL ? single : self;
    start_job(job, self, n);
    work = take_scratch(self);
    if (work == NULL) {
        return FFI_EXHAUSTED;
    }
    if (n <= self->brief) {
        run_piece(job, 0, n, work);
    } else {
        run_job(job, work, (Py_ssize_t)threads);
    }
    give_scratch(self, work);
    return atomic_load(&job->status) == 0 ? 0 : FFI_INTERNAL;
}

/* The rollouts from `first` on, from states that lie one after the other in `states`; their first ones are set here. */
static int tape_piece(const Called *called, const Job *whole, size_t first, size_t n, char *states, int64_t threads)
{
    const Tape *tape = called->tape;
    const size_t item = (size_t)called->entry->itemsize;
    Job forward, backward;
    Py_ssize_t n_in = tape->forward != NULL ? tape->forward->n_in : 0;
    int status;
    for (Py_ssize_t port = 0; port < called->entry->n_in + called->entry->n_out; port++) {
        backward.stride[port] = whole->stride[port];
        backward.base[port] = whole->base[port] + (ptrdiff_t)(first * item) * whole->stride[port];
    }
    for (Py_ssize_t port = 0; port < n_in; port++) {
        forward.base[port] = backward.base[port];
        forward.stride[port] = backward.stride[port];
    }
    for (Py_ssize_t k = 0; k < tape->n_carried; k++) {
        const size_t width = tape->width[k], row = tape->steps * width;
        const Py_ssize_t port = tape->port[k];
        for (size_t i = 0; i < n; i++) {
            memcpy(states + i * row * item, backward.base[port] + (ptrdiff_t)(i * item) * backward.stride[port], width * item);
        }
        forward.base[n_in + k] = states + width * item;
        forward.stride[n_in + k] = (ptrdiff_t)row;
        backward.base[port] = states;
        backward.stride[port] = (ptrdiff_t)row;
        states += n * row * item;
    }
    status = tape->forward == NULL ? 0 : ffi_job(&forward, tape->forward, tape->forward_single, n, threads);
    return status != 0 ? status : ffi_job(&backward, called->entry, called->single, n, threads);
}

/* The number of rollouts at a time: at least 64, and at most so many that their states are TAPE_BYTES for each thread. */
static size_t tape_rollouts(const Tape *tape, size_t n, int64_t threads)
{
    const size_t each = tape->bytes > 0 ? tape->bytes : 1;
    const size_t most = (size_t)(threads < 1 ? 1 : threads) * TAPE_BYTES / each / 64 * 64;
    return at_most(n, most > 64 ? most : 64);
}

static int ffi_tape(const Called *called, const Job *whole, size_t n, int64_t threads)
{
    const size_t most = tape_rollouts(called->tape, n, threads), bytes = most * called->tape->bytes;
    const int large = bytes >= LARGE_BYTES; /* then in memory that was used before, if there is any */
    char *states = large ? block_malloc(NULL, bytes) : malloc(bytes > 0 ? bytes : 1);
    int status = states == NULL ? FFI_EXHAUSTED : 0;
    for (size_t first = 0; first < n && status == 0; first += most) {
        status = tape_piece(called, whole, first, at_most(n - first, most), states, threads);
    }
    if (large) {
        block_free(NULL, states, bytes);
    } else {
        free(states);
    }
    return status;
}

static FfiError *ffi_call(FfiFrame *frame)
{
    int64_t number, threads, n;
    const Called *called = NULL;
    Job job;
    int status;
    if (ffi_introduced(frame, 0)) {
        return NULL;
    }
    if (ffi_number(&frame->attributes, "number", &number) && ffi_number(&frame->attributes, "threads", &threads)) {
        called = find_exported(&exported_entries, number);
    }
    if (called == NULL) {
        return ffi_unknown(frame);
    }
    if (frame->inputs.count != called->entry->n_in || frame->outputs.count != called->entry->n_out ||
        called->entry->n_out == 0) {
        return ffi_unfit(frame);
    }
    n = ffi_rows(frame->outputs.buffers[0], called->entry->size[called->entry->n_in], called->entry->format);
    if (n < 0 || (n > 0 && !ffi_bind(&job, called, frame, n))) {
        return ffi_unfit(frame);
    }
    if (n == 0) {
        return NULL;
    }
    status = called->tape != NULL ? ffi_tape(called, &job, (size_t)n, threads)
                                  : ffi_job(&job, called->entry, called->single, (size_t)n, threads);
    return status == 0               ? NULL
           : status == FFI_EXHAUSTED ? ffi_error(frame, status, "condyle: no memory for a workspace")
                                     : ffi_error(frame, status, "condyle: the compiled function failed");
}

/* An Entry, or NULL for None; -1 with an exception for others. */
static int entry_or_none(PyObject *given, Entry **entry)
{
    if (given != Py_None && !PyObject_TypeCheck(given, entry_type)) {
        PyErr_SetString(PyExc_TypeError, "expected an Entry or None");
        return -1;
    }
    *entry = given == Py_None ? NULL : (Entry *)given;
    return 0;
}

/* Never freed: a program of XLA may call these at any time. */
static int export_called(int64_t number, Called what)
{
    Called *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *kept = what;
    if (add_exported(&exported_entries, number, kept) != 0) {
        free(kept);
        return -1;
    }
    Py_INCREF(what.entry);
    Py_XINCREF(what.single);
    return 0;
}

static PyObject *module_export(PyObject *Py_UNUSED(module), PyObject *args)
{
    long long number;
    PyObject *entry, *single;
    Called called = {NULL, NULL, NULL};
    if (!PyArg_ParseTuple(args, "LO!O", &number, entry_type, &entry, &single) ||
        entry_or_none(single, &called.single) != 0) {
        return NULL;
    }
    called.entry = (Entry *)entry;
    if (export_called(number, called) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* What is carried: pairs of a port and its entries. -1 with an exception where these are no ports of both entries. */
static int read_carried(PyObject *pairs, const Entry *backward, Tape *tape)
{
    tape->n_carried = PyTuple_GET_SIZE(pairs);
    if (tape->n_carried > MAX_PORTS || (tape->forward != NULL && tape->forward->n_out != tape->n_carried)) {
        PyErr_SetString(PyExc_ValueError, "export_tape: the way forward answers what is carried");
        return -1;
    }
    for (Py_ssize_t k = 0; k < tape->n_carried; k++) {
        Py_ssize_t port, width;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, k), "nn", &port, &width)) {
            return -1;
        }
        if (port < 0 || port >= backward->n_in || width < 0 || backward->size[port] != width * (Py_ssize_t)tape->steps ||
            (tape->forward != NULL && (port >= tape->forward->n_in || tape->forward->size[port] != width))) {
            PyErr_SetString(PyExc_ValueError, "export_tape: what is carried is an input of both ways, with its steps");
            return -1;
        }
        tape->port[k] = port;
        tape->width[k] = (size_t)width;
        tape->bytes += tape->steps * (size_t)(width * backward->itemsize);
    }
    return 0;
}

/* Whether the way forward reads no more than the way back has. */
static int belong(const Entry *forward, const Entry *backward)
{
    int fits = forward->n_in <= backward->n_in && forward->format == backward->format;
    for (Py_ssize_t port = 0; fits && port < forward->n_in; port++) {
        fits = forward->size[port] <= backward->size[port];
    }
    return fits;
}

static PyObject *module_export_tape(PyObject *Py_UNUSED(module), PyObject *args)
{
    long long number;
    Py_ssize_t steps;
    PyObject *forward, *forward_single, *backward, *single, *carried;
    Called called = {NULL, NULL, NULL};
    Tape *tape = calloc(1, sizeof *tape);
    if (tape == NULL) {
        return PyErr_NoMemory();
    }
    if (!PyArg_ParseTuple(args, "LOOO!OnO!", &number, &forward, &forward_single, entry_type, &backward, &single, &steps,
                          &PyTuple_Type, &carried) ||
        entry_or_none(forward, &tape->forward) != 0 || entry_or_none(forward_single, &tape->forward_single) != 0 ||
        entry_or_none(single, &called.single) != 0) {
        goto failed;
    }
    called.entry = (Entry *)backward;
    called.tape = tape;
    tape->steps = steps > 0 ? (size_t)steps : 1;
    if (tape->forward != NULL && !belong(tape->forward, called.entry)) {
        PyErr_SetString(PyExc_ValueError, "export_tape: the way forward reads more than the way back");
        goto failed;
    }
    if (read_carried(carried, called.entry, tape) != 0 || export_called(number, called) != 0) {
        goto failed;
    }
    Py_XINCREF(tape->forward);
    Py_XINCREF(tape->forward_single);
    Py_RETURN_NONE;
failed:
    free(tape);
    return NULL;
}

static PyObject *module_explain_unknown(PyObject *Py_UNUSED(module), PyObject *function)
{
    Py_INCREF(function);
    Py_XSETREF(explaining, function);
    Py_RETURN_NONE;
}

static PyObject *module_xla_handler(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyCapsule_New((void *)(uintptr_t)ffi_call, "xla._CUSTOM_CALL_TARGET", NULL);
}
