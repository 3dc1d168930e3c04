/* Pieces of a job: their sizes, their distribution to threads, and how one is run. */
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

/* Whether all quaternions of a piece have unit length: looked at here, since the piece is read next by the same core. An
 * entry that checks itself leaves one row that serves all states. */
static int piece_is_unit(const Job *job, void *const *at, size_t count)
{
    const Entry *self = job->self;
    for (Py_ssize_t k = 0; k < self->n_in; k++) {
        const int one = job->stride[k] == 0;
        const size_t lanes = self->packed & PACKED_IN && !one ? self->lanes : 1;
        if (job->quaternions->ports >> k & 1 && (one || !self->checks) &&
            !are_unit(job->quaternions, at[k], self->format, job->stride[k], one ? 1 : count, self->size[k], lanes)) {
            return 0;
        }
    }
    return 1;
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
    if (job->quaternions != NULL && !piece_is_unit(job, at, count)) {
        atomic_store(&job->status, NOT_UNIT);
        return;
    }
    status = job->general != NULL
                 ? job->general(count, (const void *const *)at, stride, at + self->n_in, stride + self->n_in, work,
                                self->context)
                 : self->entry(count, (const void *const *)at, stride, at + self->n_in, stride + self->n_in, work);
    if (status != 0) {
        atomic_store(&job->status, status);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t taken_units(uint64_t taken)
{
    return (taken >> 32) + (uint32_t)taken;
}

/* The size of the next piece: half of an even share of the rest. Pieces get shorter, so that all threads end together. */
static uint64_t next_piece(const Job *job, uint64_t left)
{
    const uint64_t half = left / (2 * job->sharers);
    const uint64_t piece = half < job->shortest ? job->shortest : half > job->longest ? job->longest : half;
    return piece < left ? piece : left;
}

/* Takes a piece and runs it; 0 if there is none left. The caller takes pieces from the front and workers from the back,
 * so in the next call with the same arrays most data is in the caches of the same core. */
static int take_piece(Job *job, void *work, int worker)
{
    uint64_t taken = atomic_load(&job->taken), first, piece;
    size_t start, count;
    do {
        if (taken_units(taken) >= job->units) {
            return 0;
        }
        piece = next_piece(job, job->units - taken_units(taken));
    } while (!atomic_compare_exchange_weak(&job->taken, &taken, taken + (worker ? piece << 32 : piece)));
    first = worker ? job->units - (taken >> 32) - piece : (uint32_t)taken;
    start = (size_t)first * job->unit, count = (size_t)piece * job->unit;
    run_piece(job, start, job->n - start < count ? job->n - start : count, work);
    return 1;
}
