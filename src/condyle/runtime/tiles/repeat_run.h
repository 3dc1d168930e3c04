/* The driver of loops over time; see repeat.h. A tile takes all its steps before the next tile begins, so that what it
 * carries stays in the nearest cache. */
#include "repeat.h"

/* One call on tiles. in, stride: of the arrays; at, beside: what products that read the caller's rows are told, where an
 * input that is the same for all states at this step has the stride 0. */
typedef struct {
    const repeat_plan *self;
    const void *const *in;
    const ptrdiff_t *stride;
    void *const *out;
    const ptrdiff_t *out_stride;
    const void *at[REPEAT_PORTS];
    ptrdiff_t beside[REPEAT_PORTS];
    real_v *w, *room;
    size_t size; /* slots between tiles that run side by side */
    int way;
} repeat_call;

/* One row of a time axis, of the states from `first` on, to w. */
static void take_row(const repeat_call *call, int64_t k, int64_t row, size_t first, size_t rows, real_v *w)
{
    const tiles_input *in = call->self->plan->in + k;
    const size_t size = (size_t)in->size;
    const real *from = (const real *)call->in[k] + (ptrdiff_t)first * call->stride[k];
    size_t e;
    if (call->stride[k] == 0) {
        cd_pack_one(from + (size_t)row * size, size, w);
    } else if (call->way & TILES_PACKED_IN) {
        const loose_v *column = (const loose_v *)from + (size_t)row * size;
        for (e = 0; e < size; e++) {
            w[e] = column[e];
        }
    } else {
        cd_pack(from + (size_t)row * size, call->stride[k], rows, size, w);
    }
}

static void clear_slots(real_v *w, size_t count)
{
    size_t k;
    for (k = 0; k < count; k++) {
        w[k] = cd_splat(0);
    }
}

/* The inputs of the first step, of one tile. */
static void begin_tile(const repeat_call *call, int64_t t, size_t first, size_t rows, real_v *w)
{
    const repeat_plan *self = call->self;
    const tiles_plan *plan = self->plan;
    int64_t k;
    for (k = 0; k < plan->n_in; k++) {
        const tiles_input *in = plan->in + k;
        const real *from = (const real *)call->in[k] + (ptrdiff_t)first * call->stride[k];
        const int64_t every = self->take[k].every, row = every ? repeat_row(self, every, t) : -1;
        if (every == 0) {
            take(plan, in, from, call->stride[k], rows, w, call->way);
            if (call->stride[k] == 0 && self->take[k].carried >= 0) {
                take_one(plan, in, from, w, call->way);
            }
        } else if (row >= 0) {
            take_row(call, k, row, first, rows, w + in->slot);
        } else {
            clear_slots(w + in->slot, (size_t)in->size);
        }
    }
}

/* What is carried, from outputs to inputs: by way of `room` where one's slot may be the other's. */
static void carry(const repeat_plan *self, real_v *w, real_v *room)
{
    const tiles_plan *plan = self->plan;
    real_v *on_its_way = room;
    int64_t k, e;
    for (k = 0; k < plan->n_in; k++) {
        if (self->take[k].carried >= 0) {
            const uint32_t *slot = plan->slots + plan->out[self->take[k].carried].table;
            real_v *to = self->direct ? w + plan->in[k].slot : on_its_way;
            for (e = 0; e < plan->in[k].size; e++) {
                to[e] = w[slot[e]];
            }
            on_its_way += plan->in[k].size;
        }
    }
    if (self->direct) {
        return;
    }
    for (k = 0; k < plan->n_in; k++) {
        if (self->take[k].carried >= 0) {
            for (e = 0; e < plan->in[k].size; e++) {
                w[plan->in[k].slot + e] = *room++;
            }
        }
    }
}

/* What has a time axis, of one tile at a later step. */
static void take_step(const repeat_call *call, int64_t t, size_t first, size_t rows, real_v *w)
{
    const repeat_plan *self = call->self;
    const tiles_plan *plan = self->plan;
    int64_t k, e;
    for (k = 0; k < plan->n_in; k++) {
        const int64_t every = self->take[k].every, size = plan->in[k].size;
        const int64_t row = every ? repeat_row(self, every, t) : -1;
        real_v *const to = w + plan->in[k].slot;
        if (row >= 0 && self->take[k].carried < 0) {
            take_row(call, k, row, first, rows, to);
        } else if (row >= 0) {
            take_row(call, k, row, first, rows, call->room);
            for (e = 0; e < size; e++) {
                to[e] = to[e] + call->room[e];
            }
        } else if (every != 0 && self->take[k].carried < 0) {
            clear_slots(to, (size_t)size);
        }
    }
}

/* Entries of an answer that stand in these slots, to rows, or to a block of a packed array. */
static void give_slots(const repeat_call *call, int64_t k, size_t row, const uint32_t *slot, size_t size, size_t first,
                       size_t rows, real_v *w)
{
    const int way = call->way;
    real *to = (real *)call->out[k] + (ptrdiff_t)first * call->out_stride[k];
    size_t e;
    if (way & TILES_PACKED_OUT) {
        loose_v *column = (loose_v *)to + row * size;
        for (e = 0; e < size; e++) {
            column[e] = w[slot[e]];
        }
    } else if (rows == LANES) {
        give_rows(w, slot, size, to + row * size, call->out_stride[k], (real *)(call->w + call->self->plan->stage),
                  way & TILES_STREAM);
    } else {
        cd_unpack(w, slot, size, to + row * size, call->out_stride[k], rows);
    }
}

/* The answers of one tile at step t. sums: this tile's. */
static void give_step(const repeat_call *call, int64_t t, int begins, int ends, size_t first, size_t rows, real_v *w,
                      real_v *sums)
{
    const repeat_plan *self = call->self;
    const tiles_plan *plan = self->plan;
    int64_t k, e;
    for (k = 0; k < self->n_give; k++) {
        const repeat_give *give_k = self->give + k;
        const tiles_output *out = plan->out + (give_k->output == REPEAT_COUNT ? 0 : give_k->output);
        const uint32_t *slot = plan->slots + out->table;
        const size_t size = give_k->output == REPEAT_COUNT ? 0 : (size_t)out->size;
        if (size == 0) {
            continue; /* see give_lane */
        }
        if (give_k->summed) {
            for (e = 0; e < out->size; e++) {
                sums[e] = begins ? w[slot[e]] : sums[e] + w[slot[e]];
            }
            if (ends) {
                give_slots(call, k, 0, self->line, size, first, rows, sums);
            }
            sums += size;
        } else if (give_k->every != 0) {
            const int64_t row = repeat_row(self, give_k->every, t);
            if (row >= 0) {
                give_slots(call, k, (size_t)row, slot, size, first, rows, w);
            }
        } else if (ends) {
            real *to = (real *)call->out[k] + (ptrdiff_t)first * call->out_stride[k];
            give(plan, out, to, call->out_stride[k], rows, w, call->w + plan->stage, call->way);
        }
    }
}

/* What products are told of inputs at step t. */
static void point(repeat_call *call, int64_t t)
{
    const repeat_plan *self = call->self;
    int64_t k;
    for (k = 0; k < self->n_in; k++) {
        const int64_t every = self->take[k].every, row = every ? repeat_row(self, every, t) : 0;
        call->at[k] = (const real *)call->in[k] + (row > 0 ? row * self->plan->in[k].size : 0);
    }
}

#include "repeat_until.h"

static int run_repeat(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const repeat_plan *self, int way)
{
    const tiles_plan *plan = self->plan;
    repeat_call call = {.self = self, .in = in, .stride = in_stride, .out = out, .out_stride = out_stride, .way = way};
    const int loops = plan->n_loop > 0, whole = loops && plan->loops[LOOPS_RECORDS] > 0;
    tiles_group group = {(real_v *)work, 0, 0, call.at, call.beside, way};
    ptrdiff_t fixed[REPEAT_PORTS]; /* 0 for what is the same for all states at all steps */
    size_t first, t, most;
    int64_t s, k;
    for (k = 0; k < plan->n_in; k++) {
        const int every_step = self->take[k].every == 1, held = self->take[k].every == 0;
        call.beside[k] = self->take[k].carried < 0 && (every_step || held) ? in_stride[k] : 1;
        fixed[k] = self->take[k].carried < 0 && held ? in_stride[k] : 1;
    }
    call.w = (real_v *)work;
    call.room = call.w + self->body;
    most = beside(plan, call.beside);
    call.size = loops ? (size_t)plan->loops[LOOPS_SIZE] : 0;
    group.size = (int64_t)call.size;
    point(&call, 0);
    for (t = 0; t < most; t++) {
        start(plan, in, fixed, call.w + t * call.size, way);
    }
    if (self->until >= 0 && n > 0) {
        run_until(n, &call, &group, most, whole);
    }
    for (first = 0; self->until < 0 && first < n; first += LANES * most) {
        const size_t left = (n - first + LANES - 1) / LANES, tiles = left < most && !whole ? left : most;
        group.tiles = (int64_t)tiles;
        for (s = 0; s < self->steps; s++) {
            const int64_t time = self->backwards ? self->steps - 1 - s : s;
            point(&call, time);
            for (t = 0; t < tiles; t++) {
                const size_t at = first + LANES * t < n ? first + LANES * t : first, rows = n - at < LANES ? n - at : LANES;
                real_v *const w = call.w + t * call.size;
                if (s == 0) {
                    begin_tile(&call, time, at, rows, w);
                } else {
                    carry(self, w, call.room);
                    take_step(&call, time, at, rows, w);
                }
            }
            compute(plan, &group);
            for (t = 0; t < tiles && first + LANES * t < n; t++) {
                const size_t at = first + LANES * t, rows = n - at < LANES ? n - at : LANES;
                give_step(&call, time, s == 0, s + 1 == self->steps, at, rows, call.w + t * call.size,
                          call.room + self->moving + t * (size_t)self->sums);
            }
        }
    }
    if (way & TILES_STREAM) {
        __builtin_ia32_sfence();
    }
    return 0;
}

#define RUN_REPEAT(way) \
    static int run_repeat_##way(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out, \
                                const ptrdiff_t *out_stride, void *work, const void *context) \
    { \
        return run_repeat(n, in, in_stride, out, out_stride, work, (const repeat_plan *)context, way); \
    }
RUN_REPEAT(0)
RUN_REPEAT(1)
RUN_REPEAT(2)
RUN_REPEAT(3)
RUN_REPEAT(4)
RUN_REPEAT(5)
RUN_REPEAT(6)
RUN_REPEAT(7)

static tiles_run *const repeat_ways[TILES_WAYS] = {run_repeat_0, run_repeat_1, run_repeat_2, run_repeat_3,
                                                   run_repeat_4, run_repeat_5, run_repeat_6, run_repeat_7};
tiles_run *const *const REPEAT_ENTRY = repeat_ways;
