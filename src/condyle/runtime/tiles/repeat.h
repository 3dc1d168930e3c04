/* A loop over time around a Plan or a Single: what a tile does at each step beside calling its code.
 *
 * Inputs and outputs are those of the body (ir/loops.py says the same of arrays). A take is two numbers an input: the
 * output that it carries, or -1, and `every`. every 0: the array has one value, at the first step; then the input is what
 * was carried, or stays. every k: the array has a row for each kept step, those of every k and the last one; the row is
 * the input, or is added to what is carried; at other steps nothing is, or the input is zero. A give is three numbers an
 * answer: the output, `every` (0: the last step alone), and whether it is the sum over all steps instead. REPEAT_COUNT in
 * place of the output: how many steps there were.
 *
 * A loop with `until` ends for each state with the first step whose output of that number is above 0; together: for all
 * states of a call at once.
 *
 * Numbers (int64): steps, whether time runs backwards, the count of gives, `until` or -1, together; the takes, one for
 * each input of the body; the gives. */
#ifndef CONDYLE_REPEAT_H
#define CONDYLE_REPEAT_H
#include "plan.h"
#include "single.h"

#define REPEAT_PORTS 32 /* inputs, and answers, at most */
#define REPEAT_COUNT -1

typedef struct {
    int64_t carried, every;
} repeat_take;

typedef struct {
    int64_t output, every, summed;
} repeat_give;

typedef struct {
    const tiles_plan *plan;    /* the body on tiles, */
    const single_plan *single; /* or on one state */
    const repeat_take *take;
    const repeat_give *give;
    const uint32_t *line; /* 0, 1, 2, ...: slots of entries that stand in their own order */
    int64_t in_size[REPEAT_PORTS], out_size[REPEAT_PORTS]; /* entries of the body's inputs and outputs */
    int64_t n_in, n_out, n_give, steps, backwards, until, together;
    int64_t body;   /* slots of the body's workspace; of one state, numbers. Behind it: */
    int64_t moving; /* for entries on their way */
    int64_t sums;   /* for sums, once for each tile side by side; of one state, for all outputs, twice */
    int64_t direct; /* whether no carried output stands in the slot of another carried input */
} repeat_plan;

/* The row of step t where every so many are kept, and the last one; -1 if it is not kept. Divisions take time. */
static inline int64_t repeat_row(const repeat_plan *self, int64_t every, int64_t t)
{
    return every == 1 ? t : (t + 1) % every == 0 || t == self->steps - 1 ? t / every : -1;
}

#define DRIVERS(set, bytes) \
    extern tiles_run *const *const repeat_##set##_64, *const *const repeat_##set##_32; \
    extern tiles_run *const repeat_single_##set##_64, *const repeat_single_##set##_32;
INSTRUCTION_SETS(DRIVERS)
#undef DRIVERS
#endif
