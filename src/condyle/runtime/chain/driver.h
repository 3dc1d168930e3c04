/* The driver of chain.h for one instruction set and precision, both chosen by whoever includes this. */
#include "chain.h"
#define CHAIN_ENTRY DRIVER_OF(chain_)
#if IS_COMPILED
COMPILE_FOR_SET
#include "vector.h"
typedef uint32_t cd_slot;
#include "sincos.h"
#include "transpose.h"
#include "tiles.h"

typedef void chain_kernel(void *scratch, const void *constants, void *const *arrays);

/* The buffer has a row of entries for every lane. */
static void gather(const chain_plan *plan, const real *from, real_v *w, const int64_t *a)
{
    const size_t wide = (size_t)a[2], length = wide * (size_t)plan->words[CHAIN_LENGTH];
    const int64_t *run = chain_runs(plan->words), *const end = run + 3 * plan->words[CHAIN_RUNS];
    real *const buffer = (real *)(w + plan->words[CHAIN_BUFFER]), *to = buffer;
    for (; run < end; run += 3) {
        const size_t count = wide * (size_t)run[1], absent = wide * (size_t)run[2];
        memcpy(to, from + a[1] + wide * (size_t)run[0], count * sizeof *to);
        memset(to + count, 0, absent * sizeof *to);
        to += count + absent;
    }
    cd_pack(buffer, (ptrdiff_t)length, LANES, length, w + a[3]);
}

static void scatter(const chain_plan *plan, real *to, real_v *w, const int64_t *a)
{
    const size_t length = (size_t)plan->words[CHAIN_LENGTH];
    const int64_t *run = chain_runs(plan->words), *const end = run + 3 * plan->words[CHAIN_RUNS];
    const real_v *from = w + a[2];
    real *buffer = (real *)(w + plan->words[CHAIN_BUFFER]);
    size_t t, e, lane;
    real_v x[LANES], y[LANES];
    for (t = 0; t < length; t += LANES) {
        const size_t count = length - t < LANES ? length - t : LANES;
        for (e = 0; e < LANES; e++) {
            x[e] = from[t + (e < count ? e : 0)];
        }
        cd_transpose(x, y);
        for (lane = 0; lane < LANES; lane++) {
            cd_put(buffer + lane * length + t, y[lane], count);
        }
    }
    for (; run < end; buffer += run[1] + run[2], run += 3) {
        memcpy(to + a[1] + run[0], buffer, (size_t)run[1] * sizeof *buffer);
    }
}

/* Entries of an input, each in all lanes; entries of an output, from the first lane; and from there to all. */
static void splat(const real *from, real_v *w, const int64_t *a)
{
    int64_t k;
    for (k = 0; k < a[2]; k++) {
        w[a[3] + k] = cd_splat(from[a[1] + k]);
    }
}

static void emit(real *to, const real_v *w, const int64_t *a)
{
    int64_t k;
    for (k = 0; k < a[2]; k++) {
        to[a[1] + k] = w[a[3] + k][0];
    }
}

static void spread(real_v *w, const int64_t *a)
{
    int64_t k;
    for (k = 0; k < a[1]; k++) {
        w[a[0] + k] = cd_splat(w[a[0] + k][0]);
    }
}

static void sines(real_v *w, const int64_t *word)
{
    const size_t n = (size_t)word[3];
    cd_slot three[3 * 16];
    size_t t, k;
    for (t = 0; t < n; t += 16) {
        const size_t count = n - t < 16 ? n - t : 16;
        for (k = 0; k < count; k++) {
            three[3 * k] = (cd_slot)(word[0] + (int64_t)(t + k));
            three[3 * k + 1] = (cd_slot)(word[1] + (int64_t)(t + k));
            three[3 * k + 2] = (cd_slot)(word[2] + (int64_t)(t + k));
        }
        cd_sincos(w, three, count);
    }
}

static void call(const chain_plan *plan, real_v *w, const int64_t *word)
{
    chain_kernel *kernel = (chain_kernel *)(uintptr_t)(plan->code + word[0]);
    real_v *memory[2], *scratch = w + plan->words[CHAIN_SCRATCH];
    void *address[CHAIN_MOST];
    int64_t k, t = word[1], left;
    memory[0] = w;
    memory[1] = (real_v *)(uintptr_t)plan->table;
    for (left = word[2]; left > 0; left--, t += word[3]) {
        const int64_t *pointer = word + 5;
        for (k = 0; k < word[4]; k++, pointer += 5) {
            address[k] = memory[pointer[0]] + pointer[1] + pointer[2] * ((t + pointer[4]) & pointer[3]);
        }
        kernel(scratch, plan->constants, address);
    }
}

/* Lane l of the vectors gets lane which[l], LANES: the number `last` of each. */
static void picked(const chain_plan *plan, real_v *w, const int64_t *ends, int64_t n, int64_t last, bits_v which)
{
    const real_v *from = w + ends[0];
    const real *number = (const real *)plan->starts + last;
    real_v *to = w + ends[1];
    int64_t k;
    for (k = 0; k < n; k++) {
        to[k] = __builtin_shuffle(from[k], cd_splat(number[k]), which);
    }
}

static void shift(const chain_plan *plan, real_v *w, const int64_t *word)
{
    bits_v which;
    int64_t l;
    for (l = 0; l < LANES; l++) {
        const int64_t source = l + word[3];
        ((real_bits *)&which)[l] = (real_bits)(source >= 0 && source < LANES ? source : LANES);
    }
    picked(plan, w, word, word[2], word[4], which);
}

static void pick(const chain_plan *plan, real_v *w, const int64_t *word)
{
    bits_v which;
    int64_t l;
    for (l = 0; l < LANES; l++) {
        ((real_bits *)&which)[l] = (real_bits)(word[4 + l] >= 0 ? word[4 + l] : LANES);
    }
    picked(plan, w, word, word[2], word[3], which);
}

static void set(const chain_plan *plan, real_v *w, const int64_t *word)
{
    const real *from = (const real *)plan->starts + word[2];
    int64_t k;
    for (k = 0; k < word[1]; k++) {
        w[word[0] + k] = cd_splat(from[k]);
    }
}

static void moved_in(const chain_plan *plan, const real *in, real_v *w, const int64_t *word)
{
    if (*word == CHAIN_GATHER) {
        gather(plan, in, w, word + 1);
    } else {
        splat(in, w, word + 1);
    }
}

static void moved_out(const chain_plan *plan, real *out, real_v *w, const int64_t *word)
{
    if (*word == CHAIN_SCATTER) {
        scatter(plan, out, w, word + 1);
    } else {
        emit(out, w, word + 1);
    }
}

static void work_on(const chain_plan *plan, real_v *w, const int64_t *word)
{
    switch (*word) {
    case CHAIN_SINES:
        sines(w, word + 1);
        break;
    case CHAIN_CALL:
        call(plan, w, word + 1);
        break;
    case CHAIN_SHIFT:
        shift(plan, w, word + 1);
        break;
    case CHAIN_SPREAD:
        spread(w, word + 1);
        break;
    case CHAIN_PICK:
        pick(plan, w, word + 1);
        break;
    default:
        set(plan, w, word + 1);
    }
}

/* Bits of the control register: what is too small counts as zero. Far links hardly feel each other, and on some
 * processors each such number costs a hundred cycles. */
#define FLUSH 0x8040u

static int run(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
               const ptrdiff_t *out_stride, void *work, const void *context)
{
    const chain_plan *plan = (const chain_plan *)context;
    const int64_t *end = plan->words + plan->n_words;
    real_v *const w = (real_v *)work;
    const unsigned before = __builtin_ia32_stmxcsr();
    size_t state;
    __builtin_ia32_ldmxcsr(before | FLUSH);
    for (state = 0; state < n; state++) {
        const int64_t *word = chain_runs(plan->words) + 3 * plan->words[CHAIN_RUNS];
        for (; word < end; word += chain_width(word, LANES)) {
            const int64_t port = word[1];
            if (*word == CHAIN_GATHER || *word == CHAIN_SPLAT) {
                moved_in(plan, (const real *)in[port] + (ptrdiff_t)state * in_stride[port], w, word);
            } else if (*word == CHAIN_SCATTER || *word == CHAIN_EMIT) {
                moved_out(plan, (real *)out[port] + (ptrdiff_t)state * out_stride[port], w, word);
            } else {
                work_on(plan, w, word);
            }
        }
    }
    __builtin_ia32_ldmxcsr(before);
    return 0;
}

chain_run *const CHAIN_ENTRY = run;
#endif
