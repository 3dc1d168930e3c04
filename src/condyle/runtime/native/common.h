/* Shared definitions: entries, jobs, the state of the pool and of the kept blocks, and the handling of forks. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WARN_ON_WRITE ((int)0x80000000u) /* what numpy.broadcast_arrays sets; NumPy has no public name for it */
#define MAX_PORTS 64 /* inputs, and outputs: MOST_PORTS in native.py */
#define MAX_DIMS 4
#define MAX_PARAMETERS 256 /* of a kernel on a GPU */
#define MAX_THREADS 256
#define STACK_BYTES (1 << 20)
#define PACKED_IN 1
#define PACKED_OUT 2
#define CACHE_PART 8 /* results of more than this part of the last cache, or of CACHE_LEAST bytes, are streamed */
#define CACHE_LEAST (4 << 20)
#define VAST_BYTES (256 << 20)
#define SIGNALS_NS 50000000 /* how often a long call looks for signals */
#define SPIN_NS 60000
#define SPIN_BATCH 32
#define LARGE_BYTES (64 << 10) /* from here on, fresh outputs come from the kept blocks */
#define BLOCK_STEP (64 << 10)
#define BLOCK_HEAD 64
#define HUGE_BYTES (4 << 20)
#define TAPE_BYTES (1 << 20) /* of states that a gradient keeps for each thread: TAPE of compile/kernels/composed.py */
#define MANY_BYTES (256 << 20) /* kept pages beyond these are offered to the system, which costs page by page */

typedef int (*entry_t)(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                       const ptrdiff_t *out_stride, void *work);
typedef int (*general_t)(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                         const ptrdiff_t *out_stride, void *work, const void *context);

#include "quaternions.h"

typedef struct {
    PyObject_HEAD
    entry_t entry;
    general_t general; /* instead of entry where there is a context: one driver for many functions */
    general_t stream;  /* instead of general for results that outgrow the caches; NULL: the same */
    const void *context;
    int packed; /* PACKED_IN, PACKED_OUT: those arrays are (tiles, size, lanes) */
    int checks;  /* whether it checks quaternions of rows itself, and answers NOT_UNIT */
    size_t large; /* from so many states on, stream */
    size_t vast;  /* from so many states on, the method makes fresh results: it looks whether there is memory */
    size_t work;
    size_t lanes;
    size_t grain; /* states of the largest piece */
    size_t small; /* up to here one thread is quicker */
    size_t brief; /* so few states that releasing the GIL is not worth it */
    Py_ssize_t itemsize;
    char format;
    Py_ssize_t n_in, n_out;
    Py_ssize_t size[2 * MAX_PORTS];
    PyObject *sizes; /* the same as a tuple */
    _Atomic(void *) scratch; /* one workspace kept between calls; whoever takes it owns it */
} Entry;

typedef struct Job {
    const Entry *self;
    const Quaternions *quaternions; /* those that are looked at; NULL: none */
    general_t general;
    size_t n, unit;                    /* states, and how many of them are dealt out together */
    uint64_t units, shortest, longest; /* of all states, and of a piece */
    size_t sharers;                    /* threads that may take pieces */
    char *base[2 * MAX_PORTS];
    ptrdiff_t stride[2 * MAX_PORTS]; /* in elements; 0: one row for every state */
    double number[MAX_PORTS];        /* of inputs that were given as a Python float; of narrower types the first bytes */
    _Atomic uint64_t taken; /* units: at the front, and at the back in the upper 32 bits */
    atomic_int status;
    atomic_int running; /* workers in it */
    PyThreadState *caller; /* while it does not hold the GIL; NULL for one that is no thread of Python's */
    int open;           /* workers that may still join */
    int posted;         /* whether it is in the list, and workers may be in it */
    unsigned process;   /* that of the pool when it was posted */
    struct Job *following;
} Job;

/* The thread pool: workers are detached, run until the process ends, and never call Python. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted, left;
    Job *jobs;         /* those that may want workers; each is on the stack of its caller */
    atomic_uint posts; /* how many were ever posted: idle workers watch it */
    int workers, spinning, sleeping, waiting;
    int limit; /* of workers; -1: not looked up yet */
    unsigned process; /* forks between the first process and this one */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .limit = -1};

typedef struct Block {
    size_t bytes; /* of the mapping, this header included */
    struct Block *older;
    int offered; /* while it is kept */
} Block;

static struct {
    pthread_mutex_t lock;
    Block *newest;
    size_t bytes, limit, held; /* held: the part whose pages were not offered to the system */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t exported_lock = PTHREAD_MUTEX_INITIALIZER; /* of what XLA calls: see ffi.h */

/* Forks hold the locks, so that the lists are consistent in the child. The child has no workers and starts its own. */
static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
    pthread_mutex_lock(&kept.lock);
    pthread_mutex_lock(&exported_lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&exported_lock);
    pthread_mutex_unlock(&kept.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void after_fork_in_child(void)
{
    pthread_cond_init(&pool.posted, NULL); /* the old ones remember threads that are not here */
    pthread_cond_init(&pool.left, NULL);
    pool.jobs = NULL;
    pool.process++; /* a job of the thread that forked sees by this that its workers are not here: see adopt */
    pool.workers = pool.spinning = pool.sleeping = pool.waiting = 0;
    pool.limit = -1;
    pthread_mutex_unlock(&exported_lock);
    pthread_mutex_unlock(&kept.lock);
    pthread_mutex_unlock(&pool.lock);
}
