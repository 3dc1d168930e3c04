/* Tiles of packed arrays to the workspace and back, and stores past the caches, for results that outgrow them. */
#if CD_BYTES == 64 && REAL_BITS == 64
#define STREAM(to, x) __builtin_ia32_movntpd512((double *)(to), x)
#elif CD_BYTES == 64
#define STREAM(to, x) __builtin_ia32_movntps512((float *)(to), x)
#elif REAL_BITS == 64
#define STREAM(to, x) __builtin_ia32_movntpd256((double *)(to), x)
#else
#define STREAM(to, x) __builtin_ia32_movntps256((float *)(to), x)
#endif

enum { STAGED = TILES_STAGED }; /* entries of a row that wait in the first cache until they are streamed */

CD_INLINE int aligned(const real *at)
{
    return (uintptr_t)at % CD_BYTES == 0;
}

/* One tile of a packed input. */
static void load_block(const tiles_plan *plan, const tiles_input *in, const real *block, real_v *w)
{
    const loose_v *column = (const loose_v *)block;
    int64_t k;
    if (in->table < 0) {
        for (k = 0; k < in->columns; k++) {
            w[in->slot + k] = column[k];
        }
        return;
    }
    for (k = 0; k < in->size; k++) {
        const int64_t from = plan->slots[in->table + k];
        if (from < in->columns) {
            w[in->slot + k] = column[from];
        } else {
            w[in->slot + k] = cd_splat(0);
        }
    }
}

/* One tile of a packed output. */
static void store_block(const tiles_plan *plan, const tiles_output *out, const real_v *w, real *block, int stream)
{
    const uint32_t *slot = plan->slots + out->packed_table;
    loose_v *column = (loose_v *)block;
    int64_t k;
    if (stream && aligned(block)) {
        for (k = 0; k < out->columns; k++) {
            STREAM(column + k, w[slot[k]]);
        }
        return;
    }
    for (k = 0; k < out->columns; k++) {
        column[k] = w[slot[k]];
    }
}

/* Copies numbers; the ends that are no whole vectors go through the caches. */
static void stream_copy(const real *from, real *to, size_t count)
{
    for (; count > 0 && !aligned(to); count--) {
        *to++ = *from++;
    }
    for (; count >= LANES; count -= LANES, to += LANES, from += LANES) {
        STREAM(to, *(const loose_v *)from);
    }
    for (; count > 0; count--) {
        *to++ = *from++;
    }
}

/* The end of each row and the start of the next one share a line: `lead` entries of it are the next one's. */
static void stream_seams(const real_v *w, const cd_slot *slot, size_t size, real *to, size_t lead)
{
    const size_t rest = LANES - lead;
    cd_slot seam[LANES];
    real_v y[LANES];
    bits_v next;
    size_t l;
    for (l = 0; l < LANES; l++) {
        seam[l] = l < rest ? slot[size - rest + l] : slot[l - rest];
        next[l] = l < rest ? 0 : -1;
    }
    cd_rows(w, seam, y);
    for (l = 0; l + 1 < LANES; l++) {
        const real_v both = (real_v)((next & (bits_v)y[l + 1]) | (~next & (bits_v)y[l]));
        STREAM(to + (l + 1) * size - rest, both);
    }
    memcpy(to, (const real *)&y[0] + rest, lead * sizeof *to);
    memcpy(to + LANES * size - rest, &y[LANES - 1], rest * sizeof *to);
}

/* Rows of whole vectors, one behind the other: several streams at a time are faster than one after the other. */
static void stream_rows(const real_v *w, const cd_slot *slot, size_t size, real *to)
{
    const size_t lead = cd_lead(to, (ptrdiff_t)size, size);
    real_v y[LANES];
    size_t e;
    if (lead != 0) {
        stream_seams(w, slot, size, to, lead);
    }
    for (e = lead; e + LANES <= size; e += LANES) {
        cd_rows(w, slot + e, y);
#define DO(l) STREAM(to + e + (l) * size, y[l]);
        CD_EACH(DO)
#undef DO
    }
}

/* Long rows by way of `stage`, some entries of all of them at a time. A row's last line that is not full yet waits for the
 * next time. */
static void stream_long(const real_v *w, const cd_slot *slot, size_t size, real *to, ptrdiff_t stride, real *stage)
{
    size_t done[LANES] = {0}, from = 0, end, l;
    for (end = 0; end < size; from = end - LANES) {
        end = size - end < STAGED ? size : end + STAGED;
        cd_unpack(w, slot + from, end - from, stage, (ptrdiff_t)(end - from), LANES);
        for (l = 0; l < LANES; l++) {
            real *const row = to + (ptrdiff_t)l * stride;
            const size_t rest = end != size ? (uintptr_t)(row + end) % CD_BYTES / sizeof(real) : 0;
            stream_copy(stage + l * (end - from) + done[l] - from, row + done[l], end - rest - done[l]);
            done[l] = end - rest;
        }
    }
}

/* LANES rows, `stride` apart. */
static void give_rows(const real_v *w, const cd_slot *slot, size_t size, real *to, ptrdiff_t stride, real *stage,
                      int stream)
{
    if (stream && size % LANES == 0 && size >= 2 * LANES && stride == (ptrdiff_t)size &&
        (uintptr_t)to % sizeof *to == 0) {
        stream_rows(w, slot, size, to);
    } else if (stream && size >= STAGED) {
        stream_long(w, slot, size, to, stride, stage);
    } else if (stream && stride == (ptrdiff_t)size) {
        cd_unpack(w, slot, size, stage, stride, LANES);
        stream_copy(stage, to, LANES * size);
    } else {
        cd_unpack(w, slot, size, to, stride, LANES);
    }
}
