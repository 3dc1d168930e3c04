/* One call of machine code on a batch: the tiles that generated C has, with the robot as data. REAL_BITS and TILES_ENTRY
 * are defined above, and the instruction set is chosen there. */
#include "../unit.h"
#include "vector.h"
typedef uint32_t cd_slot;
#include "sincos.h"
#include "transpose.h"
#include "tiles.h"
#include "product.h"
#include "side.h"
#include "blocks.h"
#include "loops.h"

typedef void tiles_kernel(void *w, const void *constants);

/* An angle beyond CD_REACH becomes the same angle in -pi .. pi, to rounding; infinities and NaN stay. */
static __attribute__((noinline)) void bring_back(real_v *w, const cd_slot *slot, size_t count)
{
    size_t k, l;
    for (k = 0; k < count; k++) {
        for (l = 0; l < LANES; l++) {
            real *const x = (real *)&w[slot[k]] + l;
            if (isfinite(*x) && (*x > CD_REACH || *x < -CD_REACH)) {
                *x = (real)atan2(sin((double)*x), cos((double)*x));
            }
        }
    }
}

/* The larger number of each lane, the second where one is NaN; the lanes where x is above y, as bits. */
#if CD_BYTES == 64 && REAL_BITS == 64
#define LARGER(x, y) __builtin_ia32_maxpd512_mask(x, y, y, (unsigned char)-1, 4)
#define ABOVE(x, y) (unsigned)__builtin_ia32_cmppd512_mask(x, y, 30, (unsigned char)-1, 4)
#elif CD_BYTES == 64
#define LARGER(x, y) __builtin_ia32_maxps512_mask(x, y, y, (unsigned short)-1, 4)
#define ABOVE(x, y) (unsigned)__builtin_ia32_cmpps512_mask(x, y, 30, (unsigned short)-1, 4)
#elif REAL_BITS == 64
#define LARGER(x, y) __builtin_ia32_maxpd256(x, y)
#define ABOVE(x, y) (unsigned)__builtin_ia32_movmskpd256((real_v)((x) > (y)))
#else
#define LARGER(x, y) __builtin_ia32_maxps256(x, y)
#define ABOVE(x, y) (unsigned)__builtin_ia32_movmskps256((real_v)((x) > (y)))
#endif

static void within_reach(real_v *w, const cd_slot *slot, size_t count)
{
    const bits_v size = ~(bits_v)-cd_splat(0);
    real_v most = cd_splat(0);
    size_t k;
    for (k = 0; k < count; k++) {
        most = LARGER((real_v)((bits_v)w[slot[k]] & size), most);
    }
    if (ABOVE(most, cd_splat(CD_REACH))) {
        bring_back(w, slot, count);
    }
}

/* One step that is no loop, of one tile. */
static void do_one(const tiles_plan *plan, const int64_t *step, real_v *w)
{
    if (step[0] == TILES_REACH) {
        within_reach(w, plan->slots + step[1], (size_t)step[2]);
    } else if (step[0] == TILES_SINES) {
        cd_sincos(w, plan->slots + step[1], (size_t)step[2]);
    } else {
        ((tiles_kernel *)(uintptr_t)(plan->code + step[0]))(w, plan->constants);
    }
}

/* Whether the flag in this slot is above 0 in all lanes of all tiles. */
static int all_done(const tiles_group *group, int64_t slot)
{
    int64_t t;
    for (t = 0; t < group->tiles; t++) {
        if (!cd_done(group->w + t * group->size, (size_t)slot)) {
            return 0;
        }
    }
    return 1;
}

static void compute(const tiles_plan *plan, const tiles_group *group)
{
    int64_t k, t, times = 0;
    for (k = 0; k < plan->n_step; k++) {
        const int64_t *step = plan->step + 3 * k;
        if (step[0] == TILES_LOOPS) {
            run_loops(plan, step[1], step[2], group);
        } else if (step[0] == TILES_AGAIN) {
            const int64_t *word = plan->loops + step[1];
            times++;
            if (times < word[2] && (word[1] < 0 || !all_done(group, word[1]))) {
                k = word[0] - 1;
            } else {
                times = 0;
            }
        } else {
            for (t = 0; t < group->tiles; t++) {
                do_one(plan, step, group->w + t * group->size);
            }
        }
    }
}

static void take(const tiles_plan *plan, const tiles_input *in, const real *from, ptrdiff_t stride, size_t rows, real_v *w,
                 int way)
{
    if (stride == 0) {
        return; /* see start */
    }
    if (way & TILES_PACKED_IN) {
        load_block(plan, in, from, w);
    } else {
        cd_pack(from, stride, rows, (size_t)in->size, w + in->slot);
    }
}

static void give(const tiles_plan *plan, const tiles_output *out, real *to, ptrdiff_t stride, size_t rows, real_v *w,
                 real_v *stage, int way)
{
    const uint32_t *slot = plan->slots + out->table;
    const size_t size = (size_t)out->size;
    if (way & TILES_PACKED_OUT) {
        store_block(plan, out, w, to, way & TILES_STREAM);
    } else if (rows == LANES) {
        give_rows(w, slot, size, to, stride, (real *)stage, way & TILES_STREAM);
    } else {
        cd_unpack(w, slot, size, to, stride, rows);
    }
}

/* One row that serves all states; of an input that comes packed with some columns left out these columns. */
static void take_one(const tiles_plan *plan, const tiles_input *in, const real *row, real_v *w, int way)
{
    int64_t k;
    if (is_whole(in, way)) {
        cd_pack_one(row, (size_t)in->size, w + in->slot);
        return;
    }
    for (k = 0; k < in->size; k++) {
        const int64_t from = plan->slots[in->table + k];
        w[in->slot + k] = cd_splat(from < in->columns ? row[from] : 0);
    }
}

/* What is the same for all tiles. A row that only products read, on the left, stays where it is. */
static void start(const tiles_plan *plan, const void *const *in, const ptrdiff_t *in_stride, real_v *w, int way)
{
    const int64_t held = plan->n_loop > 0 ? plan->loops[LOOPS_HELD] : 0;
    int64_t k;
    for (k = 0; k < plan->n_value; k++) {
        w[plan->value_slot[k]] = cd_splat(((const real *)plan->values)[k]);
    }
    for (k = 0; k < plan->n_in; k++) {
        if (in_stride[k] == 0 && !(held != 0 && (held >> k & 1) && is_whole(plan->in + k, way))) {
            take_one(plan, plan->in + k, (const real *)in[k], w, way);
        }
    }
}

/* The states of a tile with a quaternion that has not unit length, but for rows that serve all states. A comparison with NaN
 * does not hold: that state's own answer says it. A tile of fewer rows repeats its last one. */
static bits_v not_unit(const tiles_plan *plan, const ptrdiff_t *in_stride, const real_v *w)
{
    const real_v least = cd_splat((real)LEAST_SQUARE), most = cd_splat((real)MOST_SQUARE);
    bits_v far = {0};
    int64_t k;
    for (k = 0; k < plan->n_unit; k++) {
        const real_v *const q = w + plan->unit[2 * k + 1];
        const real_v square = q[0] * q[0] + q[1] * q[1] + (q[2] * q[2] + q[3] * q[3]);
        if (in_stride[plan->unit[2 * k]] != 0) {
            far |= (bits_v)(square < least) | (bits_v)(square > most);
        }
    }
    return far;
}

static int any(bits_v lanes)
{
    real_bits all = 0;
    size_t l;
    for (l = 0; l < LANES; l++) {
        all |= lanes[l];
    }
    return all != 0;
}

/* How many tiles run side by side: one where left factors that might be the same for all states are not. */
static size_t beside(const tiles_plan *plan, const ptrdiff_t *in_stride)
{
    int64_t k;
    if (plan->n_loop == 0) {
        return 1;
    }
    for (k = 0; plan->loops[LOOPS_HELD] >> k != 0; k++) {
        if ((plan->loops[LOOPS_HELD] >> k & 1) && in_stride[k] != 0) {
            return 1;
        }
    }
    return (size_t)plan->loops[LOOPS_TILES];
}

/* Tiles that run side by side have their workspaces behind each other. Blocks of machine code do all of them: for want of a
 * second tile the first one runs twice. */
static int run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
               const ptrdiff_t *out_stride, void *work, const tiles_plan *plan, int way)
{
    real_v *const w = (real_v *)work;
    const size_t most = beside(plan, in_stride);
    const size_t size = plan->n_loop > 0 ? (size_t)plan->loops[LOOPS_SIZE] : 0;
    const int whole = plan->n_loop > 0 && plan->loops[LOOPS_RECORDS] > 0;
    tiles_group group = {w, 0, (int64_t)size, in, in_stride, way};
    bits_v far = {0};
    size_t first, t;
    int64_t k;
    for (t = 0; t < most; t++) {
        start(plan, in, in_stride, w + t * size, way);
    }
    for (first = 0; first < n; first += LANES * most) {
        const size_t left = (n - first + LANES - 1) / LANES, tiles = left < most && !whole ? left : most;
        for (t = 0; t < tiles; t++) {
            const size_t at = first + LANES * t < n ? first + LANES * t : first, rows = n - at < LANES ? n - at : LANES;
            for (k = 0; k < plan->n_in; k++) {
                const real *from = (const real *)in[k] + (ptrdiff_t)at * in_stride[k];
                take(plan, plan->in + k, from, in_stride[k], rows, w + t * size, way);
            }
            if (plan->n_unit > 0) {
                far |= not_unit(plan, in_stride, w + t * size);
            }
        }
        group.tiles = (int64_t)tiles;
        compute(plan, &group);
        for (t = 0; t < tiles && first + LANES * t < n; t++) {
            const size_t at = first + LANES * t, rows = n - at < LANES ? n - at : LANES;
            for (k = 0; k < plan->n_out; k++) {
                real *to = (real *)out[k] + (ptrdiff_t)at * out_stride[k];
                if (plan->out[k].size != 0) {
                    give(plan, plan->out + k, to, out_stride[k], rows, w + t * size, w + plan->stage, way);
                }
            }
        }
    }
    if (way & TILES_STREAM) {
        __builtin_ia32_sfence();
    }
    return plan->n_unit > 0 && any(far) ? NOT_UNIT : 0;
}

#define RUN(way) \
    static int run_##way(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out, \
                         const ptrdiff_t *out_stride, void *work, const void *context) \
    { \
        return run(n, in, in_stride, out, out_stride, work, (const tiles_plan *)context, way); \
    }
RUN(0)
RUN(1)
RUN(2)
RUN(3)
RUN(4)
RUN(5)
RUN(6)
RUN(7)

static tiles_run *const ways[TILES_WAYS] = {run_0, run_1, run_2, run_3, run_4, run_5, run_6, run_7};
tiles_run *const *const TILES_ENTRY = ways;
