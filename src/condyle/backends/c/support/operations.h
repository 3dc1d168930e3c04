/* Operations beyond + - * / and roots, in every lane. `where` is all ones or all zeros. */
#if REAL_BITS == 64
#define CD_WHOLE 0x1p52
#else
#define CD_WHOLE 0x1p23f
#endif
#if LANES > 1
#define CD_WHERE(condition) ((word_v)(condition))
#else
#define CD_WHERE(condition) ((word_v)0 - (word_v)(condition))
#endif

CD_INLINE real_v cd_pick(word_v where, real_v a, real_v b)
{
    return cd_real((cd_word(a) & where) | (cd_word(b) & ~where));
}

CD_INLINE real_v cd_select(real_v x, real_v a, real_v b)
{
    return cd_pick(CD_WHERE(x >= cd_splat(0)), a, b);
}

CD_INLINE real_v cd_min(real_v a, real_v b)
{
    return cd_pick(CD_WHERE(a < b) | CD_WHERE(a != a), a, b);
}

CD_INLINE real_v cd_max(real_v a, real_v b)
{
    return cd_pick(CD_WHERE(a > b) | CD_WHERE(a != a), a, b);
}

CD_INLINE real_v cd_abs(real_v x)
{
    return cd_real(cd_word(x) << 1 >> 1);
}

/* From CD_WHOLE on every number is whole; below, a sum with it has no place for a fraction. */
CD_INLINE real_v cd_rint(real_v x)
{
    const real_v size = cd_abs(x), whole = cd_splat(CD_WHOLE);
    const word_v sign = cd_word(x) ^ cd_word(size);
    return cd_pick(CD_WHERE(size < whole), cd_real(cd_word(size + whole - whole) | sign), x);
}

CD_INLINE real_v cd_floor(real_v x)
{
    const real_v nearest = cd_rint(x);
    return cd_pick(CD_WHERE(nearest > x), nearest - cd_splat(1), nearest);
}

CD_INLINE real_v cd_and(real_v a, real_v b)
{
    return cd_real(cd_word(a) & cd_word(b));
}

CD_INLINE real_v cd_or(real_v a, real_v b)
{
    return cd_real(cd_word(a) | cd_word(b));
}

CD_INLINE real_v cd_xor(real_v a, real_v b)
{
    return cd_real(cd_word(a) ^ cd_word(b));
}

CD_INLINE real_v cd_shl(real_v x)
{
    return cd_real(cd_word(x) << CD_MANTISSA);
}

CD_INLINE real_v cd_shr(real_v x)
{
    return cd_real(cd_word(x) >> CD_MANTISSA);
}

/* On the lowest 32 bits; those above mean nothing. */
CD_INLINE real_v cd_iadd(real_v a, real_v b)
{
    return cd_real(cd_word(a) + cd_word(b));
}

CD_INLINE real_v cd_rotl(real_v x, const int places)
{
    const word_v w = cd_word(x);
    return cd_real(w << places | (w & 0xFFFFFFFFu) >> (32 - places));
}
