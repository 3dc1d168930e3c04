/* A chain of joints with its chunks in the lanes of a vector: what runs the kernels. All numbers are int64_t words:
 *
 *     head: joints, joints a chunk, first vector of the kernels' scratch, first of a buffer, inputs, outputs; then
 *     1 GATHER  k, to                  input k to vectors: lane l gets entries l K ... of it, zeros behind its end
 *     2 SCATTER k, from                the same back to output k
 *     3 SINES   angle, sine, cosine, n
 *     4 CALL    kernel, first, n, step, m, then m times memory, base, step, mask, shift
 *     5 SHIFT   from, to, n, by, last  lane l of n vectors gets lane l + by, or number `last` ... where there is none
 *     6 SET     to, n, from            n vectors of numbers `from` ...
 *
 * A kernel is called for joints t = first, first + step, ... with the addresses of memory[base + step ((t + shift) & mask)];
 * memory 0 is the workspace, 1 the table of the joints. */
#ifndef CONDYLE_CHAIN_H
#define CONDYLE_CHAIN_H
#include <stddef.h>
#include <stdint.h>

enum { CHAIN_JOINTS, CHAIN_LENGTH, CHAIN_SCRATCH, CHAIN_BUFFER, CHAIN_IN, CHAIN_OUT, CHAIN_HEAD };
enum { CHAIN_GATHER = 1, CHAIN_SCATTER, CHAIN_SINES, CHAIN_CALL, CHAIN_SHIFT, CHAIN_SET };
#define CHAIN_MOST 16 /* addresses for one kernel */

typedef struct {
    const unsigned char *code;
    const void *constants, *table, *starts;
    const int64_t *words;
    int64_t n_words;
} chain_plan;

typedef int chain_run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const void *context);

/* Each is NULL where the compiler of this extension cannot do it. */
extern chain_run *const chain_avx512_64, *const chain_avx512_32, *const chain_avx2_64, *const chain_avx2_32;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CHAIN_X86 1
#endif
#endif
