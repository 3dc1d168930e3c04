/* What freestanding code has in place of the mathematical library: a square root that is rounded correctly, and angles of
 * any size as a quadrant and a rest. One state is computed at a time. */
typedef word_v bits_v;
#define CD_BITS(x) cd_word(x)
#define CD_REAL(bits) cd_real(bits)
#if REAL_BITS == 64
#define CD_BIAS 1023
#define CD_SHIFT 0x1p54
#else
#define CD_BIAS 127
#define CD_SHIFT 0x1p24f
#endif

/* The machine's instruction where there is one, else a bit of the root at a time: both are rounded correctly. */
#if !defined(__GNUC__) || defined(CD_SOFT_SQRT)
#elif REAL_BITS == 32 && defined(__ARM_FP) && !defined(__aarch64__) && (__ARM_FP & 4)
#define CD_ROOT(y, x) __asm__("vsqrt.f32 %0, %1" : "=t"(y) : "t"(x))
#elif REAL_BITS == 64 && defined(__ARM_FP) && !defined(__aarch64__) && (__ARM_FP & 8)
#define CD_ROOT(y, x) __asm__("vsqrt.f64 %P0, %P1" : "=w"(y) : "w"(x))
#elif REAL_BITS == 32 && defined(__aarch64__)
#define CD_ROOT(y, x) __asm__("fsqrt %s0, %s1" : "=w"(y) : "w"(x))
#elif REAL_BITS == 64 && defined(__aarch64__)
#define CD_ROOT(y, x) __asm__("fsqrt %d0, %d1" : "=w"(y) : "w"(x))
#elif REAL_BITS == 32 && defined(__riscv_flen)
#define CD_ROOT(y, x) __asm__("fsqrt.s %0, %1" : "=f"(y) : "f"(x))
#elif REAL_BITS == 64 && defined(__riscv_flen) && __riscv_flen >= 64
#define CD_ROOT(y, x) __asm__("fsqrt.d %0, %1" : "=f"(y) : "f"(x))
#elif REAL_BITS == 32 && defined(__SSE2__)
#define CD_ROOT(y, x) __asm__("sqrtss %1, %0" : "=x"(y) : "x"(x))
#elif REAL_BITS == 64 && defined(__SSE2__)
#define CD_ROOT(y, x) __asm__("sqrtsd %1, %0" : "=x"(y) : "x"(x))
#endif

#ifdef CD_ROOT
CD_INLINE real_v cd_sqrt(real_v x)
{
    real_v y;
    CD_ROOT(y, x);
    return y;
}
#else
CD_STATIC real_v cd_sqrt(real_v x)
{
    const bits_v hidden = (bits_v)1 << CD_MANTISSA;
    const int small = x < 1 && cd_word(x) < hidden; /* no hidden bit */
    const bits_v bits = cd_word(small ? x * CD_SHIFT : x);
    const int odd = !(bits >> CD_MANTISSA & 1); /* the exponent's distance from its bias */
    bits_v m = ((bits & (hidden - 1)) | hidden) << odd << (REAL_BITS - 2 - CD_MANTISSA), rest = 0, root = 0;
    bits_v exponent = (bits >> CD_MANTISSA) + CD_BIAS - (bits_v)odd;
    int k;
    if (!(x > 0) || bits >> CD_MANTISSA == 2 * CD_BIAS + 1) {
        return x < 0 ? (x - x) / (x - x) : x; /* zeros, infinity and NaN are their own roots */
    }
    for (k = 0; k < CD_MANTISSA + 2; k++) {
        const bits_v next = rest << 2 | m >> (REAL_BITS - 2), least = root << 2 | 1;
        const bits_v fits = next >= least;
        rest = next - (least & ((bits_v)0 - fits));
        root = root << 1 | fits;
        m <<= 2;
    }
    exponent = exponent / 2 - (small ? (CD_MANTISSA + 2) / 2 : 0);
    return cd_real((exponent << CD_MANTISSA) + (root >> 1) + (root & 1) - hidden);
}
#endif

/* 2 / pi in bits, behind two words of zeros, and pi / 4. */
static const uint32_t cd_two_over_pi[] = {
    0, 0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
#if REAL_BITS == 64
    0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u,
    0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu,
    0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u,
    0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u,
#endif
};
static const uint32_t cd_pi_over_4[] = {0xc90fdaa2u, 0x2168c234u, 0xc4c6628bu, 0x80dc1cd1u, 0x29024e08u, 0x8a67cc74u};

/* Words of a fraction, the highest first, and parts of it that are exact as numbers. */
enum { CD_WORDS = REAL_BITS == 64 ? 6 : 3, CD_PARTS = 6 };

/* sum += factor * a, moved by `up` words; what is beyond the words is left out. */
CD_STATIC void cd_add_product(uint32_t *sum, const uint32_t *a, uint32_t factor, int up)
{
    uint32_t carry = 0;
    int j;
    for (j = CD_WORDS - 1; j >= 0; j--) {
        const uint32_t word = j + up >= 0 && j + up < CD_WORDS ? a[j + up] : 0;
        const uint64_t total = (uint64_t)word * factor + sum[j] + carry;
        sum[j] = (uint32_t)total;
        carry = (uint32_t)(total >> 32);
    }
}

/* x = n pi/2 + r + rest for |x| >= 1024, by those bits of 2/pi that matter (Payne and Hanek); gives n modulo 4. An
 * infinity or a NaN has r NaN. */
CD_STATIC bits_v cd_far(real x, real *r, real *rest)
{
    const bits_v bits = cd_word(x), hidden = (bits_v)1 << CD_MANTISSA, m = (bits & (hidden - 1)) | hidden;
    const int exponent = (int)(bits >> CD_MANTISSA & (2 * CD_BIAS + 1)), minus = bits >> (REAL_BITS - 1) != 0;
    const int first = exponent - CD_BIAS - CD_MANTISSA + 62; /* bits before it are multiples of 4 in the product */
    uint32_t window[CD_WORDS], turns[CD_WORDS], angle[CD_WORDS], n, sign;
    real scale = (real)(REAL_BITS == 64 ? 0x1p-29 : 0x1p-13);
    int k;
    *r = *rest = x - x;
    if (exponent == 2 * CD_BIAS + 1) {
        return 0;
    }
    for (k = 0; k < CD_WORDS; k++) {
        const uint32_t *const from = cd_two_over_pi + first / 32 + k;
        window[k] = from[0] << first % 32 | from[1] >> 1 >> (31 - first % 32);
        turns[k] = angle[k] = 0;
        CD_KEEP(k);
    }
    cd_add_product(turns, window, (uint32_t)m, 0);
#if REAL_BITS == 64
    cd_add_product(turns, window, (uint32_t)(m >> 32), 1);
#endif
    n = (turns[0] + 0x20000000u) >> 30;
    turns[0] -= n << 30;
    sign = (uint32_t)0 - (turns[0] >> 31);
    for (k = 0; k < CD_WORDS; k++) {
        cd_add_product(angle, cd_pi_over_4, turns[k] ^ sign, -1 - k);
    }
    for (k = 0; k < CD_PARTS; k++) {
#if REAL_BITS == 64
        const real part = (real)angle[k] * scale, sum = *r + part;
        scale *= 0x1p-32;
#else
        const real part = (real)(angle[k / 2] >> (k % 2 != 0 ? 0 : 16) & 0xffff) * scale, sum = *r + part;
        scale *= 0x1p-16f;
#endif
        *rest += part - (sum - *r);
        *r = sum;
    }
    if (minus != (sign != 0)) {
        *r = -*r;
        *rest = -*rest;
    }
    return minus ? (bits_v)0 - n : n;
}
