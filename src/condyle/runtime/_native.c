/* The one native piece: calls compiled entries on batches of states, without the GIL, on several threads.
 *
 * Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain[, context]) cuts n states into pieces of at most
 * `grain`; the calling thread and the workers of one pool take pieces until none is left. Function is what a user calls:
 * it looks at the arguments, runs plain arrays at once and hands every other call to the Python method it stands for.
 * Large fresh outputs live in blocks that are kept when they are freed: getting pages from the system costs more than
 * filling them. Scheduled is a job on one problem: entries in order. Arrays on a GPU are read and given to kernels there. */
#include "native/common.h"
#include "native/pieces.h"
#include "native/pool.h"
#include "native/entry.h"
#include "native/blocks.h"
#include "native/packed.h"
#include "native/function.h"
#include "native/scheduled.h"
#include "native/ffi.h"
#include "native/ffi_entries.h"
#include "native/ffi_launches.h"
#include "native/gpu_arrays.h"

#include "module.h"

/* Sets how many workers there may be, unless it is negative; how many there are. */
static PyObject *module_workers(PyObject *Py_UNUSED(module), PyObject *limit)
{
    const long wanted = PyLong_AsLong(limit);
    int workers;
    if (wanted == -1 && PyErr_Occurred()) {
        return NULL;
    }
    pthread_mutex_lock(&pool.lock);
    if (wanted >= 0) {
        pool.limit = wanted < MAX_THREADS ? (int)wanted : MAX_THREADS;
    }
    workers = pool.workers;
    pthread_mutex_unlock(&pool.lock);
    return PyLong_FromLong(workers);
}

static PyObject *module_empty(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArray_Dims shape = {NULL, 0};
    PyArray_Descr *dtype;
    PyObject *array = NULL;
    npy_intp bytes;
    if (!PyArg_ParseTuple(args, "O&O!", PyArray_IntpConverter, &shape, &PyArrayDescr_Type, &dtype)) {
        goto done;
    }
    bytes = dtype->type == 'd' ? 8 : 4;
    for (int k = 0; k < shape.len; k++) {
        bytes = shape.ptr[k] == 0 || bytes > NPY_MAX_INTP / shape.ptr[k] ? 0 : bytes * shape.ptr[k];
    }
    array = new_array(dtype, shape.len, shape.ptr, bytes);
done:
    PyDimMem_FREE(shape.ptr);
    return array;
}

static PyMethodDef module_methods[] = {
    {"borrow", (PyCFunction)(void (*)(void))module_borrow, METH_FASTCALL,
     "borrow(array, stream): (address, layout, device, holder) of an array that lends itself by DLPack."},
    {"describe", (PyCFunction)(void (*)(void))module_describe, METH_FASTCALL,
     "describe(arrays, type): lists of addresses, layouts, devices, streams; numbers of those to borrow."},
    {"lend", module_lend, METH_VARARGS,
     "lend(owner, address, shape, bits, device, versioned): a DLPack capsule of a dense array of floats on a GPU."},
    {"launch", (PyCFunction)(void (*)(void))module_launch, METH_FASTCALL,
     "launch(driver, function, grid, block, shared_bytes, stream, values, addresses): puts a kernel in a stream."},
    {"export", module_export, METH_VARARGS, "export(number, entry, single): what XLA calls by this number, for ever."},
    {"export_tape", module_export_tape, METH_VARARGS,
     "export_tape(number, forward, its single, backward, its single, steps, ((port, entries), ...)): a rollout's vjp."},
    {"export_launches", module_export_launches, METH_VARARGS,
     "export_launches(number, context, device, format, scratch, inputs, counts, launches): what XLA puts in a stream."},
    {"open_gpu_driver", module_open_gpu_driver, METH_VARARGS, "open_gpu_driver(path): the library that launches."},
    {"explain_unknown", module_explain_unknown, METH_O,
     "explain_unknown(function): function(identity) says in what a function that is not here differs from others."},
    {"xla_gpu_handler", module_xla_gpu_handler, METH_NOARGS, "xla_gpu_handler(): the same for platform CUDA."},
    {"xla_handler", module_xla_handler, METH_NOARGS, "xla_handler(): a capsule for jax.ffi.register_ffi_target."},
    {"empty", module_empty, METH_VARARGS, "empty(shape, dtype): numpy.empty, in used memory if large."},
    {"workers", module_workers, METH_O, "workers(limit): how many there are; a limit >= 0 holds from now on."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    static int forks_are_watched;
    import_array1(-1);
    if (!forks_are_watched) {
        kept.limit = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE);
        if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
            PyErr_NoMemory();
            return -1;
        }
        forks_are_watched = 1;
    }
    if (block_capsule == NULL) {
        block_capsule = PyCapsule_New(&block_handler, "mem_handler", NULL);
    }
    if (block_capsule == NULL || name_gpu_things() != 0 || add_type(module, "Entry", &entry_spec, &entry_type) != 0 ||
        add_type(module, "PackedBase", &packed_spec, &packed_base) != 0 ||
        add_type(module, "Scheduled", &scheduled_spec, NULL) != 0) {
        return -1;
    }
    return add_type(module, "Function", &function_spec, NULL);
}

MODULE(_native, "Calls compiled functions on batches of states.", module_methods)
