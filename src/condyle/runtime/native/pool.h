/* The thread pool: workers that run until the process ends, and the distribution of a job to them. */
/* Called in the child if a signal handler forked: the job is in no list, and its workers do not exist here. The caller alone
 * computes again all pieces that workers had taken from the back, finished or not. */
static void adopt(Job *job)
{
    job->posted = 0;
    atomic_store(&job->running, 0);
    atomic_fetch_and(&job->taken, UINT32_MAX);
}

/* Runs the handlers of pending signals; one that raises ends the job, and its exception is passed to the caller. */
static void look_for_signals(Job *job)
{
    int raised;
    PyEval_RestoreThread(job->caller);
    raised = PyErr_CheckSignals() != 0;
    if (job->posted && job->process != pool.process) {
        adopt(job);
    }
    if (raised) {
        atomic_store(&job->taken, job->units);
    }
    job->caller = PyEval_SaveThread();
}

/* The caller's part of a job: it runs pieces, and checks for signals if it is a thread of Python. */
static void lead(Job *job, void *work)
{
    int64_t heard = now_ns();
    while (take_piece(job, work, 0)) {
        const int64_t now = now_ns();
        if (job->caller != NULL && now - heard > SIGNALS_NS) {
            look_for_signals(job);
            heard = now_ns();
        }
    }
}

/* A short pause in a spin loop. */
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

/* With the lock held: the first job that has pieces left and may have one more worker, which it then has. */
static Job *join_job(void)
{
    for (Job *job = pool.jobs; job != NULL; job = job->following) {
        if (job->open > 0 && taken_units(atomic_load(&job->taken)) < job->units) {
            job->open--;
            atomic_fetch_add(&job->running, 1);
            return job;
        }
    }
    return NULL;
}

/* With the lock held: wakes two workers, and each of them wakes two, so that a caller does not wake all. */
static void wake(const Job *job)
{
    for (int k = 0; k < 2 && job->open > pool.spinning + k && pool.sleeping > k; k++) {
        pthread_cond_signal(&pool.posted);
    }
}

/* With the lock held before and after: waits for the next post, spinning at first. */
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

/* A workspace of at least `bytes` bytes, kept by its worker; NULL without memory, and then other threads do the work. */
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
            while (take_piece(job, work, 1)) {
            }
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
    job->posted = 1;
    job->process = pool.process;
    pthread_mutex_lock(&pool.lock);
    start_workers(helpers);
    job->following = pool.jobs;
    pool.jobs = job;
    atomic_fetch_add(&pool.posts, 1);
    wake(job);
    pthread_mutex_unlock(&pool.lock);
}

/* Closes a job: no further worker joins, and those in it finish their last piece. */
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

/* States of a unit: one tile, or enough that the number of units fits in 32 bits. */
static size_t whole_units(const Job *job)
{
    return job->self->lanes * (1 + job->n / job->self->lanes / UINT32_MAX);
}

static void run_job(Job *job, void *work, Py_ssize_t threads)
{
    const size_t unit = whole_units(job), grain = job->self->grain;
    size_t wanted = threads < 1 ? 1 : at_most((size_t)threads, MAX_THREADS);
    wanted = at_most(wanted, (job->n - 1) / job->self->small + 1);
    job->sharers = wanted;
    job->posted = 0;
    job->unit = unit;
    job->units = (job->n - 1) / unit + 1;
    job->longest = (grain - 1) / unit + 1;
    job->shortest = wanted == 1 ? job->longest : grain / 16 / unit + 1;
    if (wanted == 1) {
        lead(job, work);
        return;
    }
    post(job, (int)wanted - 1);
    lead(job, work);
    if (job->posted) {
        retire(job);
    }
}
