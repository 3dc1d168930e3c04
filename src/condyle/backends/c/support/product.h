/* Products of matrices whose entries are vectors of states. A table has block after block: how many first lines, columns (1
 * to 3) and terms; then the first lines of some that are taken together, the columns, and k of left[line, k]
 * right[k, column]. Sums stay in 16 registers, beside factors. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* at -O1 it unrolls nothing, and would say so */
#define CD_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define CD_UNROLL _Pragma("GCC unroll 8")
#else
#define CD_UNROLL
#endif

/* Lines that are taken together, by the number of columns; one where the result has fewer. */
enum { CD_LINES_1 = 8, CD_LINES_2 = 4, CD_LINES_3 = 4 };

/* left or, where it is the same for all states, table; distances between rows and between columns. */
typedef struct {
    const real_v *left;
    const real *table;
    const real_v *right;
    real_v *result;
    ptrdiff_t left_row, left_column, right_row, right_column;
    size_t lines, columns;
} cd_factors;

/* `lines`, `columns`, `minus` and `same` (one left for all states) are numbers that the compiler knows. */
CD_INLINE void cd_block(const cd_factors *f, const cd_slot *block, const int lines, const int columns, const int minus,
                        const int same)
{
    const cd_slot *const first = block + 3, *const column = first + block[0], *const term = column + columns;
    const cd_slot *const end = term + block[2];
    const size_t item = same ? sizeof(real) : sizeof(real_v);
    const size_t down = (size_t)f->right_row * sizeof(real_v), along = (size_t)f->left_column * item;
    size_t i;
    int a, b;
    for (i = 0; i < block[0]; i++) {
        const char *const start = same ? (const char *)f->table : (const char *)f->left;
        const char *const left = start + first[i] * (size_t)f->left_row * item;
        real_v *const to = f->result + first[i] * f->columns;
        const char *x[8], *from[3];
        const cd_slot *k;
        real_v sum[8][3];
        CD_UNROLL for (a = 0; a < lines; a++)
        {
            x[a] = left + (size_t)a * (size_t)f->left_row * item;
            CD_UNROLL for (b = 0; b < columns; b++)
            {
                sum[a][b] = cd_splat(0);
            }
        }
        CD_UNROLL for (b = 0; b < columns; b++)
        {
            from[b] = (const char *)(f->right + (ptrdiff_t)column[b] * f->right_column);
        }
        for (k = term; k < end; k++) {
            const size_t across = *k * along, below = *k * down;
            real_v y[3];
            CD_UNROLL for (b = 0; b < columns; b++)
            {
                y[b] = *(const real_v *)(from[b] + below);
            }
            CD_UNROLL for (a = 0; a < lines; a++)
            {
                const char *const at = x[a] + across;
                const real_v factor = same ? cd_splat(*(const real *)at) : *(const real_v *)at;
                CD_UNROLL for (b = 0; b < columns; b++)
                {
                    sum[a][b] = minus ? sum[a][b] - factor * y[b] : sum[a][b] + factor * y[b];
                }
            }
        }
        CD_UNROLL for (a = 0; a < lines; a++)
        {
            CD_UNROLL for (b = 0; b < columns; b++)
            {
                to[(size_t)a * f->columns + column[b]] = sum[a][b];
            }
        }
    }
}

#define CD_BLOCK(n) \
    case n: \
        if (f->lines < CD_LINES_##n) { \
            cd_block(f, at, 1, n, minus, same); \
        } else { \
            cd_block(f, at, CD_LINES_##n, n, minus, same); \
        } \
        break

CD_INLINE void cd_blocks(const cd_factors *f, const cd_slot *at, size_t count, const int minus, const int same)
{
    const cd_slot *const end = at + count;
    for (; at < end; at += 3 + at[0] + at[1] + at[2]) {
        switch (at[1]) {
            CD_BLOCK(1);
            CD_BLOCK(2);
            CD_BLOCK(3);
        }
    }
}

/* result = left right, or - left right where `minus`. */
CD_STATIC void cd_multiply(const cd_factors *f, const cd_slot *table, size_t count, int minus)
{
    if (f->table != NULL) {
        if (minus) {
            cd_blocks(f, table, count, 1, 1);
        } else {
            cd_blocks(f, table, count, 0, 1);
        }
    } else if (minus) {
        cd_blocks(f, table, count, 1, 0);
    } else {
        cd_blocks(f, table, count, 0, 0);
    }
}

/* Whether the number in this slot is above 0 in all lanes. */
CD_STATIC int cd_done(const real_v *w, size_t slot)
{
    const real *const flag = (const real *)(w + slot);
    int done = 1;
    size_t l;
    for (l = 0; l < LANES; l++) {
        done &= flag[l] > 0;
    }
    return done;
}

/* Slots by pairs: from the first to the second. */
CD_STATIC void cd_copy(real_v *w, const cd_slot *slot, size_t count)
{
    size_t k;
    for (k = 0; k < 2 * count; k += 2) {
        w[slot[k + 1]] = w[slot[k]];
    }
}
