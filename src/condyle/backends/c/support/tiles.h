/* Rows of arrays to tiles and back. A tile holds entry e of LANES states as one real_v; a row holds the entries of one state.
 * LANES rows by LANES entries are transposed at a time, in registers. A tile of fewer rows repeats its last one. */
#if LANES == 2
#define CD_EACH(DO) DO(0) DO(1)
#define CD_PAIRS(DO) DO(0)
#define CD_LOW 0, 2
#define CD_HIGH 1, 3
#elif LANES == 4
#define CD_EACH(DO) DO(0) DO(1) DO(2) DO(3)
#define CD_PAIRS(DO) DO(0) DO(1)
#define CD_LOW 0, 4, 1, 5
#define CD_HIGH 2, 6, 3, 7
#elif LANES == 8
#define CD_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define CD_PAIRS(DO) DO(0) DO(1) DO(2) DO(3)
#define CD_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define CD_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif LANES == 16
#define CD_EACH(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define CD_PAIRS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define CD_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define CD_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#else
#define CD_EACH(DO) DO(0)
#endif

#if LANES > 1 && defined(CD_SHUFFLE)
/* One round: rows i and i + LANES / 2, interleaved, become rows 2i and 2i + 1. log2(LANES) rounds transpose. */
#define CD_ROUND_PAIR(i) \
    to[2 * (i)] = CD_SHUFFLE(from[i], from[(i) + LANES / 2], CD_LOW); \
    to[2 * (i) + 1] = CD_SHUFFLE(from[i], from[(i) + LANES / 2], CD_HIGH);
CD_INLINE void cd_round(const real_v *from, real_v *to)
{
    CD_PAIRS(CD_ROUND_PAIR)
}

CD_INLINE void cd_transpose(real_v *r)
{
    real_v t[LANES];
    cd_round(r, t);
#if LANES == 2
    r[0] = t[0];
    r[1] = t[1];
#elif LANES == 4
    cd_round(t, r);
#elif LANES == 8
    real_v u[LANES];
    cd_round(t, u);
    cd_round(u, r);
#else
    real_v u[LANES];
    cd_round(t, u);
    cd_round(u, t);
    cd_round(t, r);
#endif
}
#else
CD_INLINE void cd_transpose(real_v *r)
{
    real *const x = (real *)r;
    size_t i, j;
    for (i = 0; i < LANES; i++) {
        for (j = i + 1; j < LANES; j++) {
            const real t = x[i * LANES + j];
            x[i * LANES + j] = x[j * LANES + i];
            x[j * LANES + i] = t;
        }
    }
}
#endif

/* The first `count` numbers of a row, and back; no byte beyond them is touched. */
#if LANES > 1 && CD_BYTES == 64
#include <immintrin.h>
#define CD_MASK(count) ((1u << (count)) - 1u)
CD_INLINE real_v cd_get(const real *row, size_t count)
{
#if REAL_BITS == 64
    return (real_v)_mm512_maskz_loadu_pd((__mmask8)CD_MASK(count), row);
#else
    return (real_v)_mm512_maskz_loadu_ps((__mmask16)CD_MASK(count), row);
#endif
}

CD_INLINE void cd_put(real *row, real_v x, size_t count)
{
#if REAL_BITS == 64
    _mm512_mask_storeu_pd(row, (__mmask8)CD_MASK(count), (__m512d)x);
#else
    _mm512_mask_storeu_ps(row, (__mmask16)CD_MASK(count), (__m512)x);
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

#if LANES > 1
#define CD_GET_ALL(row) (*(const loose_v *)(row))
#define CD_PUT_ALL(row, x) (*(loose_v *)(row) = (x))
#else
#define CD_GET_ALL(row) (*(row))
#define CD_PUT_ALL(row, x) (*(row) = (x))
#endif

/* Entries 0 .. size-1 of `rows` states (1 .. LANES of them) to w. */
CD_STATIC void cd_pack(const real *in, ptrdiff_t stride, size_t rows, size_t size, real_v *w)
{
    const ptrdiff_t last = (ptrdiff_t)rows - 1;
    const real *row[LANES];
    real_v r[LANES];
    size_t e = 0, l;
    for (l = 0; l < LANES; l++) {
        row[l] = in + ((ptrdiff_t)l < last ? (ptrdiff_t)l : last) * stride;
    }
    for (; e + LANES <= size; e += LANES) {
#define CD_DO(l) r[l] = CD_GET_ALL(row[l] + e);
        CD_EACH(CD_DO)
#undef CD_DO
        cd_transpose(r);
#define CD_DO(l) w[e + (l)] = r[l];
        CD_EACH(CD_DO)
#undef CD_DO
    }
    if (e < size) {
        const size_t count = size - e;
#define CD_DO(l) r[l] = cd_get(row[l] + e, count);
        CD_EACH(CD_DO)
#undef CD_DO
        cd_transpose(r);
        for (l = 0; l < count; l++) {
            w[e + l] = r[l];
        }
    }
}

/* One row that serves every state. */
CD_STATIC void cd_pack_one(const real *row, size_t size, real_v *w)
{
    size_t e;
    for (e = 0; e < size; e++) {
        w[e] = cd_splat(row[e]);
    }
}

/* Entries 0 .. size-1 of `rows` states from w; slot[e] says where entry e is (padded to whole groups of 16). */
CD_STATIC void cd_unpack(const real_v *w, const cd_slot *slot, size_t size, real *out, ptrdiff_t stride, size_t rows)
{
    real_v r[LANES];
    size_t e, l;
    for (e = 0; e < size; e += LANES) {
        const size_t count = size - e < LANES ? size - e : LANES;
        real *const to = out + e;
#define CD_DO(l) r[l] = w[slot[e + (l)]];
        CD_EACH(CD_DO)
#undef CD_DO
        cd_transpose(r);
        if (count == LANES && rows == LANES) {
#define CD_DO(l) CD_PUT_ALL(to + (l) * stride, r[l]);
            CD_EACH(CD_DO)
#undef CD_DO
        } else {
            for (l = 0; l < rows; l++) {
                cd_put(to + (ptrdiff_t)l * stride, r[l], count);
            }
        }
    }
}
