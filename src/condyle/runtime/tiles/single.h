/* What one state alone is computed by: steps that read the caller's rows and write them, with one small workspace. The same
 * serves for columns of panels, a vector of them at a time, with steps that are kernels.
 *
 * Memories: 0 the workspace, 1 the constants, then the rows of the inputs and of the outputs. A step is five numbers:
 *
 *     0 KERNEL offset          machine code, `void kernel(void *w, const void *constants, void *const *rows)`
 *     1 LOAD   m, i, n, to     n numbers from entry i of memory m to the workspace from `to`, within one vector
 *     2 SINES  at, n           n times three vectors in the workspace from `at`: angles, their sines, their cosines
 *     3 COPY   m, i, to, j     one number
 *     4 CLEAR  m, n            a whole output
 *     5 REACH  at, n           n vectors of angles in the workspace from `at` are brought within reach of the kernels' sines */
#ifndef CONDYLE_SINGLE_H
#define CONDYLE_SINGLE_H
#include <stddef.h>
#include <stdint.h>

#include "../instruction_sets.h"

#define SINGLE_MOST 64 /* memories */
#define SINGLE_GROUPS 64 /* vectors of angles in one step */

#define NOT_SHARED 3 /* the status of a call for columns whose shared inputs are others */

enum { SINGLE_KERNEL, SINGLE_LOAD, SINGLE_SINES, SINGLE_COPY, SINGLE_CLEAR, SINGLE_REACH, SINGLE_KINDS };

typedef struct {
    int64_t kind, a, b, c, d;
} single_step;

typedef struct {
    const unsigned char *code;
    const void *constants;
    const single_step *step;
    int64_t n_in, n_out, n_step;
} single_plan;

typedef int single_run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                       const ptrdiff_t *out_stride, void *work, const void *context);

#define DRIVERS(set, bytes) \
    extern single_run *const single_##set##_64, *const single_##set##_32; \
    extern single_run *const columns_##set##_64, *const columns_##set##_32;
INSTRUCTION_SETS(DRIVERS)
#undef DRIVERS
#endif
