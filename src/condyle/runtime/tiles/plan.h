/* What the driver of machine code is told. All numbers come from one array of int64_t that the Plan object holds.
 *
 * An array comes as rows, one a state, or packed: tiles of LANES states, in each the numbers of one column side by side.
 * A packed array holds only some entries of a row, its columns. An input whose stride is 0 is one row for all states. */
#ifndef CONDYLE_PLAN_H
#define CONDYLE_PLAN_H
#include <stddef.h>
#include <stdint.h>

#include "../instruction_sets.h"

/* Steps that are no kernels. TILES_REACH: angles that kernels take sines and cosines of are brought within CD_REACH.
 * TILES_AGAIN: back to an earlier step; its words: that step, the slot of a flag or -1, and how many times at most. It goes on
 * where the flag is above 0 in all lanes. */
enum { TILES_SINES = -1, TILES_REACH = -2, TILES_LOOPS = -3, TILES_AGAIN = -4, AGAIN_WORDS = 3 };

/* Commands of loops, and how many words stand before them: of the head, and of each record; see loops.h. */
enum { CALL = 1, ANGLES, COLUMNS, UPTO, WALK, CLEAR, MIRROR, PRODUCT, COPY };
enum { LOOPS_NV, LOOPS_TILES, LOOPS_SIZE, LOOPS_RECORDS, LOOPS_TABLE, LOOPS_HELD, WORDS };
enum { RECORD = 5, MOST_TILES = 3 };

/* Of PRODUCT: words, and its kinds. */
enum { PRODUCT_WORDS = 14, PRODUCT_MINUS = 1, PRODUCT_SAME = 2, PRODUCT_HELD = 4 };

typedef struct {
    int64_t slot, size;     /* entries of a row, and where the first one goes in the workspace */
    int64_t columns, table; /* which column each entry is, `columns` for a zero; table -1: entry e is column e */
} tiles_input;

typedef struct {
    int64_t table, size;            /* the slot of each entry of a row */
    int64_t packed_table, columns; /* the slot of each column */
} tiles_output;

typedef struct {
    const unsigned char *code; /* kernels, `void kernel(void *w, const void *constants)`, in pages that only execute */
    const void *constants;     /* table that kernels read, aligned for whole vectors */
    const uint32_t *slots;     /* all tables: of angles by threes or alone, of rows padded to whole groups of 16, of columns */
    const void *values;        /* numbers set once a call, and where */
    const int64_t *value_slot;
    const tiles_input *in;
    const tiles_output *out;
    const int64_t *step; /* triples: offset in code, -, -; or what it is, where its angles begin in slots or its
                            commands in loops, their number */
    const int64_t *loops; /* what steps TILES_LOOPS run some of, see loops.h */
    int64_t n_in, n_out, n_step, n_value, n_loop;
    int64_t stage; /* slots before the part of the workspace where rows wait to be streamed */
    const int64_t *unit; /* of each quaternion that has unit length its input and its first slot */
    int64_t n_unit;
} tiles_plan;

/* The input whose entries have this slot; inputs are few. -1 where there is none. */
static inline int64_t input_at(const tiles_plan *plan, int64_t slot)
{
    int64_t k;
    for (k = plan->n_in - 1; k >= 0; k--) {
        if (slot >= plan->in[k].slot && slot < plan->in[k].slot + plan->in[k].size) {
            return k;
        }
    }
    return -1;
}

typedef int tiles_run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                      const ptrdiff_t *out_stride, void *work, const void *context);

/* How arrays come and go: a sum of these. STREAM: results are stored past the caches. */
enum { TILES_PACKED_IN = 1, TILES_PACKED_OUT = 2, TILES_STREAM = 4, TILES_WAYS = 8 };

/* Whether an input comes with all entries of a row. */
static inline int is_whole(const tiles_input *in, int way)
{
    return !(way & TILES_PACKED_IN) || in->table < 0;
}

enum { TILES_STAGED = 256 }; /* entries of long rows that wait at a time, and 16 that waited before */

/* A driver for each way. */
#define DRIVERS(set, bytes) extern tiles_run *const *const tiles_##set##_64, *const *const tiles_##set##_32;
INSTRUCTION_SETS(DRIVERS)
#undef DRIVERS
#endif
