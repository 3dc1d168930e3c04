/* A team: workers of the pool that help with the calls of one problem.
 *
 * A call of many states is cut into pieces of whole tiles. The ticket says how many are left, and whoever takes one off it
 * computes that piece. So the caller waits only for pieces that are under way, never for a helper that is late or gone. */
#define HELP_NS 1000000 /* so long a helper waits for the next call of a problem before it goes, and is called again */

#define PAUSES 4096      /* some 100 us */

typedef struct {
    void (*run)(const void *call, uint64_t piece, void *work, atomic_int *status);
    const void *call;
    Entry stub; /* what the job of helpers has in place of a compiled function */
    Job job;
    int helpers;
    int64_t posted;
    uint64_t number, awaited; /* calls so far; pieces that helpers took */
    atomic_int status, closed, left; /* left: helpers that waited too long and went */
    char apart[64];
    _Atomic uint64_t ticket; /* from the upper bits on: number (32), first piece that is left (16), how many are left (16) */
    char alone[64];
    _Atomic uint64_t done; /* pieces that helpers finished */
} Team;

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Computes the next piece, the caller from the front and helpers from the back; 0 if there is none left. */
static int take_share(Team *team, void *work, int helper)
{
    uint64_t ticket = atomic_load_explicit(&team->ticket, memory_order_acquire), first, left;
    do {
        first = ticket >> 16 & 0xffff, left = ticket & 0xffff;
        if (left == 0) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&team->ticket, &ticket, ticket - 1 + (helper ? 0 : 1 << 16)));
    team->run(team->call, helper ? first + left - 1 : first, work, &team->status);
    if (helper) {
        atomic_fetch_add_explicit(&team->done, 1, memory_order_release);
    }
    return 1;
}

/* What a worker does in the team, until it is closed or nothing was left for long. */
static int help_team(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                     const ptrdiff_t *out_stride, void *work, const void *context)
{
    Team *const team = (Team *)(uintptr_t)in[0];
    int64_t end = now_ns() + HELP_NS;
    (void)n, (void)in_stride, (void)out, (void)out_stride, (void)context;
    while (!atomic_load_explicit(&team->closed, memory_order_relaxed)) {
        if (take_share(team, work, 1)) {
            end = now_ns() + HELP_NS;
        } else if (now_ns() > end) {
            atomic_store(&team->left, 1);
            break;
        }
        pause_briefly();
    }
    return 0;
}

static void call_team(Team *team)
{
    Job *const job = &team->job;
    job->units = job->n = (size_t)team->helpers;
    job->unit = job->longest = job->shortest = 1;
    job->sharers = (size_t)team->helpers + 1;
    job->self = &team->stub, job->general = help_team;
    job->base[0] = (char *)team;
    atomic_store(&job->taken, 0);
    atomic_store(&team->closed, 0);
    atomic_store(&team->left, 0);
    team->posted = now_ns();
    post(job, team->helpers);
}

static void close_team(Team *team)
{
    atomic_store(&team->closed, 1);
    retire(&team->job);
}

/* helpers: at most. work: bytes that a piece needs. */
static void open_team(Team *team, int helpers, size_t work,
                      void (*run)(const void *call, uint64_t piece, void *work, atomic_int *status))
{
    memset(team, 0, sizeof *team);
    team->helpers = helpers, team->run = run;
    team->stub.work = work, team->stub.n_in = 1;
    call_team(team);
}

/* Computes all pieces of a call; its status. */
static int run_shares(Team *team, const void *call, uint64_t pieces, void *work)
{
    uint64_t shares = 0;
    int64_t turns = 0;
    if (atomic_load_explicit(&team->left, memory_order_relaxed) && now_ns() - team->posted > HELP_NS) {
        close_team(team);
        call_team(team);
    }
    team->call = call;
    team->number++;
    atomic_store_explicit(&team->ticket, team->number << 32 | pieces, memory_order_release);
    while (take_share(team, work, 0)) {
        shares++;
    }
    team->awaited += pieces - shares;
    while (atomic_load_explicit(&team->done, memory_order_acquire) != team->awaited) {
        pause_briefly();
        if (++turns > PAUSES) {
            sched_yield(); /* a helper that has no core now may need this one */
        }
    }
    return atomic_load(&team->status);
}
