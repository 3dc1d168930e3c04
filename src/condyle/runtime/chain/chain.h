/* A chain of joints, or the branches of a tree, with segments in the lanes of a vector: what runs the kernels.
 * All numbers are int64_t words:
 *
 *     head: joints, joints a lane, first vector of the kernels' scratch, first of a buffer, inputs, outputs, runs, and the
 *     size of each input and output; of each run the first joint, how many follow it, and how many joints that are not
 *     there stand behind these; runs fill the lanes one after the other; then
 *     1 GATHER  k, first, wide, to     input k from entry `first` on, `wide` a joint: lane l gets those of its joints,
 *                                      zeros behind them
 *     2 SCATTER k, first, from         a vector a joint back to output k, from entry `first` on
 *     3 SINES   angle, sine, cosine, n
 *     4 CALL    kernel, first, n, step, m, then m times memory, base, step, mask, shift
 *     5 SHIFT   from, to, n, by, last  lane l of n vectors gets lane l + by, or number `last` ... where there is none
 *     6 SET     to, n, from            n vectors of numbers `from` ...
 *     7 SPLAT   k, first, n, to        n entries of input k, each in all lanes of a vector
 *     8 EMIT    k, first, n, from      the first lanes of n vectors to output k
 *     9 SPREAD  at, n                  n vectors get their first lane in all lanes
 *     10 PICK   from, to, n, last, ... lane l of n vectors gets the lane named by the l-th word behind these, or number
 *                                      `last` ... where that is -1
 *
 * A kernel is called for joints t = first, first + step, ... with the addresses of memory[base + step ((t + shift) & mask)];
 * memory 0 is the workspace, 1 the table of the joints. */
#ifndef CONDYLE_CHAIN_H
#define CONDYLE_CHAIN_H
#include <stddef.h>
#include <stdint.h>

#include "../instruction_sets.h"

enum { CHAIN_JOINTS, CHAIN_LENGTH, CHAIN_SCRATCH, CHAIN_BUFFER, CHAIN_IN, CHAIN_OUT, CHAIN_RUNS, CHAIN_HEAD };
enum {
    CHAIN_GATHER = 1,
    CHAIN_SCATTER,
    CHAIN_SINES,
    CHAIN_CALL,
    CHAIN_SHIFT,
    CHAIN_SET,
    CHAIN_SPLAT,
    CHAIN_EMIT,
    CHAIN_SPREAD,
    CHAIN_PICK,
    CHAIN_WORDS
};
#define CHAIN_MOST 16 /* addresses for one kernel */

typedef struct {
    const unsigned char *code;
    const void *constants, *table, *starts;
    const int64_t *words;
    int64_t n_words;
} chain_plan;

/* How many words this one takes, its operands included. */
static inline int64_t chain_width(const int64_t *word, int64_t lanes)
{
    static const int64_t wide[CHAIN_WORDS] = {0, 5, 4, 5, 6, 6, 4, 5, 5, 3, 5};
    return wide[*word] + (*word == CHAIN_CALL ? 5 * word[5] : *word == CHAIN_PICK ? lanes : 0);
}

/* The runs, by threes. */
static inline const int64_t *chain_runs(const int64_t *words)
{
    return words + CHAIN_HEAD + words[CHAIN_IN] + words[CHAIN_OUT];
}

typedef int chain_run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const void *context);

#define DRIVERS(set, bytes) extern chain_run *const chain_##set##_64, *const chain_##set##_32;
INSTRUCTION_SETS(DRIVERS)
#undef DRIVERS
#endif
