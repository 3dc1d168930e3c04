/* One state alone, or a few of them one after another; see single.h. Comes behind driver.h: its sines are those of tiles. */
#include "single.h"

typedef void single_kernel(void *w, const void *constants, void *const *rows);

static void load_angles(const real *from, size_t count, real *w, size_t to)
{
    if (to % LANES == 0) {
        *(real_v *)(w + to) = cd_get(from, count);
    } else {
        memcpy(w + to, from, count * sizeof *w);
    }
}

static void take_sines(real_v *w, size_t count)
{
    static const cd_slot three[3] = {0, 1, 2};
    size_t k;
    for (k = 0; k < count; k++) {
        cd_sincos(w + 3 * k, three, 1);
    }
}

static void reach_all(real_v *w, size_t count)
{
    static const cd_slot one[1] = {0};
    size_t k;
    for (k = 0; k < count; k++) {
        within_reach(w + k, one, 1);
    }
}

static void do_step(const single_plan *plan, const single_step *step, void *const *memory)
{
    real *const w = (real *)memory[0];
    switch (step->kind) {
    case SINGLE_KERNEL:
        ((single_kernel *)(uintptr_t)(plan->code + step->a))(w, plan->constants, memory + 2);
        break;
    case SINGLE_LOAD:
        load_angles((const real *)memory[step->a] + step->b, (size_t)step->c, w, (size_t)step->d);
        break;
    case SINGLE_SINES:
        take_sines((real_v *)(w + step->a), (size_t)step->b);
        break;
    case SINGLE_COPY:
        ((real *)memory[step->c])[step->d] = ((const real *)memory[step->a])[step->b];
        break;
    case SINGLE_REACH:
        reach_all((real_v *)(w + step->a), (size_t)step->b);
        break;
    default:
        memset(memory[step->a], 0, (size_t)step->b * sizeof *w);
    }
}

static int run_single(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const void *context)
{
    const single_plan *plan = (const single_plan *)context;
    void *memory[SINGLE_MOST];
    size_t state;
    int64_t k;
    memory[0] = work;
    memory[1] = (void *)(uintptr_t)plan->constants;
    for (state = 0; state < n; state++) {
        for (k = 0; k < plan->n_in; k++) {
            memory[2 + k] = (void *)(uintptr_t)((const real *)in[k] + (ptrdiff_t)state * in_stride[k]);
        }
        for (k = 0; k < plan->n_out; k++) {
            memory[2 + plan->n_in + k] = (real *)out[k] + (ptrdiff_t)state * out_stride[k];
        }
        for (k = 0; k < plan->n_step; k++) {
            do_step(plan, plan->step + k, memory);
        }
    }
    return 0;
}

single_run *const SINGLE_ENTRY = run_single;

/* n columns, whole vectors of them: a panel's next group comes behind `stride` vectors, and what all share has stride 0; the
 * kernels were made for the shared inputs in the bits of the first step's second number. A step is for columns from its third
 * number on. */
static int run_columns(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                       const ptrdiff_t *out_stride, void *work, const void *context)
{
    const single_plan *plan = (const single_plan *)context;
    const single_step *step = plan->step, *const last = step + plan->n_step - 1;
    void *row[SINGLE_MOST];
    size_t state;
    int64_t k;
    for (k = 0; k < plan->n_in; k++) {
        if ((in_stride[k] == 0) != (plan->step->b >> k & 1)) {
            return NOT_SHARED;
        }
    }
    for (state = 0; state < n; state += LANES) {
        for (k = 0; k < plan->n_in; k++) {
            row[k] = (void *)(uintptr_t)((const real *)in[k] + (ptrdiff_t)state * in_stride[k]);
        }
        for (k = 0; k < plan->n_out; k++) {
            row[plan->n_in + k] = (real *)out[k] + (ptrdiff_t)state * out_stride[k];
        }
        if (step < last && (size_t)step[1].c <= state) {
            step++;
        }
        ((single_kernel *)(uintptr_t)(plan->code + step->a))(work, plan->constants, row);
    }
    return 0;
}

single_run *const COLUMNS_ENTRY = run_columns;
