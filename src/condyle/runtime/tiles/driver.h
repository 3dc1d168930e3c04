/* One call of machine code on a batch: the tiles that generated C has, with the robot as data. REAL_BITS and TILES_ENTRY
 * are defined above, and the instruction set is chosen there. */
#include "vector.h"
typedef uint32_t cd_slot;
#include "sincos.h"
#include "tiles.h"

typedef void tiles_kernel(void *w, const void *constants);

static void compute(const tiles_plan *plan, real_v *w)
{
    int64_t k;
    for (k = 0; k < plan->n_step; k++) {
        const int64_t *step = plan->step + 3 * k;
        if (step[0] < 0) {
            cd_sincos(w, plan->slots + step[1], (size_t)step[2]);
        } else {
            ((tiles_kernel *)(uintptr_t)(plan->code + step[0]))(w, plan->constants);
        }
    }
}

static int run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
               const ptrdiff_t *out_stride, void *work, const void *context)
{
    const tiles_plan *plan = (const tiles_plan *)context;
    real_v *const w = (real_v *)work;
    size_t first;
    int64_t k;
    for (k = 0; k < plan->n_value; k++) {
        w[plan->value_slot[k]] = cd_splat(((const real *)plan->values)[k]);
    }
    for (k = 0; k < plan->n_in; k++) {
        if (in_stride[k] == 0) {
            cd_pack_one((const real *)in[k], (size_t)plan->in[2 * k + 1], w + plan->in[2 * k]);
        }
    }
    for (first = 0; first < n; first += LANES) {
        const size_t rows = n - first < LANES ? n - first : LANES;
        for (k = 0; k < plan->n_in; k++) {
            if (in_stride[k] != 0) {
                const real *from = (const real *)in[k] + (ptrdiff_t)first * in_stride[k];
                cd_pack(from, in_stride[k], rows, (size_t)plan->in[2 * k + 1], w + plan->in[2 * k]);
            }
        }
        compute(plan, w);
        for (k = 0; k < plan->n_out; k++) {
            if (plan->out[2 * k + 1] != 0) {
                real *to = (real *)out[k] + (ptrdiff_t)first * out_stride[k];
                cd_unpack(w, plan->slots + plan->out[2 * k], (size_t)plan->out[2 * k + 1], to, out_stride[k], rows);
            }
        }
    }
    return 0;
}

tiles_run *const TILES_ENTRY = run;
