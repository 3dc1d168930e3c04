/* Sine and cosine of many values: angle k is in slot[3k]; its sine goes to slot[3k+1], its cosine to slot[3k+2].
 * With machine vectors, and in freestanding code: x = n pi/2 + r + s by exact steps (s: rounding error of r), minimax
 * polynomials on |r| <= pi/4, polynomial and sign by quadrant.
 * For an angle beyond CD_REACH, an infinity or a NaN, the lane calls the mathematical library; freestanding code has
 * cd_far. */
#if REAL_BITS == 64
#define CD_REACH 1e5
#else
#define CD_REACH 3200.0f
#endif

#ifndef CD_FREESTANDING
#if REAL_BITS == 64
#define CD_SIN sin
#define CD_COS cos
#else
#define CD_SIN sinf
#define CD_COS cosf
#endif

CD_STATIC void cd_sincos_exact(real_v *w, const cd_slot *slot, size_t count)
{
    size_t k, l;
    for (k = 0; k < 3 * count; k += 3) {
        for (l = 0; l < LANES; l++) {
            const real x = ((const real *)&w[slot[k]])[l];
            if (LANES > 1 && x <= CD_REACH && x >= -CD_REACH) {
                continue;
            }
            ((real *)&w[slot[k + 1]])[l] = CD_SIN(x);
            ((real *)&w[slot[k + 2]])[l] = CD_COS(x);
        }
    }
}
#endif

#if LANES > 1 || defined(CD_FREESTANDING)
#if LANES > 1
#define CD_BITS(x) ((bits_v)(x))
#define CD_REAL(bits) ((real_v)(bits))
#endif
#if REAL_BITS == 64
#define CD_ROUND 0x1.8p+52
#define CD_2_PI 0x1.45f306dc9c883p-1
#define CD_PI_2A 0x1.921fb544p+0
#define CD_PI_2B 0x1.0b4611a6p-34
#define CD_PI_2C 0x1.3198a2e037073p-69
#else
#define CD_ROUND 0x1.8p+23f
#define CD_2_PI 0x1.45f306p-1f
#define CD_PI_2A 0x1.921p+0f
#define CD_PI_2B 0x1.f6ap-13f
#define CD_PI_2C 0x1.11p-26f
#define CD_PI_2D 0x1.68c234p-39f
#endif

CD_INLINE real_v cd_sine(real_v r, real_v s, real_v z)
{
#if REAL_BITS == 64
    const real_v a = 0x1.5d8fa457dab33p-33 * z + -0x1.ae5e59fa1e39cp-26;
    const real_v b = a * z + 0x1.71de356718acep-19;
    const real_v c = b * z + -0x1.a01a019bfd203p-13;
    const real_v d = c * z + 0x1.111111110f7cap-7;
    const real_v e = d * z + -0x1.5555555555548p-3;
#else
    const real_v a = -0x1.994388p-13f * z + 0x1.11073ap-7f;
    const real_v e = a * z + -0x1.555546p-3f;
#endif
    return r + ((z * r) * e + s);
}

CD_INLINE real_v cd_cosine(real_v r, real_v s, real_v z)
{
#if REAL_BITS == 64
    const real_v a = -0x1.8fae9d21afe3cp-37 * z + 0x1.1ee9ebea890e4p-29;
    const real_v b = a * z + -0x1.27e4f809f2b27p-22;
    const real_v c = b * z + 0x1.a01a019cb1c09p-16;
    const real_v d = c * z + -0x1.6c16c16c1517ep-10;
    const real_v e = d * z + 0x1.555555555554cp-5;
    const real_v h = 0.5 * z;
    const real_v t = 1.0 - h;
    return t + (((1.0 - t) - h) + ((z * z) * e - r * s));
#else
    const real_v a = 0x1.9a020cp-16f * z + -0x1.6c0c8ap-10f;
    const real_v e = a * z + 0x1.55554ap-5f;
    const real_v h = 0.5f * z;
    const real_v t = 1.0f - h;
    return t + (((1.0f - t) - h) + ((z * z) * e - r * s));
#endif
}

CD_STATIC void cd_sincos(real_v *w, const cd_slot *slot, size_t count)
{
    size_t k;
#if LANES > 1
    bits_v fine = ~(bits_v){0};
    size_t l;
    real_bits all = -1;
#endif
    for (k = 0; k < 3 * count; k += 3) {
        const real_v x = w[slot[k]];
        const real_v shifted = x * CD_2_PI + CD_ROUND;
        const real_v n = shifted - CD_ROUND;
        const real_v ra = x - n * CD_PI_2A;
        const real_v rb = ra - n * CD_PI_2B;
        const real_v lost = (ra - rb) - n * CD_PI_2B;
#if REAL_BITS == 64
        real_v r = rb;
        real_v rest = lost - n * CD_PI_2C;
#else
        real_v r = rb - n * CD_PI_2C;
        real_v rest = (lost + ((rb - r) - n * CD_PI_2C)) - n * CD_PI_2D;
#endif
        bits_v quadrant = CD_BITS(shifted);
#ifdef CD_FREESTANDING
        if (!(x <= CD_REACH && x >= -CD_REACH)) {
            quadrant = cd_far(x, &r, &rest);
        }
#endif
        const real_v z = r * r;
        const bits_v s = CD_BITS(cd_sine(r, rest, z));
        const bits_v c = CD_BITS(cd_cosine(r, rest, z));
        const bits_v swap = -(quadrant & 1);
        const bits_v sign_s = (quadrant & 2) << (REAL_BITS - 2);
        const bits_v sign_c = ((quadrant + 1) & 2) << (REAL_BITS - 2);
        w[slot[k + 1]] = CD_REAL(((s & ~swap) | (c & swap)) ^ sign_s);
        w[slot[k + 2]] = CD_REAL(((c & ~swap) | (s & swap)) ^ sign_c);
#if LANES > 1
        fine &= (bits_v)(x <= CD_REACH) & (bits_v)(x >= -CD_REACH);
#endif
    }
#if LANES > 1
    for (l = 0; l < LANES; l++) {
        all &= ((const real_bits *)&fine)[l];
    }
    if (all == 0) {
        cd_sincos_exact(w, slot, count);
    }
#endif
}
#else
#define cd_sincos cd_sincos_exact
#endif
