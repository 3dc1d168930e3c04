/* The driver of loops over time for one state; see repeat.h. A step writes its outputs to one of two rooms in turns, and the
 * next step reads them there. */
#include "repeat.h"

/* Where input k is at step t, and what it is. from: its array; before: the room of the step before, or NULL. */
static const real *lone_input(const repeat_plan *self, int64_t k, int64_t t, const real *from, const real *before,
                              real *moving)
{
    const int64_t carried = self->take[k].carried, every = self->take[k].every, size = self->in_size[k];
    const int64_t row = every ? repeat_row(self, every, t) : 0;
    int64_t e;
    if (carried >= 0 && before != NULL) {
        for (e = 0; e < carried; e++) {
            before += self->out_size[e];
        }
    } else {
        before = NULL;
    }
    if (every == 0 || row < 0) {
        if (before == NULL && every != 0) {
            memset(moving, 0, (size_t)size * sizeof *moving);
            return moving;
        }
        return before != NULL ? before : from;
    }
    from += row * size;
    if (before == NULL) {
        return from;
    }
    for (e = 0; e < size; e++) {
        moving[e] = before[e] + from[e];
    }
    return moving;
}

static void lone_give(const repeat_plan *self, int64_t k, int64_t t, int begins, int ends, real *const *outputs, real *to)
{
    const repeat_give *give_k = self->give + k;
    const real count = (real)(t + 1), *from = give_k->output == REPEAT_COUNT ? &count : outputs[give_k->output];
    const int64_t size = from == &count ? 1 : self->out_size[give_k->output], every = give_k->every;
    const int64_t row = every ? repeat_row(self, every, t) : ends ? 0 : -1;
    int64_t e;
    if (give_k->summed) {
        for (e = 0; e < size; e++) {
            to[e] = begins ? from[e] : to[e] + from[e];
        }
    } else if (row >= 0) {
        memcpy(to + row * size, from, (size_t)size * sizeof *to);
    }
}

static int run_repeat_single(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                             const ptrdiff_t *out_stride, void *work, const void *context)
{
    const repeat_plan *self = (const repeat_plan *)context;
    const single_plan *plan = self->single;
    void *memory[SINGLE_MOST];
    real *const room = (real *)work + self->body, *outputs[REPEAT_PORTS];
    size_t state;
    int64_t s, k;
    memory[0] = work;
    memory[1] = (void *)(uintptr_t)plan->constants;
    for (state = 0; state < n; state++) {
        const real *before = NULL;
        int ends = 0;
        for (s = 0; s < self->steps && !ends; s++) {
            const int64_t t = self->backwards ? self->steps - 1 - s : s;
            real *now = room + self->moving + (s & 1) * self->sums, *moving = room;
            for (k = 0; k < self->n_in; k++) {
                const real *from = (const real *)in[k] + (ptrdiff_t)state * in_stride[k];
                memory[2 + k] = (void *)(uintptr_t)lone_input(self, k, t, from, before, moving);
                moving += self->in_size[k];
            }
            before = now;
            for (k = 0; k < self->n_out; k++) {
                memory[2 + self->n_in + k] = outputs[k] = now;
                now += self->out_size[k];
            }
            for (k = 0; k < plan->n_step; k++) {
                do_step(plan, plan->step + k, memory);
            }
            ends = s + 1 == self->steps || (self->until >= 0 && outputs[self->until][0] > 0);
            for (k = 0; k < self->n_give; k++) {
                lone_give(self, k, t, s == 0, ends, outputs, (real *)out[k] + (ptrdiff_t)state * out_stride[k]);
            }
        }
    }
    return 0;
}

tiles_run *const REPEAT_SINGLE_ENTRY = run_repeat_single;
