/* Loops over time that end; see repeat.h. Each lane has a state until that one is done. Its answers are written then, and
 * the next state of the batch takes the lane. Where inputs have a time axis, all lanes take the same step of it: the next
 * states come when all are done. */
#include "repeat.h"

typedef struct {
    repeat_call *call;
    tiles_group *group;
    size_t n, rows, next;           /* states; with those of packed arrays that fill the last tile; the next one */
    int64_t clock, look[MOST_TILES]; /* steps taken; when some state of a tile may have taken the most */
    unsigned running[MOST_TILES];    /* lanes that have a state, as bits */
    int whole;                       /* whether all tiles run always */
    size_t row[MOST_TILES][LANES], began[MOST_TILES];
    int64_t since[MOST_TILES][LANES]; /* the clock when the state of each lane began */
} lanes_call;

enum { ALL_LANES = (1 << LANES) - 1 };

static ptrdiff_t row_place(size_t row, ptrdiff_t stride, int packed)
{
    const size_t lane = packed ? row % LANES : 0;
    return (ptrdiff_t)(row - lane) * stride + (ptrdiff_t)lane;
}

static real_v *tile_sums(const repeat_call *call, size_t t)
{
    return call->room + call->self->moving + t * (size_t)call->self->sums;
}

/* The inputs of one state to one lane, and sums of nothing: -0 + x is x for every x. */
static void put_lane(const repeat_call *call, size_t t, size_t lane, size_t row)
{
    const tiles_plan *plan = call->self->plan;
    real_v *const w = call->w + t * call->size, *const sums = tile_sums(call, t);
    int64_t k, e;
    for (k = 0; k < plan->n_in; k++) {
        const tiles_input *in = plan->in + k;
        const ptrdiff_t stride = call->stride[k];
        const int packed = (call->way & TILES_PACKED_IN) && stride != 0, whole = is_whole(in, call->way);
        const real *from = (const real *)call->in[k] + row_place(row, stride, packed);
        real *to = (real *)(w + in->slot) + lane;
        if (stride == 0 && call->self->take[k].carried < 0) {
            continue; /* see start */
        }
        for (e = 0; e < in->size; e++, to += LANES) {
            const int64_t column = whole ? e : plan->slots[in->table + e];
            *to = whole || column < in->columns ? from[packed ? column * LANES : column] : 0;
        }
    }
    for (e = 0; e < call->self->sums; e++) {
        ((real *)(sums + e))[lane] = (real)-0.0;
    }
}

/* The answers of one state. */
static void give_lane(const repeat_call *call, size_t t, size_t lane, size_t row, int64_t count)
{
    const repeat_plan *self = call->self;
    const int packed = (call->way & TILES_PACKED_OUT) != 0;
    const real_v *const w = call->w + t * call->size, *sums = tile_sums(call, t);
    int64_t k, e;
    for (k = 0; k < self->n_give; k++) {
        const repeat_give *give_k = self->give + k;
        real *to = (real *)call->out[k] + row_place(row, call->out_stride[k], packed);
        if (give_k->output == REPEAT_COUNT) {
            *to = (real)count;
        } else {
            const tiles_output *out = self->plan->out + give_k->output;
            const int columns = packed && !give_k->summed;
            const uint32_t *slot = give_k->summed ? self->line : self->plan->slots + (packed ? out->packed_table : out->table);
            const real *from = (const real *)(give_k->summed ? sums : w) + lane;
            for (e = 0; e < (columns ? out->columns : out->size); e++, to += packed ? LANES : 1) {
                *to = from[(size_t)slot[e] * LANES];
            }
            sums += give_k->summed ? out->size : 0;
        }
    }
}

/* The answers of the first lanes of a tile, whose states follow each other. */
static void give_tile(lanes_call *c, size_t t, size_t rows)
{
    const repeat_call *call = c->call;
    const repeat_plan *self = call->self;
    const size_t first = c->row[t][0];
    real_v *const w = call->w + t * call->size, *sums = tile_sums(call, t);
    size_t l;
    int64_t k;
    for (k = 0; k < self->n_give; k++) {
        const repeat_give *give_k = self->give + k;
        const tiles_output *out = self->plan->out + (give_k->output == REPEAT_COUNT ? 0 : give_k->output);
        const ptrdiff_t stride = call->out_stride[k];
        real *const to = (real *)call->out[k] + (ptrdiff_t)first * stride;
        if (give_k->output == REPEAT_COUNT) {
            for (l = 0; l < rows; l++) {
                to[call->way & TILES_PACKED_OUT ? (ptrdiff_t)l : (ptrdiff_t)l * stride] = (real)(c->clock - c->since[t][l]);
            }
        } else if (give_k->summed) {
            give_slots(call, k, 0, self->line, (size_t)out->size, first, rows, sums);
            sums += out->size;
        } else if (out->size != 0) {
            give(self->plan, out, to, stride, rows, w, call->w + self->plan->stage, call->way);
        }
    }
}

static void finish(lanes_call *c, size_t t, unsigned done)
{
    const size_t *const row = c->row[t], rows = (size_t)__builtin_ctz(~done);
    const int packed = (c->call->way & TILES_PACKED_OUT) != 0;
    size_t l = 1;
    while (l < rows && row[l] == row[0] + l) {
        l++;
    }
    if (done >> rows == 0 && l == rows && (!packed || (rows == LANES && row[0] % LANES == 0))) {
        give_tile(c, t, rows);
    } else {
        for (l = 0; l < LANES; l++) {
            if (done >> l & 1) {
                give_lane(c->call, t, l, row[l], c->clock - c->since[t][l]);
            }
        }
    }
    c->running[t] &= ~done;
}

/* The lanes of a tile that have taken the most steps. */
static unsigned late_lanes(lanes_call *c, size_t t)
{
    const int64_t steps = c->call->self->steps;
    unsigned late = 0;
    size_t l;
    if (c->clock != c->look[t]) {
        return 0;
    }
    c->look[t] += steps;
    for (l = 0; l < LANES; l++) {
        const int64_t end = c->since[t][l] + steps;
        if (c->running[t] >> l & 1) {
            late |= (unsigned)(end == c->clock) << l;
            c->look[t] = end > c->clock && end < c->look[t] ? end : c->look[t];
        }
    }
    return late;
}

static void end_step(lanes_call *c)
{
    const repeat_plan *self = c->call->self;
    const size_t tiles = (size_t)c->group->tiles;
    unsigned done[MOST_TILES], any_done = 0;
    int64_t k, e;
    size_t t;
    c->clock++;
    for (t = 0; t < tiles; t++) {
        real_v *const w = c->call->w + t * c->call->size, *sums = tile_sums(c->call, t);
        for (k = 0; self->sums != 0 && k < self->n_give; k++) {
            const tiles_output *out = self->plan->out + (self->give[k].summed ? self->give[k].output : 0);
            for (e = 0; self->give[k].summed && e < out->size; e++, sums++) {
                *sums = *sums + w[self->plan->slots[out->table + e]];
            }
        }
        done[t] = c->running[t] & ABOVE(w[self->plan->slots[self->plan->out[self->until].table]], cd_splat(0));
        any_done |= done[t];
    }
    for (t = 0; t < tiles; t++) {
        done[t] = self->together && any_done ? c->running[t] : done[t];
        done[t] |= late_lanes(c, t);
        if (done[t]) {
            finish(c, t, done[t]);
        }
    }
}

/* A tile of states that follow each other, at the first step; or, with no state left, whatever is no random number. */
static void begin_lanes(lanes_call *c, size_t t)
{
    const size_t first = c->next < c->n ? c->next : 0, left = c->n - first, rows = left < LANES ? left : LANES;
    const size_t taken = c->rows - c->next < LANES ? c->rows - c->next : LANES;
    size_t l;
    begin_tile(c->call, 0, first, rows, c->call->w + t * c->call->size);
    for (l = 0; l < (size_t)c->call->self->sums; l++) {
        tile_sums(c->call, t)[l] = cd_splat((real)-0.0);
    }
    for (l = 0; l < LANES; l++) {
        c->row[t][l] = c->next + l, c->since[t][l] = c->clock;
    }
    c->look[t] = c->clock + c->call->self->steps;
    c->running[t] = (1u << taken) - 1;
    c->began[t] = first;
    c->next += taken;
}

/* The inputs of the next step; 0 where no state is left. refills: whether a lane takes a state at any time. */
static int begin_step(lanes_call *c, int refills)
{
    repeat_call *const call = c->call;
    const size_t tiles = (size_t)c->group->tiles;
    const int packed = (call->way & (TILES_PACKED_IN | TILES_PACKED_OUT)) != 0;
    unsigned running = 0;
    size_t t, l;
    for (t = 0; t < tiles; t++) {
        running |= c->running[t];
    }
    if (!refills) {
        point(call, running ? c->clock - c->since[0][0] : 0);
    }
    for (t = 0; t < tiles; t++) {
        if (running && (c->running[t] || !refills)) {
            const size_t left = c->n - c->began[t];
            carry(call->self, call->w + t * call->size, call->room);
            if (!refills) {
                take_step(call, c->clock - c->since[0][0], c->began[t], left < LANES ? left : LANES, call->w + t * call->size);
            }
        }
        if (c->next >= c->rows || (running && !refills)) {
            continue;
        }
        if (c->running[t] == 0 && c->next < c->n && (!packed || c->next % LANES == 0)) {
            begin_lanes(c, t);
        } else if (c->running[t] == 0) {
            c->look[t] = c->clock + call->self->steps;
        }
        for (l = 0; c->running[t] != ALL_LANES && l < LANES && c->next < c->rows; l++) {
            if (!(c->running[t] >> l & 1)) {
                put_lane(call, t, l, c->next < c->n ? c->next : c->n - 1);
                c->row[t][l] = c->next++, c->since[t][l] = c->clock;
                c->running[t] |= 1u << l;
            }
        }
    }
    for (t = 0; t < tiles; t++) {
        running |= c->running[t];
    }
    while (!c->whole && c->next >= c->rows && c->group->tiles > 1 && !c->running[c->group->tiles - 1]) {
        c->group->tiles--;
    }
    return running != 0;
}

static void run_lanes(size_t n, repeat_call *call, tiles_group *group, int whole)
{
    const repeat_plan *self = call->self;
    lanes_call c = {.call = call, .group = group, .n = n, .rows = n, .whole = whole};
    int refills = 1;
    size_t t;
    int64_t k;
    if (call->way & TILES_PACKED_OUT) {
        c.rows = (n + LANES - 1) / LANES * LANES;
    }
    for (k = 0; k < self->n_in; k++) {
        refills = refills && self->take[k].every == 0;
    }
    for (t = 0; t < (size_t)group->tiles; t++) {
        begin_lanes(&c, t);
    }
    do {
        compute(self->plan, group);
        end_step(&c);
    } while (begin_step(&c, refills));
}

/* One answer of a step so far. */
static void give_together(const repeat_call *call, int64_t k, size_t first, size_t rows, real_v *w, int begins)
{
    const repeat_give *give_k = call->self->give + k;
    const tiles_plan *plan = call->self->plan;
    const tiles_output *out = plan->out + (give_k->output == REPEAT_COUNT ? 0 : give_k->output);
    real *to = (real *)call->out[k] + (ptrdiff_t)first * call->out_stride[k];
    size_t row;
    int64_t e;
    if (give_k->output == REPEAT_COUNT || out->size == 0) {
        return;
    }
    if (!give_k->summed) {
        give(plan, out, to, call->out_stride[k], rows, w, call->w + plan->stage, 0);
        return;
    }
    for (row = 0; row < rows; row++, to += call->out_stride[k]) {
        for (e = 0; e < out->size; e++) {
            const real x = ((const real *)(w + plan->slots[out->table + e]))[row];
            to[e] = begins ? x : to[e] + x;
        }
    }
}

/* The states of a call take each step together. What they carry stands among the answers. */
static void run_together(size_t n, repeat_call *call, tiles_group *group, size_t most)
{
    const repeat_plan *self = call->self;
    const tiles_plan *plan = self->plan;
    const uint32_t ends = plan->slots[plan->out[self->until].table];
    const void *in[REPEAT_PORTS];
    ptrdiff_t stride[REPEAT_PORTS];
    size_t first, t, row;
    unsigned done = 0;
    int64_t s, k, other;
    memcpy(in, call->in, (size_t)plan->n_in * sizeof *in);
    memcpy(stride, call->stride, (size_t)plan->n_in * sizeof *stride);
    call->in = in, call->stride = stride, call->way = 0;
    for (s = 0; s < self->steps && !done; s++) {
        point(call, s);
        for (first = 0; first < n; first += LANES * most) {
            for (t = 0; t < (size_t)group->tiles; t++) {
                const size_t at = first + LANES * t < n ? first + LANES * t : first, rows = n - at < LANES ? n - at : LANES;
                begin_tile(call, s, at, rows, call->w + t * call->size);
            }
            compute(plan, group);
            for (t = 0; t < (size_t)group->tiles && first + LANES * t < n; t++) {
                const size_t at = first + LANES * t, rows = n - at < LANES ? n - at : LANES;
                real_v *const w = call->w + t * call->size;
                done |= ABOVE(w[ends], cd_splat(0)); /* lanes without a state repeat the last one */
                for (k = 0; k < self->n_give; k++) {
                    give_together(call, k, at, rows, w, s == 0);
                }
            }
        }
        for (k = 0; k < plan->n_in; k++) {
            for (other = 0; self->take[k].carried >= 0 && other < self->n_give; other++) {
                if (self->give[other].output == self->take[k].carried && !self->give[other].summed) {
                    in[k] = call->out[other], stride[k] = call->out_stride[other];
                }
            }
        }
    }
    for (k = 0; k < self->n_give; k++) {
        for (row = 0; self->give[k].output == REPEAT_COUNT && row < n; row++) {
            ((real *)call->out[k])[(ptrdiff_t)row * call->out_stride[k]] = (real)s;
        }
    }
}

/* most: tiles that run side by side. whole: so many run always. */
static void run_until(size_t n, repeat_call *call, tiles_group *group, size_t most, int whole)
{
    const size_t tiles = (n + LANES - 1) / LANES;
    group->tiles = (int64_t)(tiles < most && !whole ? tiles : most);
    if (call->self->together && tiles > most) {
        run_together(n, call, group, most);
    } else {
        run_lanes(n, call, group, whole);
    }
}
