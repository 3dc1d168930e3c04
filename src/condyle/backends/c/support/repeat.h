/* A function repeated over time, tile by tile: what is carried goes from the slots of its outputs to those of its inputs. */
typedef struct {
    size_t base, size;
    int alone; /* only products read it, from the caller's row where one row serves all states */
} cd_input;

typedef struct {
    const cd_slot *table;
    size_t size;
} cd_output;

/* turn: one step. held: inputs, by number, whose rows it takes too. line: slots 0, 1, 2, ... of the longest output. */
typedef struct {
    const cd_input *in;
    const cd_output *out;
    const size_t *held;
    size_t n_in, n_held, size;
    void (*begin)(real_v *w);
    void (*turn)(real_v *w, const real *const *held);
    const cd_slot *line;
} cd_body;

/* carried: the output that it is after the first step, or -1. every: 0 for one value, else so many steps have a row, and
 * the last one; rows are `distance` numbers apart. A row is added to what is carried; without one, what is not carried
 * is zero. */
typedef struct {
    ptrdiff_t carried, every, distance;
} cd_take;

/* every: 0 for the step that runs last, else as above. summed: over all steps. output -1: how many steps there were. */
typedef struct {
    ptrdiff_t output, every, summed, distance;
} cd_give;

/* until: -1, or an output of one number: the first step at which it is above 0 is the last one of that state. */
typedef struct {
    ptrdiff_t steps, backwards, n_give, until;
    const cd_take *take;
    const cd_give *give;
} cd_loop;

typedef struct {
    const cd_body *body;
    const cd_loop *loop;
    const real *const *in;
    const ptrdiff_t *in_stride;
    real *const *out;
    const ptrdiff_t *out_stride;
    real_v *w, *room, *sums;
    const real **held;
} cd_call;

/* The row of step t; -1 if it has none. */
CD_INLINE ptrdiff_t cd_row(const cd_loop *loop, ptrdiff_t every, ptrdiff_t t)
{
    return every == 0 ? 0 : (t + 1) % every == 0 || t + 1 == loop->steps ? t / every : -1;
}

CD_STATIC void cd_fill(const real *from, ptrdiff_t stride, size_t rows, size_t size, real_v *to)
{
    if (stride == 0) {
        cd_pack_one(from, size, to);
    } else {
        cd_pack(from, stride, rows, size, to);
    }
}

/* Whether input i is one row for all states that does not change. */
CD_INLINE int cd_stays(const cd_call *c, size_t i)
{
    return c->in_stride[i] == 0 && c->loop->take[i].carried < 0 && c->loop->take[i].every == 0;
}

/* Answers of the step before go to the slots of inputs: all are read before one is written. */
CD_STATIC void cd_carry(const cd_call *c)
{
    const cd_body *body = c->body;
    real_v *room = c->room;
    size_t i, e;
    for (i = 0; i < body->n_in; i++) {
        const ptrdiff_t carried = c->loop->take[i].carried;
        for (e = 0; carried >= 0 && e < body->in[i].size; e++) {
            *room++ = c->w[body->out[carried].table[e]];
        }
    }
    room = c->room;
    for (i = 0; i < body->n_in; i++) {
        for (e = 0; c->loop->take[i].carried >= 0 && e < body->in[i].size; e++) {
            c->w[body->in[i].base + e] = *room++;
        }
    }
}

/* Input i of step t for the states from k on; what is carried is there, unless this step runs first. */
CD_STATIC void cd_take_one(const cd_call *c, size_t i, size_t k, size_t rows, ptrdiff_t t, int first)
{
    const cd_input *in = c->body->in + i;
    const cd_take *take = c->loop->take + i;
    const ptrdiff_t row = cd_row(c->loop, take->every, t), stride = c->in_stride[i];
    const real *const from = c->in[i] + (ptrdiff_t)k * stride + (row < 0 ? 0 : row * take->distance);
    const int adds = take->carried >= 0 && !first;
    real_v *const to = c->w + in->base;
    size_t e;
    if (row < 0) {
        for (e = 0; !adds && e < in->size; e++) {
            to[e] = cd_splat(0);
        }
    } else if (adds) {
        if (take->every != 0) {
            cd_fill(from, stride, rows, in->size, c->room);
            for (e = 0; e < in->size; e++) {
                to[e] = to[e] + c->room[e];
            }
        }
    } else if ((take->every != 0 || first) && !(in->alone && stride == 0 && take->carried < 0)) {
        cd_fill(from, stride, rows, in->size, to);
    }
}

CD_STATIC void cd_take_all(const cd_call *c, size_t k, size_t rows, ptrdiff_t t, int first)
{
    size_t i;
    if (!first) {
        cd_carry(c);
    }
    for (i = 0; i < c->body->n_in; i++) {
        if (c->body->in[i].size != 0 && !cd_stays(c, i)) {
            cd_take_one(c, i, k, rows, t, first);
        }
    }
    for (i = 0; i < c->body->n_held; i++) {
        const size_t j = c->body->held[i];
        const cd_take *take = c->loop->take + j;
        const ptrdiff_t row = cd_row(c->loop, take->every, t);
        const int serves = c->in_stride[j] == 0 && take->carried < 0 && row >= 0;
        c->held[i] = serves ? c->in[j] + row * take->distance : NULL;
    }
}

CD_STATIC void cd_add(const cd_call *c, int first)
{
    real_v *sum = c->sums;
    ptrdiff_t j;
    size_t e;
    for (j = 0; j < c->loop->n_give; j++) {
        const cd_output *out = c->body->out + (c->loop->give[j].summed ? c->loop->give[j].output : 0);
        for (e = 0; c->loop->give[j].summed && e < out->size; e++, sum++) {
            const real_v x = c->w[out->table[e]];
            *sum = first ? x : *sum + x;
        }
    }
}

CD_STATIC void cd_give_all(const cd_call *c, size_t k, size_t rows, ptrdiff_t t, int last)
{
    real_v *sum = c->sums;
    ptrdiff_t j;
    for (j = 0; j < c->loop->n_give; j++) {
        const cd_give *give = c->loop->give + j;
        const cd_output *out = c->body->out + give->output;
        real *const to = c->out[j] + (ptrdiff_t)k * c->out_stride[j];
        const ptrdiff_t row = give->every != 0 ? cd_row(c->loop, give->every, t) : last ? 0 : -1;
        if (out->size == 0) {
            continue;
        }
        if (give->summed) {
            if (last) {
                cd_unpack(sum, c->body->line, out->size, to, c->out_stride[j], rows);
            }
            sum += out->size;
        } else if (row >= 0) {
            cd_unpack(c->w, out->table, out->size, to + row * give->distance, c->out_stride[j], rows);
        }
    }
}

/* The answers of lane l, whose state is number k, after so many steps. */
CD_STATIC void cd_give_lane(const cd_call *c, size_t k, size_t l, ptrdiff_t count)
{
    const real_v *sum = c->sums;
    ptrdiff_t j;
    size_t e;
    for (j = 0; j < c->loop->n_give; j++) {
        const cd_give *give = c->loop->give + j;
        real *const to = c->out[j] + (ptrdiff_t)k * c->out_stride[j];
        if (give->output < 0) {
            to[0] = (real)count;
            continue;
        }
        for (e = 0; e < c->body->out[give->output].size; e++) {
            to[e] = ((const real *)(give->summed ? sum++ : c->w + c->body->out[give->output].table[e]))[l];
        }
    }
}

/* Ends the states that are done, or all with the last step; gives how many go on. done: of each lane. */
CD_STATIC size_t cd_end(const cd_call *c, size_t k, size_t rows, ptrdiff_t count, unsigned char *done)
{
    const real *const flag = (const real *)(c->w + c->body->out[c->loop->until].table[0]);
    size_t running = 0, l;
    for (l = 0; l < rows; l++) {
        if (!done[l] && (flag[l] > 0 || count == c->loop->steps)) {
            cd_give_lane(c, k + l, l, count);
            done[l] = 1;
        }
        running += !done[l];
    }
    return running;
}

/* Behind a step's workspace are vectors for all inputs, then for all outputs that are summed. */
CD_STATIC int cd_repeat(const cd_call *given, size_t n, void *work)
{
    cd_call c = *given;
    const cd_loop *loop = c.loop;
    size_t k, i;
    ptrdiff_t s;
    if (loop->steps < 1) {
        return 1;
    }
    if (n == 0) {
        return 0;
    }
    c.w = (real_v *)(((uintptr_t)work + CD_LINE - 1) / CD_LINE * CD_LINE);
    c.room = c.w + c.body->size;
    c.sums = c.room;
    for (i = 0; i < c.body->n_in; i++) {
        c.sums += c.body->in[i].size;
    }
    c.body->begin(c.w);
    for (i = 0; i < c.body->n_in; i++) {
        if (cd_stays(&c, i) && !c.body->in[i].alone) {
            cd_pack_one(c.in[i], c.body->in[i].size, c.w + c.body->in[i].base);
        }
    }
    for (k = 0; k < n; k += LANES) {
        const size_t rows = n - k < LANES ? n - k : LANES;
        unsigned char done[LANES] = {0};
        for (s = 0; s < loop->steps; s++) {
            const ptrdiff_t t = loop->backwards ? loop->steps - 1 - s : s;
            cd_take_all(&c, k, rows, t, s == 0);
            c.body->turn(c.w, c.held);
            cd_add(&c, s == 0);
            if (loop->until < 0) {
                cd_give_all(&c, k, rows, t, s + 1 == loop->steps);
            } else if (cd_end(&c, k, rows, s + 1, done) == 0) {
                break;
            }
        }
    }
    return 0;
}
