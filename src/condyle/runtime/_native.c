/* The one native piece: call a compiled entry on a batch, without the GIL, on several threads.
 *
 * Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain) cuts n states into pieces of at most `grain`;
 * the calling thread and the workers of one pool take pieces until none is left. Function is what a user calls: it
 * looks at the arguments, runs plain arrays at once and hands every other call to the Python method it stands for.
 * Large fresh outputs live in blocks that are kept when they are freed: getting pages from the system costs more than
 * filling them. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

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
#define MAX_PORTS 32
#define MAX_DIMS 4
#define MAX_THREADS 256
#define STACK_BYTES (1 << 20)
#define SPIN_NS 60000
#define SPIN_BATCH 32
#define LARGE_BYTES (64 << 10) /* from here on, fresh outputs come from the kept blocks */
#define BLOCK_STEP (64 << 10)
#define BLOCK_HEAD 64
#define HUGE_BYTES (4 << 20)
#define LAZY_BYTES HUGE_BYTES  /* from here on, kept pages are offered to the system: costly page by page */
#define MANY_BYTES (256 << 20) /* from here on, those of smaller blocks too */

typedef int (*entry_t)(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                       const ptrdiff_t *out_stride, void *work);

typedef struct {
    PyObject_HEAD
    entry_t entry;
    size_t work;
    size_t lanes;
    size_t grain; /* states of the largest piece */
    size_t small; /* up to here one thread is quicker */
    size_t brief; /* so few states that releasing the GIL is not worth it */
    Py_ssize_t itemsize;
    char format;
    Py_ssize_t n_in, n_out;
    Py_ssize_t size[2 * MAX_PORTS];
    _Atomic(void *) scratch; /* one workspace kept between calls; whoever takes it owns it */
} Entry;

typedef struct Job {
    const Entry *self;
    size_t n, piece;
    char *base[2 * MAX_PORTS];
    ptrdiff_t stride[2 * MAX_PORTS]; /* in elements; 0: one row for every state */
    atomic_size_t next;
    atomic_int status;
    atomic_int running; /* workers in it */
    int open;           /* workers that may still join */
    struct Job *following;
} Job;

/* The pool: workers that live as long as the process, detached, and never touch Python. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted, left;
    Job *jobs;         /* those that may want workers; each is on the stack of its caller */
    atomic_uint posts; /* how many were ever posted: idle workers watch it */
    int workers, spinning, sleeping, waiting;
    int limit; /* of workers; -1: not looked up yet */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .limit = -1};

typedef struct Block {
    size_t bytes; /* of the mapping, this header included */
    struct Block *older;
} Block;

static struct {
    pthread_mutex_t lock;
    Block *newest;
    size_t bytes, limit;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Forks hold the locks, so that the child finds whole lists. The child has no workers: it starts its own. */
static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
    pthread_mutex_lock(&kept.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&kept.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void after_fork_in_child(void)
{
    pthread_cond_init(&pool.posted, NULL); /* the old ones remember threads that are not here */
    pthread_cond_init(&pool.left, NULL);
    pool.jobs = NULL;
    pool.workers = pool.spinning = pool.sleeping = pool.waiting = 0;
    pool.limit = -1;
    pthread_mutex_unlock(&kept.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void *take_scratch(Entry *self)
{
    void *kept = atomic_exchange(&self->scratch, NULL);
    if (kept != NULL) {
        return kept;
    }
    return posix_memalign(&kept, 64, self->work) == 0 ? kept : NULL;
}

static void give_scratch(Entry *self, void *work)
{
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&self->scratch, &none, work)) {
        free(work);
    }
}

static void run_piece(Job *job, size_t start, size_t count, void *work)
{
    const Entry *self = job->self;
    const ptrdiff_t *stride = job->stride;
    const Py_ssize_t ports = self->n_in + self->n_out;
    void *at[2 * MAX_PORTS];
    int status;
    for (Py_ssize_t k = 0; k < ports; k++) {
        at[k] = job->base[k] + (ptrdiff_t)start * stride[k] * self->itemsize;
    }
    status = self->entry(count, (const void *const *)at, stride, at + self->n_in, stride + self->n_in, work);
    if (status != 0) {
        atomic_store(&job->status, status);
    }
}

static void work_on(Job *job, void *work)
{
    const size_t piece = job->piece;
    for (;;) {
        const size_t start = atomic_fetch_add(&job->next, piece);
        if (start >= job->n) {
            return;
        }
        run_piece(job, start, job->n - start < piece ? job->n - start : piece, work);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A short time in which a core may do something else. */
static void relax(void)
{
    for (int k = 0; k < SPIN_BATCH; k++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

/* With the lock held: the first job that has pieces left and wants one more worker; the worker is in it. */
static Job *join_job(void)
{
    for (Job *job = pool.jobs; job != NULL; job = job->following) {
        if (job->open > 0 && atomic_load(&job->next) < job->n) {
            job->open--;
            atomic_fetch_add(&job->running, 1);
            return job;
        }
    }
    return NULL;
}

/* With the lock held: wakes two workers, and those wake two each, so that no caller wakes them all. */
static void wake(const Job *job)
{
    for (int k = 0; k < 2 && job->open > pool.spinning + k && pool.sleeping > k; k++) {
        pthread_cond_signal(&pool.posted);
    }
}

/* With the lock held before and after: waits for the next post, awake for a while. */
static void idle(void)
{
    const unsigned seen = atomic_load(&pool.posts);
    int64_t end;
    pool.spinning++;
    pthread_mutex_unlock(&pool.lock);
    end = now_ns() + SPIN_NS;
    while (atomic_load_explicit(&pool.posts, memory_order_relaxed) == seen && now_ns() < end) {
        relax();
    }
    pthread_mutex_lock(&pool.lock);
    pool.spinning--;
    pool.sleeping++;
    while (atomic_load(&pool.posts) == seen) {
        pthread_cond_wait(&pool.posted, &pool.lock);
    }
    pool.sleeping--;
}

/* A workspace of at least so many bytes, kept by its worker; without memory NULL, and others do this one's share. */
static void *workspace(void **work, size_t *bytes, size_t wanted)
{
    if (wanted > *bytes) {
        free(*work);
        *bytes = 0;
        if (posix_memalign(work, 64, wanted) != 0) {
            *work = NULL;
            return NULL;
        }
        *bytes = wanted;
    }
    return *work;
}

static void *worker_main(void *unused)
{
    void *work = NULL;
    size_t bytes = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        Job *job = join_job();
        if (job == NULL) {
            idle();
            continue;
        }
        wake(job);
        pthread_mutex_unlock(&pool.lock);
        if (workspace(&work, &bytes, job->self->work) != NULL) {
            work_on(job, work);
        }
        pthread_mutex_lock(&pool.lock);
        if (atomic_fetch_sub(&job->running, 1) == 1 && pool.waiting > 0) { /* the job may be gone from here on */
            pthread_cond_broadcast(&pool.left);
        }
    }
    return unused;
}

static int spare_cores(void)
{
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
        return CPU_COUNT(&cores) - 1;
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
}

/* With the lock held: up to `count` workers, fewer when the system refuses. Signals stay with the Python threads. */
static void start_workers(int count)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    if (pool.limit < 0) {
        pool.limit = spare_cores();
    }
    count = count < pool.limit ? count : pool.limit;
    if (pool.workers >= count || pthread_attr_init(&attributes) != 0) {
        return;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < count && pthread_create(&thread, &attributes, worker_main, NULL) == 0) {
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void post(Job *job, int helpers)
{
    job->open = helpers;
    pthread_mutex_lock(&pool.lock);
    start_workers(helpers);
    job->following = pool.jobs;
    pool.jobs = job;
    atomic_fetch_add(&pool.posts, 1);
    wake(job);
    pthread_mutex_unlock(&pool.lock);
}

/* From here on no worker joins; those in it finish their last piece. */
static void retire(Job *job)
{
    Job **link = &pool.jobs;
    int64_t end;
    pthread_mutex_lock(&pool.lock);
    while (*link != job) {
        link = &(*link)->following;
    }
    *link = job->following;
    pthread_mutex_unlock(&pool.lock);
    if (atomic_load(&job->running) == 0) {
        return;
    }
    end = now_ns() + SPIN_NS;
    while (atomic_load(&job->running) != 0 && now_ns() < end) {
        relax();
    }
    pthread_mutex_lock(&pool.lock); /* a worker leaves with the lock held: it is through with the job after this */
    pool.waiting++;
    while (atomic_load(&job->running) != 0) {
        pthread_cond_wait(&pool.left, &pool.lock);
    }
    pool.waiting--;
    pthread_mutex_unlock(&pool.lock);
}

static size_t at_most(size_t value, size_t limit)
{
    return value < limit ? value : limit;
}

/* Four pieces a thread, so that none waits long for the last; not so short that taking them costs. */
static size_t piece_of(const Entry *self, size_t n, size_t threads)
{
    const size_t even = n / (4 * threads), shortest = self->grain / 4;
    const size_t piece = even < shortest ? shortest : even;
    return at_most((piece / self->lanes + 1) * self->lanes, self->grain);
}

static void run_job(Job *job, void *work, Py_ssize_t threads)
{
    size_t wanted = threads < 1 ? 1 : at_most((size_t)threads, MAX_THREADS);
    wanted = at_most(wanted, (job->n - 1) / job->self->small + 1);
    if (wanted == 1) {
        job->piece = job->self->grain;
        work_on(job, work);
        return;
    }
    job->piece = piece_of(job->self, job->n, wanted);
    post(job, (int)wanted - 1);
    work_on(job, work);
    retire(job);
}

static int check_view(const Entry *self, const Py_buffer *view, Py_ssize_t n, Py_ssize_t port)
{
    const char *format = view->format == NULL ? "B" : view->format;
    const int output = port >= self->n_in;
    const char *way = output ? "output" : "input";
    const Py_ssize_t number = output ? port - self->n_in : port;
    if (*format == '@' || *format == '=') {
        format++;
    }
    if (view->itemsize != self->itemsize || format[0] != self->format || format[1] != '\0') {
        PyErr_Format(PyExc_TypeError, "%s %zd: format '%s', expected '%c'", way, number, view->format, self->format);
        return -1;
    }
    if (view->ndim != 2 || view->shape[1] != self->size[port] ||
        !(view->shape[0] == n || (!output && view->shape[0] == 1))) {
        PyErr_Format(PyExc_ValueError, "%s %zd: expected shape (%zd, %zd)", way, number, n, self->size[port]);
        return -1;
    }
    if (n == 0 || view->shape[1] == 0) {
        return 0; /* nothing is read, and the strides of empty arrays mean nothing */
    }
    if ((view->shape[1] > 1 && view->strides[1] != self->itemsize) || view->strides[0] % self->itemsize != 0 ||
        (uintptr_t)view->buf % (uintptr_t)self->itemsize != 0) {
        PyErr_Format(PyExc_ValueError, "%s %zd: rows must be contiguous and aligned", way, number);
        return -1;
    }
    if (output && n > 1 && Py_ABS(view->strides[0]) < self->size[port] * self->itemsize) {
        PyErr_Format(PyExc_ValueError, "output %zd: its rows overlap", number);
        return -1;
    }
    return 0;
}

/* Takes and checks the buffers of one sequence; *taken counts those to release. */
static int take_views(const Entry *self, PyObject *arrays, Job *job, Py_buffer *views, Py_ssize_t *taken, int output)
{
    const Py_ssize_t count = output ? self->n_out : self->n_in;
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (output ? PyBUF_WRITABLE : 0);
    PyObject *fast = PySequence_Fast(arrays, "inputs and outputs are sequences of arrays");
    int status = -1;
    if (fast == NULL) {
        return -1;
    }
    if (PySequence_Fast_GET_SIZE(fast) != count) {
        PyErr_Format(PyExc_ValueError, "expected %zd arrays, got %zd", count, PySequence_Fast_GET_SIZE(fast));
        goto done;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        const Py_ssize_t port = *taken;
        Py_buffer *view = &views[port];
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(fast, k), view, flags) != 0) {
            goto done;
        }
        ++*taken;
        if (check_view(self, view, (Py_ssize_t)job->n, port) != 0) {
            goto done;
        }
        job->base[port] = view->buf;
        job->stride[port] = view->shape[0] == 1 ? 0 : view->strides[0] / self->itemsize;
    }
    status = 0;
done:
    Py_DECREF(fast);
    return status;
}

static void start_job(Job *job, const Entry *self, size_t n)
{
    job->self = self;
    job->n = n;
    atomic_init(&job->next, 0);
    atomic_init(&job->status, 0);
    atomic_init(&job->running, 0);
}

/* Runs a job whose bases and strides are set; -1 with an exception. */
static int run(Entry *self, Job *job, Py_ssize_t threads)
{
    void *work;
    if (job->n == 0) {
        return 0;
    }
    work = take_scratch(self);
    if (work == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (job->n <= self->brief) {
        run_piece(job, 0, job->n, work);
    } else {
        Py_BEGIN_ALLOW_THREADS
        run_job(job, work, threads);
        Py_END_ALLOW_THREADS
    }
    give_scratch(self, work);
    if (atomic_load(&job->status) != 0) {
        PyErr_Format(PyExc_RuntimeError, "the compiled function failed with status %d", atomic_load(&job->status));
        return -1;
    }
    return 0;
}

static PyObject *entry_run(PyObject *object, PyObject *const *args, Py_ssize_t n_args)
{
    Entry *self = (Entry *)object;
    Py_buffer views[2 * MAX_PORTS];
    Py_ssize_t taken = 0, n, threads;
    Job job;
    int status = -1;
    if (n_args != 4) {
        PyErr_SetString(PyExc_TypeError, "run(n, inputs, outputs, threads) takes 4 arguments");
        return NULL;
    }
    n = PyLong_AsSsize_t(args[0]);
    threads = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "n is negative");
        return NULL;
    }
    start_job(&job, self, (size_t)n);
    if (take_views(self, args[1], &job, views, &taken, 0) == 0 &&
        take_views(self, args[2], &job, views, &taken, 1) == 0) {
        status = run(self, &job, threads);
    }
    while (taken > 0) {
        PyBuffer_Release(&views[--taken]);
    }
    if (status != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int read_sizes(PyObject *sizes, Py_ssize_t *to, Py_ssize_t *count)
{
    const Py_ssize_t length = PyTuple_GET_SIZE(sizes);
    if (length > MAX_PORTS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return -1;
    }
    for (Py_ssize_t k = 0; k < length; k++) {
        to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, k));
        if (to[k] < 0 || to[k] > PY_SSIZE_T_MAX / 16) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a size is out of range");
            }
            return -1;
        }
    }
    *count = length;
    return 0;
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t address, work, lanes, grain;
    int format;
    PyObject *in_sizes, *out_sizes;
    Entry *self;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Entry takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "nnnCO!O!n", &address, &work, &lanes, &format, &PyTuple_Type, &in_sizes, &PyTuple_Type,
                          &out_sizes, &grain)) {
        return NULL;
    }
    if (address == 0 || work < 0 || lanes < 1 || grain < 1 || grain > PY_SSIZE_T_MAX / 4 || lanes > 1024 ||
        (format != 'd' && format != 'f')) {
        PyErr_SetString(PyExc_ValueError, "Entry: an argument is out of range");
        return NULL;
    }
    self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->entry = (entry_t)address;
    self->work = work == 0 ? 64 : (size_t)work;
    self->brief = (size_t)grain / 8 > 0 ? (size_t)grain / 8 : 1;
    self->small = (size_t)grain - (size_t)grain * 3 / 8;
    self->lanes = (size_t)lanes;
    self->grain = (size_t)((grain + lanes - 1) / lanes * lanes);
    self->format = (char)format;
    self->itemsize = format == 'd' ? 8 : 4;
    atomic_init(&self->scratch, NULL);
    if (read_sizes(in_sizes, self->size, &self->n_in) != 0 ||
        read_sizes(out_sizes, self->size + self->n_in, &self->n_out) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void entry_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(atomic_load(&((Entry *)object)->scratch));
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef entry_methods[] = {
    {"run", (PyCFunction)(void (*)(void))entry_run, METH_FASTCALL,
     "run(n, inputs, outputs, threads): n states; inputs (n or 1, size), outputs (n, size), rows contiguous."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot entry_slots[] = {
    {Py_tp_new, entry_new},
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_methods, entry_methods},
    {Py_tp_doc, "Entry(address, work_bytes, lanes, format, in_sizes, out_sizes, grain): a compiled function."},
    {0, NULL},
};

static PyType_Spec entry_spec = {
    .name = "condyle.runtime._native.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = entry_slots,
};

/* Blocks: memory for large arrays, kept when it is freed. The system may take the pages of a large kept block back
 * (MADV_FREE), so that keeping costs little when memory is short. */

static void drop_oldest(void)
{
    Block **link = &kept.newest;
    Block *oldest;
    while ((*link)->older != NULL) {
        link = &(*link)->older;
    }
    oldest = *link;
    *link = NULL;
    kept.bytes -= oldest->bytes;
    munmap(oldest, oldest->bytes);
}

static Block *take_block(size_t bytes)
{
    Block *found = NULL;
    pthread_mutex_lock(&kept.lock);
    for (Block **link = &kept.newest; *link != NULL; link = &(*link)->older) {
        if ((*link)->bytes >= bytes && (*link)->bytes - bytes <= bytes / 4) {
            found = *link;
            *link = found->older;
            kept.bytes -= found->bytes;
            break;
        }
    }
    pthread_mutex_unlock(&kept.lock);
    return found;
}

static void drop_all(void)
{
    pthread_mutex_lock(&kept.lock);
    while (kept.newest != NULL) {
        drop_oldest();
    }
    pthread_mutex_unlock(&kept.lock);
}

static Block *map_block(size_t bytes)
{
    Block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_BYTES) {
        madvise(block, bytes, MADV_HUGEPAGE);
    }
#endif
    block->bytes = bytes;
    return block;
}

static void *block_malloc(void *unused, size_t size)
{
    const size_t bytes = (size + BLOCK_HEAD + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    Block *block;
    (void)unused;
    if (bytes < size) {
        return NULL;
    }
    block = take_block(bytes);
    if (block == NULL) {
        block = map_block(bytes);
    }
    if (block == NULL) {
        drop_all();
        block = map_block(bytes);
    }
    return block == NULL ? NULL : (char *)block + BLOCK_HEAD;
}

/* The system may take all pages but the first, where the header is; until then they can be written at once. */
static void offer_pages(Block *block)
{
#ifdef MADV_FREE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    madvise((char *)block + page, block->bytes - page, MADV_FREE);
#else
    (void)block;
#endif
}

static void block_free(void *unused, void *memory, size_t size)
{
    Block *block;
    int lazy;
    (void)unused;
    (void)size;
    if (memory == NULL) {
        return;
    }
    block = (Block *)((char *)memory - BLOCK_HEAD);
    pthread_mutex_lock(&kept.lock);
    lazy = block->bytes >= LAZY_BYTES || kept.bytes >= MANY_BYTES;
    pthread_mutex_unlock(&kept.lock);
    if (lazy) {
        offer_pages(block);
    }
    pthread_mutex_lock(&kept.lock);
    block->older = kept.newest;
    kept.newest = block;
    kept.bytes += block->bytes;
    while (kept.bytes > kept.limit) {
        drop_oldest();
    }
    pthread_mutex_unlock(&kept.lock);
}

static void *block_calloc(void *unused, size_t count, size_t size)
{
    void *memory;
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    memory = block_malloc(unused, count * size);
    return memory == NULL ? NULL : memset(memory, 0, count * size);
}

static void *block_realloc(void *unused, void *memory, size_t size)
{
    void *larger = block_malloc(unused, size);
    if (larger != NULL && memory != NULL) {
        const size_t old = ((Block *)((char *)memory - BLOCK_HEAD))->bytes - BLOCK_HEAD;
        memcpy(larger, memory, old < size ? old : size);
        block_free(unused, memory, 0);
    }
    return larger;
}

static PyDataMem_Handler block_handler = {
    "condyle", 1, {NULL, block_malloc, block_calloc, block_realloc, block_free},
};
static PyObject *block_capsule;

/* An array of its own memory, not filled; takes no reference to `dtype`. */
static PyObject *new_array(PyArray_Descr *dtype, int nd, const npy_intp *shape, npy_intp bytes)
{
    PyObject *before, *own, *array;
    Py_INCREF(dtype);
    if (bytes < LARGE_BYTES) {
        return PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    }
    before = PyDataMem_SetHandler(block_capsule);
    if (before == NULL) {
        Py_DECREF(dtype);
        return NULL;
    }
    array = PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    if (array == NULL) {
        PyErr_Clear();
    }
    own = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (own == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    Py_DECREF(own);
    if (array == NULL) { /* NumPy gets it elsewhere, or says what is wrong */
        Py_INCREF(dtype);
        array = PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    }
    return array;
}

/* Function: the fast twin of a Python method. */

typedef struct {
    int nd;
    npy_intp length[MAX_DIMS];
    npy_intp size;
} Port;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *slow;   /* the method; it also keeps the compiled code loaded */
    PyObject *names;  /* of the arguments: inputs, f_ext if there is one, out */
    PyObject *result; /* the named tuple of several outputs */
    PyArray_Descr *dtype;
    Entry *entry[2]; /* without and with f_ext; NULL: not compiled yet */
    Py_ssize_t threads;
    int n_in, n_out, takes_f_ext;
    Port port[2 * MAX_PORTS]; /* inputs, f_ext if there is one, outputs */
} Function;

typedef struct {
    int nd;
    npy_intp n;
    npy_intp length[MAX_DIMS];
} Batch;

/* Arguments in the order of the names, NULL for those left out; 0: let the method say what is wrong. */
static int sort_arguments(const Function *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                          PyObject **given)
{
    const Py_ssize_t known = self->n_in + self->takes_f_ext + 1;
    if (count > known) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < known; k++) {
        given[k] = k < count ? args[k] : NULL;
    }
    for (Py_ssize_t k = 0; keywords != NULL && k < PyTuple_GET_SIZE(keywords); k++) {
        Py_ssize_t slot = known - 1;
        while (slot >= 0 && PyTuple_GET_ITEM(self->names, slot) != PyTuple_GET_ITEM(keywords, k)) {
            slot--;
        }
        if (slot < 0 || given[slot] != NULL) {
            return 0;
        }
        given[slot] = args[count + k];
    }
    for (Py_ssize_t k = 0; k < known; k++) {
        if (given[k] == NULL && k < self->n_in) {
            return 0;
        }
        if (given[k] == Py_None) {
            given[k] = NULL;
        }
    }
    return 1;
}

/* Whether it is an array as a kernel likes it: the very dtype, C order, the batch followed by the port's dimensions. */
static int fits(const Function *self, PyObject *object, const Port *port, const Batch *batch, int flags)
{
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp *shape;
    if (object == NULL || !PyArray_CheckExact(object) || PyArray_DESCR(array) != self->dtype ||
        (PyArray_FLAGS(array) & (flags | WARN_ON_WRITE)) != flags ||
        PyArray_NDIM(array) != batch->nd + port->nd) {
        return 0;
    }
    shape = PyArray_DIMS(array);
    for (int k = 0; k < batch->nd; k++) {
        if (shape[k] != batch->length[k]) {
            return 0;
        }
    }
    for (int k = 0; k < port->nd; k++) {
        if (shape[batch->nd + k] != port->length[k]) {
            return 0;
        }
    }
    return 1;
}

/* The batch dimensions of the first input; 0 if there are none to speak of, or too many. */
static int read_batch(const Function *self, PyObject *object, Batch *batch)
{
    if (object == NULL || !PyArray_CheckExact(object)) {
        return 0;
    }
    batch->n = 1;
    batch->nd = PyArray_NDIM((PyArrayObject *)object) - self->port[0].nd;
    if (batch->nd < 0 || batch->nd > MAX_DIMS) {
        return 0;
    }
    for (int k = 0; k < batch->nd; k++) {
        batch->length[k] = PyArray_DIM((PyArrayObject *)object, k);
        batch->n *= batch->length[k]; /* of an array that fits, so it does not overflow */
    }
    return 1;
}

static int take_inputs(const Function *self, PyObject *const *given, Batch *batch, Job *job, int count)
{
    if (!read_batch(self, given[0], batch)) {
        return 0;
    }
    for (int k = 0; k < count; k++) {
        if (!fits(self, given[k], &self->port[k], batch, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
            return 0;
        }
        job->base[k] = PyArray_BYTES((PyArrayObject *)given[k]);
        job->stride[k] = batch->n == 1 ? 0 : self->port[k].size;
    }
    return batch->n > 0;
}

/* One output of `out=`, borrowed; NULL if `out` is nothing that is taken apart here. */
static PyObject *out_item(const Function *self, PyObject *out, int k)
{
    if (self->n_out == 1 && PyArray_CheckExact(out)) {
        return out;
    }
    if (PyTuple_CheckExact(out) || Py_TYPE(out) == (PyTypeObject *)self->result) {
        return PyTuple_GET_SIZE(out) == self->n_out ? PyTuple_GET_ITEM(out, k) : NULL;
    }
    return PyList_CheckExact(out) && PyList_GET_SIZE(out) == self->n_out ? PyList_GET_ITEM(out, k) : NULL;
}

/* The caller's own array, checked, as a new reference; NULL without an exception if it does not fit. */
static PyObject *own_output(const Function *self, PyObject *out, int k, const Batch *batch)
{
    PyObject *array = out_item(self, out, k);
    const Port *port = &self->port[self->n_in + self->takes_f_ext + k];
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    if (!fits(self, array, port, batch, flags)) {
        return NULL;
    }
    return Py_NewRef(array);
}

static PyObject *fresh_output(const Function *self, int k, const Batch *batch)
{
    const Port *port = &self->port[self->n_in + self->takes_f_ext + k];
    npy_intp shape[2 * MAX_DIMS];
    const npy_intp itemsize = self->dtype->type == 'd' ? 8 : 4;
    PyObject *array;
    memcpy(shape, batch->length, (size_t)batch->nd * sizeof *shape);
    memcpy(shape + batch->nd, port->length, (size_t)port->nd * sizeof *shape);
    array = new_array(self->dtype, batch->nd + port->nd, shape, batch->n * port->size * itemsize);
    if (array == NULL) {
        PyErr_Clear(); /* the method says what is wrong */
    }
    return array;
}

/* Whether the bytes of port `a` lie over those of port `b`. */
static int overlap(const Job *job, Py_ssize_t a, Py_ssize_t b)
{
    const char *p = job->base[a], *q = job->base[b];
    const ptrdiff_t bytes = (ptrdiff_t)job->n * job->self->itemsize;
    return p < q + bytes * job->self->size[b] && q < p + bytes * job->self->size[a];
}

/* Fills `results` with new references; 0 without an exception if the method should take the call. */
static int take_outputs(const Function *self, PyObject *out, const Batch *batch, Job *job, PyObject **results)
{
    const Py_ssize_t n_in = job->self->n_in;
    for (int k = 0; k < self->n_out; k++) {
        const Py_ssize_t port = n_in + k;
        results[k] = out == NULL ? fresh_output(self, k, batch) : own_output(self, out, k, batch);
        if (results[k] == NULL) {
            return 0;
        }
        job->base[port] = PyArray_BYTES((PyArrayObject *)results[k]);
        job->stride[port] = batch->n == 1 ? 0 : job->self->size[port];
        for (Py_ssize_t other = 0; out != NULL && other < port; other++) {
            if (overlap(job, port, other)) {
                return 0;
            }
        }
    }
    return 1;
}

/* What the method returns; takes the references. */
static PyObject *pack(const Function *self, PyObject **results)
{
    PyTypeObject *type = (PyTypeObject *)self->result;
    PyObject *packed;
    if (type == NULL) {
        return results[0];
    }
    packed = type->tp_alloc(type, self->n_out);
    if (packed == NULL) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030E0000
    ((PyTupleObject *)packed)->ob_hash = -1;
#endif
    for (int k = 0; k < self->n_out; k++) {
        PyTuple_SET_ITEM(packed, k, results[k]);
        results[k] = NULL;
    }
    return packed;
}

static PyObject *function_call(PyObject *object, PyObject *const *args, size_t flagged, PyObject *keywords)
{
    Function *self = (Function *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    PyObject *given[MAX_PORTS + 2], *results[MAX_PORTS] = {NULL}, *answer = NULL;
    PyObject *f_ext, *out;
    Entry *entry;
    Batch batch;
    Job job;
    int direct;
    if (!sort_arguments(self, args, count, keywords, given)) {
        return PyObject_Vectorcall(self->slow, args, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    }
    f_ext = self->takes_f_ext ? given[self->n_in] : NULL;
    out = given[self->n_in + self->takes_f_ext];
    entry = self->entry[f_ext != NULL];
    direct = entry != NULL && take_inputs(self, given, &batch, &job, self->n_in + (f_ext != NULL));
    if (direct) {
        start_job(&job, entry, (size_t)batch.n);
        direct = take_outputs(self, out, &batch, &job, results);
    }
    if (!direct) {
        answer = PyObject_Vectorcall(self->slow, args, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    } else if (run(entry, &job, self->threads) == 0) {
        answer = pack(self, results);
        results[0] = self->result == NULL ? NULL : results[0];
    }
    for (int k = 0; k < self->n_out; k++) {
        Py_XDECREF(results[k]);
    }
    return answer;
}

/* The dimensions of ports, each a tuple; sizes of zero are refused, since empty arrays are the method's. */
static int read_ports(PyObject *tuples, Port *port, int *count)
{
    const Py_ssize_t length = PyTuple_GET_SIZE(tuples);
    if (length < 1 || length > MAX_PORTS - 1) {
        PyErr_SetString(PyExc_ValueError, "too few or too many arrays");
        return -1;
    }
    for (Py_ssize_t k = 0; k < length; k++) {
        PyObject *dims = PyTuple_GET_ITEM(tuples, k);
        if (!PyTuple_Check(dims) || PyTuple_GET_SIZE(dims) > MAX_DIMS) {
            PyErr_SetString(PyExc_TypeError, "dimensions are a tuple of a few numbers");
            return -1;
        }
        port[k].nd = (int)PyTuple_GET_SIZE(dims);
        port[k].size = 1;
        for (int i = 0; i < port[k].nd; i++) {
            port[k].length[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, i));
            if (port[k].length[i] < 1 || port[k].length[i] > (1 << 20)) {
                if (!PyErr_Occurred()) {
                    PyErr_SetString(PyExc_ValueError, "a dimension is out of range");
                }
                return -1;
            }
            port[k].size *= port[k].length[i];
        }
    }
    *count = (int)length;
    return 0;
}

static int check_result(PyObject *result, int n_out)
{
    if (result == Py_None ? n_out == 1
                          : PyType_Check(result) && PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type) &&
                                ((PyTypeObject *)result)->tp_basicsize == PyTuple_Type.tp_basicsize) {
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "result is a named tuple, or None for one output");
    return -1;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *slow, *names, *inputs, *outputs, *result;
    PyArray_Descr *dtype;
    Py_ssize_t threads;
    Function *self;
    int takes_f_ext;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Function takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO!pO!O!O!On", &slow, &PyTuple_Type, &names, &takes_f_ext, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &outputs, &PyArrayDescr_Type, &dtype, &result, &threads)) {
        return NULL;
    }
    self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = function_call;
    self->slow = Py_NewRef(slow);
    self->names = Py_NewRef(names);
    self->dtype = (PyArray_Descr *)Py_NewRef((PyObject *)dtype);
    self->threads = threads;
    self->takes_f_ext = takes_f_ext;
    if (read_ports(inputs, self->port, &self->n_in) != 0 ||
        read_ports(outputs, self->port + self->n_in, &self->n_out) != 0 || check_result(result, self->n_out) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->n_in -= takes_f_ext;
    self->result = result == Py_None ? NULL : Py_NewRef(result);
    if (self->n_in < 1 || PyTuple_GET_SIZE(names) != self->n_in + takes_f_ext + 1) {
        PyErr_SetString(PyExc_ValueError, "Function: one name for each input, and `out`");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyTypeObject *entry_type;

/* From now on plain calls, with or without f_ext, run `entry`. The first one stays: a call may be in it. */
static PyObject *function_set_entry(PyObject *object, PyObject *args)
{
    Function *self = (Function *)object;
    Entry *entry;
    int f_ext, same;
    if (!PyArg_ParseTuple(args, "pO!", &f_ext, entry_type, &entry)) {
        return NULL;
    }
    same = f_ext <= self->takes_f_ext && entry->n_in == self->n_in + f_ext && entry->n_out == self->n_out &&
           entry->format == self->dtype->type;
    for (Py_ssize_t k = 0; same && k < entry->n_in + entry->n_out; k++) {
        const Py_ssize_t port = k < entry->n_in ? k : k - entry->n_in + self->n_in + self->takes_f_ext;
        same = entry->size[k] == self->port[port].size;
    }
    if (!same) {
        PyErr_SetString(PyExc_ValueError, "this entry belongs to another function");
        return NULL;
    }
    if (self->entry[f_ext] == NULL) {
        self->entry[f_ext] = (Entry *)Py_NewRef((PyObject *)entry);
    }
    Py_RETURN_NONE;
}

/* A pickle is that of the method: an object and a name. */
static PyObject *function_reduce(PyObject *object, PyObject *Py_UNUSED(none))
{
    return PyObject_CallMethod(((Function *)object)->slow, "__reduce__", NULL);
}

/* Help, signature and name are those of the method. */
static PyObject *function_getattr(PyObject *object, PyObject *name)
{
    PyObject *slow = ((Function *)object)->slow, *found;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        return Py_NewRef(slow);
    }
    if (PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__module__") == 0) {
        return PyObject_GetAttr(slow, name);
    }
    found = PyObject_GenericGetAttr(object, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(slow, name);
    }
    return found;
}

static PyObject *function_repr(PyObject *object)
{
    return PyObject_Repr(((Function *)object)->slow);
}

static int function_traverse(PyObject *object, visitproc visit, void *arg)
{
    Function *self = (Function *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->slow);
    Py_VISIT(self->result);
    return 0;
}

static int function_clear(PyObject *object)
{
    Function *self = (Function *)object;
    PyObject *slow = self->slow;
    self->slow = Py_NewRef(Py_None); /* whoever still calls gets an error, not a crash */
    Py_XDECREF(slow);
    return 0;
}

static void function_dealloc(PyObject *object)
{
    Function *self = (Function *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->names);
    Py_XDECREF(self->result);
    Py_XDECREF((PyObject *)self->dtype);
    Py_XDECREF((PyObject *)self->entry[0]);
    Py_XDECREF((PyObject *)self->entry[1]);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef function_methods[] = {
    {"set_entry", function_set_entry, METH_VARARGS, "set_entry(f_ext, entry): plain calls run this entry."},
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, function_getattr},
    {Py_tp_repr, function_repr},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "condyle.runtime._native.Function",
    .basicsize = sizeof(Function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = function_slots,
};

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
    {"empty", module_empty, METH_VARARGS, "empty(shape, dtype): numpy.empty, in used memory if large."},
    {"workers", module_workers, METH_O, "workers(limit): how many there are; a limit >= 0 holds from now on."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **kept_type)
{
    PyObject *type = PyType_FromSpec(spec);
    int status;
    if (type == NULL) {
        return -1;
    }
    status = PyModule_AddObjectRef(module, name, type);
    if (kept_type != NULL && *kept_type == NULL) {
        *kept_type = (PyTypeObject *)Py_NewRef(type);
    }
    Py_DECREF(type);
    return status;
}

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
    if (block_capsule == NULL || add_type(module, "Entry", &entry_spec, &entry_type) != 0) {
        return -1;
    }
    return add_type(module, "Function", &function_spec, NULL);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_MOD_GIL_NOT_USED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Calls compiled functions on batches of states.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module_def);
}
