/* Loops over time that end; see repeat.h. Each lane has a state until that one is done. Its answers are written then, and
 * the next state of the batch takes the lane. Where inputs have a time axis, all lanes take the same step of it: the next
 * states come when all are done. */
#include "repeat.h"

typedef struct {
    repeat_call *call;
    tiles_group *group;
    size_t n, rows, next;            /* states; with those of packed arrays that fill the last tile; the next one */
    int64_t clock, look[MOST_TILES]; /* steps taken; when some state of a tile may have taken the most */
    unsigned running[MOST_TILES];    /* lanes that have a state, as bits */
    int whole, refills;              /* whether all tiles run always; whether a lane takes a state at any time */
    size_t row[MOST_TILES][LANES];
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

/* The next state to one lane, but for what has a time axis; and sums of nothing: -0 + x is x for every x. Without a next
 * state the lane has the last one again, and does not run. */
static void put_lane(lanes_call *c, size_t t, size_t lane)
{
    const repeat_call *call = c->call;
    const repeat_plan *self = call->self;
    const size_t row = c->next < c->n ? c->next : c->n - 1;
    real_v *const w = call->w + t * call->size, *const sums = tile_sums(call, t);
    int64_t k, e;
    for (k = 0; k < self->n_in; k++) {
        const tiles_input *in = self->plan->in + k;
        const ptrdiff_t stride = call->stride[k];
        const int packed = (call->way & TILES_PACKED_IN) && stride != 0, whole = is_whole(in, call->way);
        const real *from = (const real *)call->in[k] + row_place(row, stride, packed);
        real *to = (real *)(w + in->slot) + lane;
        if (self->take[k].every != 0 || (stride == 0 && self->take[k].carried < 0)) {
            continue; /* see take_step, and start */
        }
        for (e = 0; e < in->size; e++, to += LANES) {
            const int64_t column = whole ? e : self->plan->slots[in->table + e];
            *to = whole || column < in->columns ? from[packed ? column * LANES : column] : 0;
        }
    }
    for (e = 0; e < self->sums; e++) {
        ((real *)(sums + e))[lane] = (real)-0.0;
    }
    c->row[t][lane] = c->next, c->since[t][lane] = c->clock;
    c->running[t] |= (unsigned)(c->next < c->rows) << lane;
    c->next += c->next < c->rows;
}

/* The answers of one state; its count alone where the tile gives the others. */
static void give_lane(lanes_call *c, size_t t, size_t lane, int counts)
{
    const repeat_call *call = c->call;
    const repeat_plan *self = call->self;
    const int packed = (call->way & TILES_PACKED_OUT) != 0;
    const real_v *const w = call->w + t * call->size, *sums = tile_sums(call, t);
    int64_t k, e;
    for (k = 0; k < self->n_give; k++) {
        const repeat_give *give_k = self->give + k;
        real *to = (real *)call->out[k] + row_place(c->row[t][lane], call->out_stride[k], packed);
        if (give_k->output == REPEAT_COUNT) {
            *to = (real)(c->clock - c->since[t][lane]);
        } else if (!counts) {
            const tiles_output *out = self->plan->out + give_k->output;
            const int64_t size = packed && !give_k->summed ? out->columns : out->size;
            const uint32_t *slot = give_k->summed ? self->line : self->plan->slots + (packed ? out->packed_table : out->table);
            const real *from = (const real *)(give_k->summed ? sums : w) + lane;
            for (e = 0; e < size; e++, to += packed ? LANES : 1) {
                *to = from[(size_t)slot[e] * LANES];
            }
            sums += give_k->summed ? size : 0;
        }
    }
}

/* States that follow each other to a tile, all inputs of their first step. */
static void put_tile(lanes_call *c, size_t t)
{
    const size_t left = c->n - c->next, most = c->rows - c->next < LANES ? c->rows - c->next : LANES;
    size_t l;
    begin_tile(c->call, 0, c->next, left < LANES ? left : LANES, c->call->w + t * c->call->size);
    for (l = 0; l < (size_t)c->call->self->sums; l++) {
        tile_sums(c->call, t)[l] = cd_splat((real)-0.0);
    }
    for (l = 0; l < LANES; l++) {
        c->row[t][l] = c->next + l, c->since[t][l] = c->clock;
    }
    c->running[t] = (1u << most) - 1;
    c->next += most;
}

/* How many states that follow each other these lanes have, from the first one on; 0 where they are others. */
static size_t tile_rows(const lanes_call *c, size_t t, unsigned lanes)
{
    const size_t rows = (size_t)__builtin_ctz(~lanes), first = c->row[t][0];
    const int packed = (c->call->way & TILES_PACKED_OUT) != 0;
    size_t l = 0;
    while (l < rows && c->row[t][l] == first + l) {
        l++;
    }
    return lanes >> rows == 0 && l == rows && (!packed || (rows == LANES && first % LANES == 0)) ? rows : 0;
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

CD_INLINE void add_sums(const repeat_plan *self, const real_v *w, real_v *sums)
{
    int64_t k, e;
    for (k = 0; k < self->n_give; k++) {
        if (self->give[k].summed) {
            const tiles_output *out = self->plan->out + self->give[k].output;
            const uint32_t *slot = self->plan->slots + out->table;
            for (e = 0; e < out->size; e++) {
                sums[e] = sums[e] + w[slot[e]];
            }
            sums += out->size;
        }
    }
}

/* Ends the states that are done. */
static void end_step(lanes_call *c)
{
    const repeat_plan *self = c->call->self;
    const size_t tiles = (size_t)c->group->tiles, flag = self->plan->slots[self->plan->out[self->until].table];
    unsigned done[MOST_TILES], any_done = 0;
    size_t t, l;
    c->clock++;
    for (t = 0; t < tiles; t++) {
        done[t] = c->running[t] & ABOVE(c->call->w[t * c->call->size + flag], cd_splat(0));
        any_done |= done[t];
    }
    for (t = 0; t < tiles; t++) {
        real_v *const w = c->call->w + t * c->call->size;
        size_t rows;
        done[t] = (self->together && any_done ? c->running[t] : done[t]) | late_lanes(c, t);
        rows = done[t] != 0 ? tile_rows(c, t, done[t]) : 0;
        if (rows != 0) {
            give_step(c->call, 0, 0, 1, c->row[t][0], rows, w, tile_sums(c->call, t));
        } else if (self->sums != 0) {
            add_sums(self, w, tile_sums(c->call, t));
        }
        for (l = 0; done[t] >> l != 0; l++) {
            if (done[t] >> l & 1) {
                give_lane(c, t, l, rows != 0);
            }
        }
        c->running[t] &= ~done[t];
    }
}

/* The inputs of the next step, the first one too; 0 where no state is left. */
static int begin_step(lanes_call *c)
{
    repeat_call *const call = c->call;
    const size_t tiles = (size_t)c->group->tiles;
    const int begins = c->clock == 0;
    int takes;
    unsigned running = 0;
    int64_t time;
    size_t t, l;
    for (t = 0; t < tiles; t++) {
        running |= c->running[t];
    }
    for (t = 0; t < tiles; t++) {
        if (c->running[t] != 0) {
            carry(call->self, call->w + t * call->size, call->room);
        } else {
            c->look[t] = c->clock + call->self->steps;
        }
        if (c->running[t] == 0 && !running && c->next < c->n && c->next % LANES == 0) {
            put_tile(c, t);
            continue;
        }
        takes = begins || (c->next < c->rows && c->running[t] != ALL_LANES && (c->refills || !running));
        for (l = 0; takes && l < LANES; l++) {
            if (!(c->running[t] >> l & 1)) {
                put_lane(c, t, l);
            }
        }
    }
    for (t = 0, running = 0; t < tiles; t++) {
        running |= c->running[t];
    }
    time = running != 0 ? c->clock - c->since[0][0] : 0;
    point(call, c->refills ? 0 : time);
    for (t = 0; t < tiles && !c->refills && running != 0; t++) {
        const size_t first = c->row[t][0] < c->n ? c->row[t][0] : 0, left = c->n - first;
        take_step(call, time, first, left < LANES ? left : LANES, call->w + t * call->size);
    }
    while (!c->whole && c->next >= c->rows && c->group->tiles > 1 && !c->running[c->group->tiles - 1]) {
        c->group->tiles--;
    }
    return running != 0;
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
    lanes_call c = {.call = call, .group = group, .n = n, .rows = n, .whole = whole, .refills = 1};
    int64_t k;
    group->tiles = (int64_t)(tiles < most && !whole ? tiles : most);
    if (call->self->together && tiles > most) {
        run_together(n, call, group, most);
        return;
    }
    if (call->way & TILES_PACKED_OUT) {
        c.rows = tiles * LANES;
    }
    for (k = 0; k < call->self->n_in; k++) {
        c.refills = c.refills && call->self->take[k].every == 0;
    }
    while (begin_step(&c)) {
        compute(call->self->plan, group);
        end_step(&c);
    }
}
