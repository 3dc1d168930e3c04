/* Products with left factors that are the same for all states, for tiles side by side: a factor is loaded once for all of
 * them. Vectors on the right alone; matrices have columns that share factors already (product.h). */
#if CD_BYTES == 64
enum { SIDE_LINES = 8 }; /* times MOST_TILES sums, beside their factors, in 32 registers; else in 16 */
#else
enum { SIDE_LINES = 4 };
#endif

/* Lines first .. first + lines - 1 of one column; `lines`, `tiles` and `minus` are numbers that the compiler knows. */
CD_INLINE void side_lines(const cd_factors *f, const cd_slot *block, size_t first, const int lines, const int tiles,
                          ptrdiff_t size, const int minus)
{
    const cd_slot *const term = block + 4 + block[0];
    const size_t column = term[-1], terms = block[2];
    const ptrdiff_t row = f->left_row;
    const real *const left = f->table + (ptrdiff_t)first * row;
    const real_v *const right = f->right + (ptrdiff_t)column * f->right_column;
    real_v *const to = f->result + first * f->columns + column;
    real_v sum[SIDE_LINES][MOST_TILES];
    size_t k;
    int a, t;
    CD_UNROLL for (a = 0; a < lines; a++)
    {
        CD_UNROLL for (t = 0; t < tiles; t++)
        {
            sum[a][t] = cd_splat(0);
        }
    }
    for (k = 0; k < terms; k++) {
        const real *const factors = left + (ptrdiff_t)term[k] * f->left_column;
        const real_v *const from = right + (ptrdiff_t)term[k] * f->right_row;
        real_v y[MOST_TILES];
        CD_UNROLL for (t = 0; t < tiles; t++)
        {
            y[t] = from[t * size];
        }
        CD_UNROLL for (a = 0; a < lines; a++)
        {
            const real_v factor = cd_splat(factors[a * row]);
            CD_UNROLL for (t = 0; t < tiles; t++)
            {
                sum[a][t] = minus ? sum[a][t] - factor * y[t] : sum[a][t] + factor * y[t];
            }
        }
    }
    CD_UNROLL for (a = 0; a < lines; a++)
    {
        CD_UNROLL for (t = 0; t < tiles; t++)
        {
            to[(size_t)a * f->columns + t * size] = sum[a][t];
        }
    }
}

/* A block of one column (product.h): eight lines at a time, or one where the result has fewer. */
CD_INLINE void side_block(const cd_factors *f, const cd_slot *block, const int tiles, ptrdiff_t size, const int minus)
{
    size_t i;
    int a;
    for (i = 0; i < block[0]; i++) {
        if (f->lines < CD_LINES_1) {
            side_lines(f, block, block[3 + i], 1, tiles, size, minus);
        } else {
            for (a = 0; a < CD_LINES_1; a += SIDE_LINES) {
                side_lines(f, block, block[3 + i] + (size_t)a, SIDE_LINES, tiles, size, minus);
            }
        }
    }
}

static void side_tiles(const cd_factors *f, const cd_slot *block, int tiles, ptrdiff_t size, int minus)
{
    if (tiles == 3) {
        if (minus) {
            side_block(f, block, 3, size, 1);
        } else {
            side_block(f, block, 3, size, 0);
        }
    } else if (minus) {
        side_block(f, block, 2, size, 1);
    } else {
        side_block(f, block, 2, size, 0);
    }
}

/* result = left right, or - left right where `minus`, of two or three tiles `size` slots apart. */
static void multiply_beside(const cd_factors *f, const cd_slot *block, size_t count, int minus, int tiles, ptrdiff_t size)
{
    const cd_slot *const end = block + count;
    size_t words;
    int t;
    for (; block < end; block += words) {
        words = 3 + (size_t)block[0] + block[1] + block[2];
        if (block[1] == 1) {
            side_tiles(f, block, tiles, size, minus);
            continue;
        }
        for (t = 0; t < tiles; t++) {
            cd_factors one = *f;
            one.right += t * size, one.result += t * size;
            cd_multiply(&one, block, words, minus);
        }
    }
}
