/* A real_v has one number for each of LANES states. With GNU C it is one machine vector, otherwise, or if CD_SCALAR is
 * defined, one number. The program text is the same for both. REAL_BITS (64 or 32) is defined above. */
#ifndef CD_FREESTANDING
#include <math.h>
#include <string.h>
#endif
#include <stddef.h>
#include <stdint.h>

#if REAL_BITS == 64
typedef double real;
typedef int64_t real_bits;
#else
typedef float real;
typedef int32_t real_bits;
#endif

/* The most bytes of a vector. */
#ifndef CD_MOST
#define CD_MOST 64
#endif
#if defined(__GNUC__) && !defined(CD_SCALAR)
#if defined(__AVX512F__) && CD_MOST >= 64
#define CD_BYTES 64
#elif defined(__AVX__) && CD_MOST >= 32
#define CD_BYTES 32
#else
#define CD_BYTES 16
#endif
#define LANES (CD_BYTES * 8 / REAL_BITS)
typedef real real_v __attribute__((vector_size(CD_BYTES)));
typedef real_bits bits_v __attribute__((vector_size(CD_BYTES)));
typedef real loose_v __attribute__((vector_size(CD_BYTES), aligned(REAL_BITS / 8), may_alias));
#define CD_STATIC static __attribute__((noinline, unused))
#define CD_INLINE static inline __attribute__((always_inline, unused))
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define CD_SHUFFLE __builtin_shufflevector
#endif
#endif
#else
#define LANES 1
typedef real real_v;
#if defined(__GNUC__)
#define CD_STATIC static __attribute__((noinline, unused))
#define CD_INLINE static inline __attribute__((unused))
#else
#define CD_STATIC static
#define CD_INLINE static
#endif
#endif

/* In a loop over k: no compiler makes a call of memcpy or memset of it. */
#if defined(__GNUC__)
#define CD_KEEP(k) __asm__("" : "+r"(k))
#else
#define CD_KEEP(k) (void)0
#endif

/* One number in every lane. */
CD_INLINE real_v cd_splat(real x)
{
#if LANES > 1
    return x - (real_v){0};
#else
    return x;
#endif
}

#ifndef CD_FREESTANDING
CD_INLINE real_v cd_sqrt(real_v x)
{
    size_t l;
    for (l = 0; l < LANES; l++) {
#if REAL_BITS == 64
        ((real *)&x)[l] = sqrt(((real *)&x)[l]);
#else
        ((real *)&x)[l] = sqrtf(((real *)&x)[l]);
#endif
    }
    return x;
}
#endif
