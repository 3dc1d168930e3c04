/* What the driver of machine code is told. All numbers come from one array of int64_t that the Plan object holds. */
#ifndef CONDYLE_PLAN_H
#define CONDYLE_PLAN_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *code; /* kernels, `void kernel(void *w, const void *constants)`, in pages that only execute */
    const void *constants;     /* table that kernels read, aligned for whole vectors */
    const uint32_t *slots;     /* tables of slots: of angles by threes, of outputs padded to whole groups of 16 */
    const void *values;        /* numbers set once a call, and where */
    const int64_t *value_slot;
    const int64_t *in;   /* pairs: first slot, size */
    const int64_t *out;  /* pairs: where its table begins in slots, size */
    const int64_t *step; /* triples: offset in code, -, -; or -1, where the table of angles begins, their number */
    int64_t n_in, n_out, n_step, n_value;
} tiles_plan;

typedef int tiles_run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const void *context);

/* Each is NULL where the compiler of this extension cannot do it. */
extern tiles_run *const tiles_avx512_64, *const tiles_avx512_32, *const tiles_avx2_64, *const tiles_avx2_32;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TILES_X86 1
#endif
#endif
