/* Quaternions of configurations: whether their lengths are within 1e-3 of 1. The method says which are not. Tiles of
 * machine code check rows themselves: see tiles/driver.h. */

#include "../unit.h"

typedef struct {
    uint64_t ports;  /* bit k: input k is configurations */
    Py_ssize_t size; /* entries of one configuration */
    Py_ssize_t count;
    Py_ssize_t at[]; /* the first entry of each quaternion */
} Quaternions;

/* Quaternions `stride` entries apart, their parts `part` apart. A comparison with NaN does not hold: that state's own answer
 * says it. */
static int near_doubles(const double *q, ptrdiff_t stride, ptrdiff_t part, size_t rows)
{
    int far = 0;
    for (; rows > 0; rows--, q += stride) {
        const double x = q[0], y = q[part], z = q[2 * part], w = q[3 * part], square = x * x + y * y + z * z + w * w;
        far |= (square < LEAST_SQUARE) | (square > MOST_SQUARE);
    }
    return !far;
}

static int near_floats(const float *q, ptrdiff_t stride, ptrdiff_t part, size_t rows)
{
    int far = 0;
    for (; rows > 0; rows--, q += stride) {
        const float x = q[0], y = q[part], z = q[2 * part], w = q[3 * part], square = x * x + y * y + z * z + w * w;
        far |= (square < (float)LEAST_SQUARE) | (square > (float)MOST_SQUARE);
    }
    return !far;
}

#ifdef __x86_64__
/* The same in a third of the time, from the last row on, which the call before left in the cache. min and max are the second
 * of two numbers where one is NaN. */
#include <immintrin.h>

__attribute__((target("avx"))) static int avx_doubles(const double *first, ptrdiff_t stride, ptrdiff_t part, size_t rows)
{
    __m256d least = _mm256_set1_pd(1.0), most = least;
    for (; part > 1 && rows >= 4; rows -= 4) {
        const double *const q = first + rows - 4;
        const __m256d x = _mm256_loadu_pd(q), y = _mm256_loadu_pd(q + part);
        const __m256d z = _mm256_loadu_pd(q + 2 * part), w = _mm256_loadu_pd(q + 3 * part);
        const __m256d xy = _mm256_add_pd(_mm256_mul_pd(x, x), _mm256_mul_pd(y, y));
        const __m256d square = _mm256_add_pd(xy, _mm256_add_pd(_mm256_mul_pd(z, z), _mm256_mul_pd(w, w)));
        least = _mm256_min_pd(square, least), most = _mm256_max_pd(square, most);
    }
    for (; part == 1 && rows >= 4; rows -= 4) {
        const double *const q = first + (ptrdiff_t)(rows - 4) * stride;
        __m256d a = _mm256_loadu_pd(q), b = _mm256_loadu_pd(q + stride);
        __m256d c = _mm256_loadu_pd(q + 2 * stride), d = _mm256_loadu_pd(q + 3 * stride);
        a = _mm256_mul_pd(a, a), b = _mm256_mul_pd(b, b), c = _mm256_mul_pd(c, c), d = _mm256_mul_pd(d, d);
        a = _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        c = _mm256_add_pd(_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        a = _mm256_add_pd(_mm256_permute2f128_pd(a, c, 0x20), _mm256_permute2f128_pd(a, c, 0x31));
        least = _mm256_min_pd(a, least), most = _mm256_max_pd(a, most);
    }
    return near_doubles(first, stride, part, rows) &&
           _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(least, _mm256_set1_pd(LEAST_SQUARE), _CMP_LT_OQ),
                                           _mm256_cmp_pd(most, _mm256_set1_pd(MOST_SQUARE), _CMP_GT_OQ))) == 0;
}

__attribute__((target("avx"))) static __m256 two_squares(const float *first, const float *second)
{
    const __m256 x = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(first)), _mm_loadu_ps(second), 1);
    return _mm256_mul_ps(x, x);
}

__attribute__((target("avx"))) static int avx_floats(const float *first, ptrdiff_t stride, ptrdiff_t part, size_t rows)
{
    __m256 least = _mm256_set1_ps(1.0f), most = least;
    for (; part > 1 && rows >= 8; rows -= 8) {
        const float *const q = first + rows - 8;
        const __m256 x = _mm256_loadu_ps(q), y = _mm256_loadu_ps(q + part);
        const __m256 z = _mm256_loadu_ps(q + 2 * part), w = _mm256_loadu_ps(q + 3 * part);
        const __m256 xy = _mm256_add_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(y, y));
        const __m256 square = _mm256_add_ps(xy, _mm256_add_ps(_mm256_mul_ps(z, z), _mm256_mul_ps(w, w)));
        least = _mm256_min_ps(square, least), most = _mm256_max_ps(square, most);
    }
    for (; part == 1 && rows >= 8; rows -= 8) {
        const float *const q = first + (ptrdiff_t)(rows - 8) * stride;
        __m256 a = two_squares(q, q + 4 * stride), b = two_squares(q + stride, q + 5 * stride);
        __m256 c = two_squares(q + 2 * stride, q + 6 * stride), d = two_squares(q + 3 * stride, q + 7 * stride);
        a = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        c = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        a = _mm256_add_ps(_mm256_shuffle_ps(a, c, 0x44), _mm256_shuffle_ps(a, c, 0xee));
        least = _mm256_min_ps(a, least), most = _mm256_max_ps(a, most);
    }
    return near_floats(first, stride, part, rows) &&
           _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(least, _mm256_set1_ps((float)LEAST_SQUARE), _CMP_LT_OQ),
                                           _mm256_cmp_ps(most, _mm256_set1_ps((float)MOST_SQUARE), _CMP_GT_OQ))) == 0;
}
#endif

/* Whether all quaternions of `count` states have unit length. A state is a row of `size` entries, one configuration or
 * several, and rows are `stride` entries apart; or it is a lane of a tile, where an entry is `lanes` apart from the next. */
static int are_unit(const Quaternions *self, const void *base, char format, ptrdiff_t stride, size_t count, Py_ssize_t size,
                    size_t lanes)
{
    const ptrdiff_t part = (ptrdiff_t)lanes, apart = lanes > 1 ? 1 : stride;
    const size_t most = lanes > 1 ? lanes : count; /* at a time */
    int (*doubles)(const double *, ptrdiff_t, ptrdiff_t, size_t) = near_doubles;
    int (*floats)(const float *, ptrdiff_t, ptrdiff_t, size_t) = near_floats;
    int near = 1;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        doubles = avx_doubles, floats = avx_floats;
    }
#endif
    for (size_t state = 0; near && state < count; state += most) {
        const size_t rows = count - state < most ? count - state : most;
        for (Py_ssize_t first = 0; near && first < size; first += self->size) {
            for (Py_ssize_t k = 0; near && k < self->count; k++) {
                const ptrdiff_t at = (ptrdiff_t)state * stride + (first + self->at[k]) * part;
                near = format == 'd' ? doubles((const double *)base + at, apart, part, rows)
                                     : floats((const float *)base + at, apart, part, rows);
            }
        }
    }
    return near;
}
