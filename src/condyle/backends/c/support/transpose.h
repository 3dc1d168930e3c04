/* Squares of numbers transposed in registers, and the ends of rows: what tiles.h is made of. */
#if LANES == 2
#define CD_EACH(DO) DO(0) DO(1)
#define CD_PAIRS(DO) DO(0)
#define CD_NEAR_EVEN 0, 2
#define CD_NEAR_ODD 1, 3
#elif LANES == 4
#define CD_EACH(DO) DO(0) DO(1) DO(2) DO(3)
#define CD_PAIRS(DO) DO(0) DO(1)
#if REAL_BITS == 64
#define CD_NEAR_EVEN 0, 4, 2, 6
#define CD_NEAR_ODD 1, 5, 3, 7
#define CD_FAR_EVEN 0, 1, 4, 5
#define CD_FAR_ODD 2, 3, 6, 7
#else
#define CD_NEAR_EVEN 0, 2, 4, 6
#define CD_NEAR_ODD 1, 3, 5, 7
#endif
#elif LANES == 8
#define CD_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define CD_PAIRS(DO) DO(0) DO(1) DO(2) DO(3)
#if REAL_BITS == 64
#define CD_NEAR_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define CD_NEAR_ODD 1, 9, 3, 11, 5, 13, 7, 15
#define CD_FAR_EVEN 0, 1, 4, 5, 8, 9, 12, 13
#define CD_FAR_ODD 2, 3, 6, 7, 10, 11, 14, 15
#else
#define CD_NEAR_EVEN 0, 2, 8, 10, 4, 6, 12, 14
#define CD_NEAR_ODD 1, 3, 9, 11, 5, 7, 13, 15
#define CD_FAR_EVEN 0, 1, 2, 3, 8, 9, 10, 11
#define CD_FAR_ODD 4, 5, 6, 7, 12, 13, 14, 15
#endif
#elif LANES == 16
#define CD_EACH(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define CD_PAIRS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define CD_NEAR_EVEN 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define CD_NEAR_ODD 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define CD_FAR_EVEN 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define CD_FAR_ODD 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#else
#define CD_EACH(DO) DO(0)
#endif

#if LANES > 1 && defined(CD_SHUFFLE)
/* A round takes rows 2i and 2i + 1 apart into even and odd entries, rows i and i + LANES / 2: the lowest bit of the row
 * number becomes the highest of the entry number, and the lowest of the entry number the highest of the row number. Near
 * rounds do so within 16 bytes, far rounds with 16 bytes as one entry, so that each is a single instruction; after
 * log2(LANES) rounds row and entry have changed places. */
#define CD_NEAR(i) \
    to[i] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_NEAR_EVEN); \
    to[(i) + LANES / 2] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_NEAR_ODD);
CD_INLINE void cd_near(const real_v *from, real_v *to)
{
    CD_PAIRS(CD_NEAR)
}

#if CD_BYTES > 16
#define CD_FAR(i) \
    to[i] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_FAR_EVEN); \
    to[(i) + LANES / 2] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_FAR_ODD);
CD_INLINE void cd_far(const real_v *from, real_v *to)
{
    CD_PAIRS(CD_FAR)
}
#endif

CD_INLINE void cd_transpose(const real_v *from, real_v *to)
{
    real_v a[LANES], b[LANES], c[LANES];
#if REAL_BITS == 64
    cd_near(from, b);
#else
    cd_near(from, a);
    cd_near(a, b);
#endif
#if CD_BYTES == 16
    (void)a, (void)c, memcpy(to, b, sizeof b);
#elif CD_BYTES == 32
    (void)a, (void)c, cd_far(b, to);
#else
    (void)a, cd_far(b, c);
    cd_far(c, to);
#endif
}
#else
CD_INLINE void cd_transpose(const real_v *from, real_v *to)
{
    size_t i, j;
    for (i = 0; i < LANES; i++) {
        for (j = 0; j < LANES; j++) {
            ((real *)&to[i])[j] = ((const real *)&from[j])[i];
        }
    }
}
#endif

/* The first `count` numbers of a row, and back; no byte beyond them is touched. */
#if LANES > 1 && CD_BYTES == 64
/* builtins, because immintrin.h alone costs a compiler a fifth of a second */
#define CD_MASK(count) ((1u << (count)) - 1u)
CD_INLINE real_v cd_get(const real *row, size_t count)
{
#if REAL_BITS == 64
    return (real_v)__builtin_ia32_loadupd512_mask(row, (real_v){0}, (unsigned char)CD_MASK(count));
#else
    return (real_v)__builtin_ia32_loadups512_mask(row, (real_v){0}, (unsigned short)CD_MASK(count));
#endif
}

CD_INLINE void cd_put(real *row, real_v x, size_t count)
{
#if REAL_BITS == 64
    __builtin_ia32_storeupd512_mask(row, x, (unsigned char)CD_MASK(count));
#else
    __builtin_ia32_storeups512_mask(row, x, (unsigned short)CD_MASK(count));
#endif
}
#else
CD_INLINE real_v cd_get(const real *row, size_t count)
{
    real_v x = cd_splat(0);
    size_t l;
    for (l = 0; l < count; l++) {
        ((real *)&x)[l] = row[l];
    }
    return x;
}

CD_INLINE void cd_put(real *row, real_v x, size_t count)
{
    size_t l;
    for (l = 0; l < count; l++) {
        row[l] = ((const real *)&x)[l];
    }
}
#endif

/* Row l of a tile whose rows end with row `last`. */
#define CD_ROW(l) (in + ((l) < last ? (l) : last) * stride)

#if LANES > 1
#define CD_GET_ALL(row) (*(const loose_v *)(row))
#define CD_PUT_ALL(row, x) (*(loose_v *)(row) = (x))
#else
#define CD_GET_ALL(row) (*(row))
#define CD_PUT_ALL(row, x) (*(row) = (x))
#endif

#if LANES > 1 && CD_BYTES == 64 && defined(CD_SHUFFLE)
/* Half as many entries as lanes: rows l and l + CD_HALF share a vector, and both halves are transposed at once. */
#define CD_HALF (LANES / 2)
#if REAL_BITS == 64
#define CD_HALF_EACH(DO) DO(0) DO(1) DO(2) DO(3)
#define CD_HALF_PAIRS(DO) DO(0) DO(1)
#define CD_LOW(x) CD_SHUFFLE(x, x, 0, 1, 2, 3)
#define CD_HIGH(x) CD_SHUFFLE(x, x, 4, 5, 6, 7)
#define CD_HALF_EVEN 0, 1, 8, 9, 4, 5, 12, 13
#define CD_HALF_ODD 2, 3, 10, 11, 6, 7, 14, 15
#define CD_GET_MASKED(at, x, mask) (real_v) __builtin_ia32_loadupd512_mask(at, x, (unsigned char)(mask))
#define CD_PUT_MASKED(at, x, mask) __builtin_ia32_storeupd512_mask(at, x, (unsigned char)(mask))
#else
#define CD_HALF_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define CD_HALF_PAIRS(DO) DO(0) DO(1) DO(2) DO(3)
#define CD_LOW(x) CD_SHUFFLE(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define CD_HIGH(x) CD_SHUFFLE(x, x, 8, 9, 10, 11, 12, 13, 14, 15)
#define CD_HALF_EVEN 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define CD_HALF_ODD 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define CD_GET_MASKED(at, x, mask) (real_v) __builtin_ia32_loadups512_mask(at, x, (unsigned short)(mask))
#define CD_PUT_MASKED(at, x, mask) __builtin_ia32_storeups512_mask(at, x, (unsigned short)(mask))
#endif
typedef real half_v __attribute__((vector_size(CD_BYTES / 2), aligned(REAL_BITS / 8), may_alias));

CD_INLINE void cd_near_halves(const real_v *from, real_v *to)
{
#define CD_DO(i) \
    to[i] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_NEAR_EVEN); \
    to[(i) + CD_HALF / 2] = CD_SHUFFLE(from[2 * (i)], from[2 * (i) + 1], CD_NEAR_ODD);
    CD_HALF_PAIRS(CD_DO)
#undef CD_DO
}

CD_INLINE void cd_transpose_halves(const real_v *from, real_v *to)
{
    real_v a[CD_HALF], b[CD_HALF];
    cd_near_halves(from, a);
#if REAL_BITS == 64
    memcpy(b, a, sizeof b);
#else
    cd_near_halves(a, b);
#endif
#define CD_DO(i) \
    to[i] = CD_SHUFFLE(b[2 * (i)], b[2 * (i) + 1], CD_HALF_EVEN); \
    to[(i) + CD_HALF / 2] = CD_SHUFFLE(b[2 * (i)], b[2 * (i) + 1], CD_HALF_ODD);
    CD_HALF_PAIRS(CD_DO)
#undef CD_DO
}

/* Loads put two halves side by side, which leaves the unit for shuffles alone. */
typedef double doubles_v __attribute__((vector_size(CD_BYTES)));
typedef double half_doubles_v __attribute__((vector_size(CD_BYTES / 2), aligned(REAL_BITS / 8), may_alias));
CD_INLINE real_v cd_halves(const real *low, const real *high)
{
    const half_doubles_v a = *(const half_doubles_v *)low, b = *(const half_doubles_v *)high;
#if defined(__clang__)
    return (real_v)__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    const doubles_v x = __builtin_ia32_pd512_256pd(a);
    return (real_v)__builtin_ia32_insertf64x4_mask(x, b, 1, x, (unsigned char)-1);
#endif
}

/* CD_HALF entries of rows 0 .. last, as vectors of LANES states. */
CD_INLINE void cd_get_halves(const real *in, ptrdiff_t stride, ptrdiff_t last, real_v *y)
{
    real_v x[CD_HALF];
#define CD_DO(l) x[l] = cd_halves(CD_ROW(l), CD_ROW((l) + CD_HALF));
    CD_HALF_EACH(CD_DO)
#undef CD_DO
    cd_transpose_halves(x, y);
}

/* The first `count` of them, of rows that have no more. */
CD_INLINE void cd_get_short(const real *in, ptrdiff_t stride, ptrdiff_t last, size_t count, real_v *y)
{
    real_v x[CD_HALF];
#define CD_DO(l) \
    x[l] = CD_GET_MASKED(CD_ROW(l), ((real_v){0}), CD_MASK(count)); \
    x[l] = CD_GET_MASKED(CD_ROW((l) + CD_HALF) - CD_HALF, x[l], CD_MASK(count) << CD_HALF);
    CD_HALF_EACH(CD_DO)
#undef CD_DO
    cd_transpose_halves(x, y);
}

/* Back, `count` entries of all rows. The first `whole` ones may be written CD_HALF entries long: what is too much, later rows
 * write again. */
CD_INLINE void cd_put_halves(const real_v *w, const cd_slot *slot, size_t count, real *to, ptrdiff_t stride, size_t whole)
{
    real_v x[CD_HALF], y[CD_HALF];
#define CD_DO(l) x[l] = w[slot[l]];
    CD_HALF_EACH(CD_DO)
#undef CD_DO
    cd_transpose_halves(x, y);
#define CD_DO(l) \
    if ((l) < whole) { \
        *(half_v *)(to + (l) * stride) = CD_LOW(y[l]); \
    } else { \
        CD_PUT_MASKED(to + (l) * stride, y[l], CD_MASK(count)); \
    }
    CD_HALF_EACH(CD_DO)
#undef CD_DO
#define CD_DO(l) \
    if ((l) + CD_HALF < whole) { \
        *(half_v *)(to + ((l) + CD_HALF) * stride) = CD_HIGH(y[l]); \
    } else { \
        CD_PUT_MASKED(to + ((l) + CD_HALF) * stride - CD_HALF, y[l], CD_MASK(count) << CD_HALF); \
    }
    CD_HALF_EACH(CD_DO)
#undef CD_DO
}
#else
#define CD_HALF 0
#endif
