/* The arrays for results: the caller's, or new ones. Small result arrays without other references are used again, which
 * costs less than to free and allocate arrays.
 *
 * A function keeps its last two small results, since a caller's variable refers to one until the next is assigned. One is
 * used again if its reference count says that only the function has it, if it has no weak references, and if its shape and
 * memory are unchanged. */

#define RECYCLED_BYTES LARGE_BYTES

#ifndef Py_GIL_DISABLED
static int is_ours(PyObject *object, const Function *self, int k, const Batch *batch)
{
    const Port *port = &self->port[self->n_in + self->takes_f_ext + k];
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE | NPY_ARRAY_OWNDATA;
    return Py_REFCNT(object) == 1 && fits(self, object, port, batch, flags) &&
           ((PyArrayObject_fields *)object)->weakreflist == NULL && PyArray_BASE((PyArrayObject *)object) == NULL;
}

/* A result that can be used again, as a new reference, with its arrays borrowed in `arrays`; NULL if there is none. */
static PyObject *recycled(const Function *self, const Batch *batch, PyObject **arrays)
{
    for (int which = 0; which < 2; which++) {
        PyObject *answer = self->kept[which];
        int fine = answer != NULL && Py_REFCNT(answer) == 1;
        for (int k = 0; fine && k < self->n_out; k++) {
            arrays[k] = self->result == NULL ? answer : PyTuple_GET_ITEM(answer, k);
            fine = is_ours(arrays[k], self, k, batch);
        }
        if (fine) {
            return Py_NewRef(answer);
        }
    }
    return NULL;
}

static void keep(Function *self, PyObject *answer, const Batch *batch)
{
    npy_intp bytes = 0;
    for (int k = 0; k < self->n_out; k++) {
        bytes += batch->n * self->port[self->n_in + self->takes_f_ext + k].size * 8;
    }
    if (bytes <= RECYCLED_BYTES) {
        self->oldest ^= 1;
        Py_XSETREF(self->kept[self->oldest], Py_NewRef(answer));
    }
}
#else
static PyObject *recycled(const Function *self, const Batch *batch, PyObject **arrays)
{
    (void)self, (void)batch, (void)arrays;
    return NULL; /* a reference count says nothing about other threads */
}

static void keep(Function *self, PyObject *answer, const Batch *batch)
{
    (void)self, (void)answer, (void)batch;
}
#endif

static void place_output(Job *job, int k, PyObject *array, const Batch *batch)
{
    const Py_ssize_t port = job->self->n_in + k;
    job->base[port] = PyArray_BYTES((PyArrayObject *)array);
    job->stride[port] = batch->n == 1 ? 0 : job->self->size[port];
}

/* Whether the job may write to output k; its array is placed in the job. */
static int placed(const Function *self, Job *job, int k, PyObject *array, const Batch *batch)
{
    const Py_ssize_t port = job->self->n_in + k;
    if (array == NULL) {
        return 0;
    }
    place_output(job, k, array, batch);
    for (Py_ssize_t other = 0; other < port; other++) {
        if (overlap(job, port, other)) {
            return 0;
        }
    }
    return 1;
}

/* The caller's own arrays as a result: a new reference to `out` if the method would return it. NULL without an exception
 * if the Python method must handle the call. */
static PyObject *own_answer(const Function *self, PyObject *out, const Batch *batch, Job *job)
{
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    PyObject *results[MAX_PORTS];
    int taken = 0, fine = 1;
    if (self->n_out == 1 && PyArray_CheckExact(out)) { /* the common case, quickly: the caller holds the array */
        fine = fits(self, out, &self->port[self->n_in + self->takes_f_ext], batch, flags);
        return fine && placed(self, job, 0, out, batch) ? Py_NewRef(out) : NULL;
    }
    while (fine && taken < self->n_out) {
        results[taken] = own_output(self, out, taken, batch);
        fine = placed(self, job, taken, results[taken], batch);
        taken++;
    }
    if (fine && Py_TYPE(out) != (PyTypeObject *)self->result) {
        return pack(self, results);
    }
    while (taken > 0) {
        Py_XDECREF(results[--taken]);
    }
    return fine ? Py_NewRef(out) : NULL; /* the caller's named tuple, which keeps the arrays */
}

/* New arrays, or arrays used again, as a result; NULL without an exception if the Python method must handle the call. */
static PyObject *fresh_answer(Function *self, const Batch *batch, Job *job)
{
    PyObject *results[MAX_PORTS], *answer = recycled(self, batch, results);
    int made = 0;
    if (answer == NULL) {
        while (made < self->n_out && (results[made] = fresh_output(self, made, batch)) != NULL) {
            made++;
        }
        if (made < self->n_out) {
            while (made > 0) {
                Py_DECREF(results[--made]);
            }
            return NULL;
        }
    }
    for (int k = 0; k < self->n_out; k++) {
        place_output(job, k, results[k], batch);
    }
    if (answer == NULL) {
        answer = pack(self, results);
        if (answer != NULL) {
            keep(self, answer, batch);
        }
    }
    return answer;
}
