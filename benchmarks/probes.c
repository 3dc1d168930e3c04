/* What the machine can do, to compare with: bytes moved, multiply-adds issued. Compiled for this machine. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define LINE 64
/* Chains: more than latency times instructions a cycle, and no more than there are registers. */
#if defined(__AVX512F__)
#define WIDTH 64
#define CHAINS 24
#else
#define WIDTH 32
#define CHAINS 12
#endif
#define ROUNDS 4096

typedef long long line_t __attribute__((vector_size(LINE)));
typedef double doubles __attribute__((vector_size(WIDTH)));
typedef float floats __attribute__((vector_size(WIDTH)));

static void put(line_t *place, line_t x, int streaming)
{
#ifdef __AVX512F__
    if (streaming) {
        _mm512_stream_si512((void *)place, (__m512i)x);
        return;
    }
#endif
    (void)streaming;
    *place = x;
}

typedef struct {
    char *first;
    size_t bytes;
} array_t;

/* Whole lines of an array, and how many there are. */
static line_t *lines_of(const array_t *array, size_t *count)
{
    const size_t ahead = (LINE - (uintptr_t)array->first % LINE) % LINE;
    *count = array->bytes < ahead ? 0 : (array->bytes - ahead) / LINE;
    return (line_t *)(array->first + ahead);
}

/* Reads all lines of some arrays and writes all of others, all of them in step, as a function of a batch does. The result
 * keeps the reads alive. */
__attribute__((visibility("default"))) long long move_lines(
    const array_t *from, size_t n_from, const array_t *to, size_t n_to, size_t steps, int streaming)
{
    line_t sum = {0};
    size_t step, k, i, count;
    for (step = 0; step < steps; step++) {
        for (k = 0; k < n_from; k++) {
            const line_t *line = lines_of(from + k, &count);
            for (i = count * step / steps; i < count * (step + 1) / steps; i++) {
                sum += line[i];
            }
        }
        for (k = 0; k < n_to; k++) {
            line_t *line = lines_of(to + k, &count);
            for (i = count * step / steps; i < count * (step + 1) / steps; i++) {
                put(line + i, sum, streaming);
            }
        }
    }
#ifdef __AVX512F__
    if (streaming) {
        _mm_sfence();
    }
#endif
    return sum[0] + sum[LINE / 8 - 1];
}

/* CHAINS independent multiply-adds, ROUNDS times; returns how many operations of one number (two a multiply-add). */
#define PEAK(NAME, VECTOR, NUMBER) \
    __attribute__((visibility("default"))) long long NAME(NUMBER factor, NUMBER *result) \
    { \
        VECTOR x[CHAINS], a, b; \
        int k, round; \
        for (k = 0; k < (int)(WIDTH / sizeof(NUMBER)); k++) { \
            a[k] = factor, b[k] = 1 - factor; \
        } \
        for (k = 0; k < CHAINS; k++) { \
            x[k] = b; \
        } \
        for (round = 0; round < ROUNDS; round++) { \
            _Pragma("GCC unroll 24") for (k = 0; k < CHAINS; k++) { \
                x[k] = x[k] * a + b; \
            } \
        } \
        for (k = 1; k < CHAINS; k++) { \
            x[0] += x[k]; \
        } \
        *result = x[0][0]; \
        return 2LL * CHAINS * ROUNDS * (WIDTH / (long long)sizeof(NUMBER)); \
    }

PEAK(peak_double, doubles, double)
PEAK(peak_float, floats, float)

/* Kernels of target "cpu" alone: no rows, no sines. */
typedef void kernel_t(void *work, const void *constants);

typedef struct {
    kernel_t **kernel;
    char *pages, *work, *constants;
    size_t size, count;
} code_t;

static void *aligned_copy(const char *from, size_t size)
{
    char *to = aligned_alloc(LINE, (size + LINE) / LINE * LINE);
    if (to != NULL) {
        memcpy(to, from, size);
    }
    return to;
}

/* Machine code of kernels that begin at these offsets; `work` as it is before each run of all of them. */
__attribute__((visibility("default"))) code_t *code_new(
    const char *text, size_t size, const size_t *offset, size_t count, const char *constants, size_t constant_bytes,
    const char *work, size_t work_bytes)
{
    code_t *code = calloc(1, sizeof *code);
    size_t k;
    code->pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code->pages == MAP_FAILED) {
        free(code);
        return NULL;
    }
    memcpy(code->pages, text, size);
    if (mprotect(code->pages, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(code->pages, size);
        free(code);
        return NULL;
    }
    code->size = size, code->count = count;
    code->kernel = calloc(count, sizeof *code->kernel);
    for (k = 0; k < count; k++) {
        code->kernel[k] = (kernel_t *)(code->pages + offset[k]);
    }
    code->constants = aligned_copy(constants, constant_bytes);
    code->work = aligned_copy(work, work_bytes);
    return code;
}

/* All kernels, one after the other, so many times. Whatever they compute, numbers that are denormal cost no time. */
__attribute__((visibility("default"))) void code_run(const code_t *code, size_t times)
{
#ifdef __SSE2__
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u);
#endif
    for (; times > 0; times--) {
        size_t k;
        for (k = 0; k < code->count; k++) {
            code->kernel[k](code->work, code->constants);
        }
    }
#ifdef __SSE2__
    _mm_setcsr(before);
#endif
}

__attribute__((visibility("default"))) void code_free(code_t *code)
{
    munmap(code->pages, code->size);
    free(code->kernel), free(code->constants), free(code->work), free(code);
}

typedef int entry_t(size_t n, const void *const *in, const ptrdiff_t *in_stride, void *const *out,
                    const ptrdiff_t *out_stride, void *work, const void *context);

/* One state a call, the rows of the inputs in turn; `step` has the bytes of a row of each. */
__attribute__((visibility("default"))) void run_alone(
    entry_t *entry, const void *context, void *work, size_t states, const char *const *in, const size_t *step,
    size_t inputs, void *const *out)
{
    static const ptrdiff_t none[16];
    const void *row[16];
    size_t state, k;
    for (state = 0; state < states; state++) {
        for (k = 0; k < inputs && k < 16; k++) {
            row[k] = in[k] + state * step[k];
        }
        entry(1, row, none, out, none, work, context);
    }
}

/* A whole batch a call, so many times; strides in numbers. */
__attribute__((visibility("default"))) void run_batch(
    entry_t *entry, const void *context, void *work, size_t states, const void *const *in, const ptrdiff_t *in_stride,
    void *const *out, const ptrdiff_t *out_stride, size_t times)
{
    for (; times > 0; times--) {
        entry(states, in, in_stride, out, out_stride, work, context);
    }
}
