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
#define STRETCH 64 /* lines that are read, then written, before the next: both go on all the time, as in a kernel */
#define CHAINS 24  /* more than latency times instructions a cycle */
#define ROUNDS 4096

typedef long long line_t __attribute__((vector_size(LINE)));
typedef double doubles __attribute__((vector_size(LINE)));
typedef float floats __attribute__((vector_size(LINE)));

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

/* Reads and writes so many lines, in step; both places are aligned to lines. The result keeps the reads alive. */
__attribute__((visibility("default"))) long long move_lines(
    const line_t *from, size_t reads, line_t *to, size_t writes, int streaming)
{
    const size_t steps = (reads > writes ? reads : writes) / STRETCH + 1;
    line_t sum = {0};
    size_t read = 0, written = 0, k;
    for (k = 1; k <= steps; k++) {
        const size_t until = reads * k / steps, end = writes * k / steps;
        for (; read < until; read++) {
            sum += from[read];
        }
        for (; written < end; written++) {
            put(to + written, sum, streaming);
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
        for (k = 0; k < (int)(LINE / sizeof(NUMBER)); k++) { \
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
        return 2LL * CHAINS * ROUNDS * (LINE / (long long)sizeof(NUMBER)); \
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
