/* Rows of arrays to tiles and back. A row holds the entries of one state; a tile holds entry e of LANES states as one
 * real_v. LANES rows by LANES entries are transposed at a time, in registers. A tile of fewer rows repeats its last one. */
/* Prefetches a cache line that will be written soon: the hardware does not prefetch this many rows. */
#if LANES > 1
#define CD_AHEAD(at) __builtin_prefetch(at, 1)
#else
#define CD_AHEAD(at) (void)0
#endif

/* Entries 0 .. size-1 of rows 0 .. last to w; known at compile time, `last` costs nothing. */
#if CD_HALF
CD_INLINE void cd_pack_rows(const real *in, ptrdiff_t stride, ptrdiff_t last, size_t size, real_v *w)
{
    real_v y[CD_HALF];
    size_t e;
    if (size < CD_HALF) {
        cd_get_short(in, stride, last, size, y);
#define CD_DO(l) if ((l) < size) { w[l] = y[l]; }
        CD_HALF_EACH(CD_DO)
#undef CD_DO
        return;
    }
    for (e = 0; e < size; e += CD_HALF) {
        e = size - e < CD_HALF ? size - CD_HALF : e;
        cd_get_halves(in + e, stride, last, y);
#define CD_DO(l) w[e + (l)] = y[l];
        CD_HALF_EACH(CD_DO)
#undef CD_DO
    }
}
#else
CD_INLINE void cd_pack_rows(const real *in, ptrdiff_t stride, ptrdiff_t last, size_t size, real_v *w)
{
    real_v x[LANES], y[LANES];
    size_t e;
    if (size < LANES) {
#define CD_DO(l) x[l] = cd_get(CD_ROW(l), size);
        CD_EACH(CD_DO)
#undef CD_DO
        cd_transpose(x, y);
#define CD_DO(l) if ((l) < size) { w[l] = y[l]; }
        CD_EACH(CD_DO)
#undef CD_DO
        return;
    }
    for (e = 0; e < size; e += LANES) {
        /* the last group starts early enough to be whole: a part of one is loaded number by number */
        e = size - e < LANES ? size - LANES : e;
#define CD_DO(l) x[l] = CD_GET_ALL(CD_ROW(l) + e);
        CD_EACH(CD_DO)
#undef CD_DO
        cd_transpose(x, y);
#define CD_DO(l) w[e + (l)] = y[l];
        CD_EACH(CD_DO)
#undef CD_DO
    }
}
#endif

/* Entries 0 .. size-1 of `rows` states (1 .. LANES of them) to w. */
CD_STATIC void cd_pack(const real *in, ptrdiff_t stride, size_t rows, size_t size, real_v *w)
{
    if (rows == LANES) {
        cd_pack_rows(in, stride, LANES - 1, size, w);
    } else {
        cd_pack_rows(in, stride, (ptrdiff_t)rows - 1, size, w);
    }
}

/* One row for all states. */
CD_STATIC void cd_pack_one(const real *row, size_t size, real_v *w)
{
    size_t e;
    for (e = 0; e < size; e++) {
        w[e] = cd_splat(row[e]);
    }
}

/* Stores rows of LANES entries; entry e is in slot[e]. */
CD_INLINE void cd_rows(const real_v *w, const cd_slot *slot, real_v *y)
{
    real_v x[LANES];
#define CD_DO(l) x[l] = w[slot[l]];
    CD_EACH(CD_DO)
#undef CD_DO
    cd_transpose(x, y);
}

/* Rows of fewer entries, or fewer of them, to `to`. Where rows touch, a whole store covers the start of the next row, which
 * comes later; the last ones keep within the tile. */
CD_INLINE void cd_put_some(const real_v *y, size_t count, real *to, ptrdiff_t stride, size_t rows)
{
    const size_t whole = stride == (ptrdiff_t)count && rows == LANES ? LANES - (LANES - 1) / count : 0;
#define CD_DO(l) \
    if ((l) < whole) { \
        CD_PUT_ALL(to + (l) * stride, y[l]); \
    } else if ((l) < rows) { \
        cd_put(to + (l) * stride, y[l], count); \
    }
    CD_EACH(CD_DO)
#undef CD_DO
}

/* How many entries stand before the first aligned vector of long rows, of every second one at least; 0 where rows differ
 * more than that. */
CD_INLINE size_t cd_lead(const real *row, ptrdiff_t stride, size_t size)
{
    const size_t bytes = LANES * sizeof *row;
    return size < 2 * LANES || (size_t)stride * 2 % LANES != 0 ? 0 : (bytes - (uintptr_t)row % bytes) / sizeof *row % LANES;
}

/* Entries 0 .. size-1 of `rows` states from w; slot is padded to whole groups of 16. The second group of a long row
 * starts where stores are aligned, since a store across two cache lines takes twice as long; the last group starts early
 * enough to be whole. */
CD_STATIC void cd_unpack(const real_v *w, const cd_slot *slot, size_t size, real *out, ptrdiff_t stride, size_t rows)
{
    const size_t lead = cd_lead(out, stride, size);
    real_v y[LANES];
    size_t e = 0;
#if CD_HALF
    if (rows == LANES && size <= CD_HALF) {
        cd_put_halves(w, slot, size, out, stride, stride == (ptrdiff_t)size ? LANES - (CD_HALF - 1) / size : 0);
        return;
    }
    if (rows == LANES && size < LANES) {
        cd_put_halves(w, slot, CD_HALF, out, stride, LANES);
        cd_put_halves(w, slot + size - CD_HALF, CD_HALF, out + size - CD_HALF, stride, LANES);
        return;
    }
#endif
    if (rows < LANES || size < LANES) {
        for (; e < size; e += LANES) {
            cd_rows(w, slot + e, y);
            cd_put_some(y, size - e < LANES ? size - e : LANES, out + e, stride, rows);
        }
        return;
    }
    while (e < size) {
#if CD_HALF
        if (size - e <= CD_HALF) {
            cd_put_halves(w, slot + size - CD_HALF, CD_HALF, out + size - CD_HALF, stride, LANES);
            return;
        }
#endif
        e = size - e < LANES ? size - LANES : e;
        cd_rows(w, slot + e, y);
#define CD_DO(l) \
    CD_AHEAD(out + e + (l) * stride + 2 * LANES); \
    CD_PUT_ALL(out + e + (l) * stride, y[l]);
        CD_EACH(CD_DO)
#undef CD_DO
        e += e == 0 && lead != 0 ? lead : LANES;
    }
}
