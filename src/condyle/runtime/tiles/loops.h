/* Rolled sweeps: blocks of machine code called for runs of joints, by a list of words (int64_t).
 *
 * The words: nv; how many tiles run side by side, and the slots of the workspace of each; the number of records, the
 * records, then commands. Blocks do all tiles themselves.
 * A record is one step for one kind of joint, in five words: offset of its code; where its constants begin and the bytes
 * of one joint's; where its table of slots begins and the slots of one joint's part.
 * Commands, c being the column of the COLUMNS around them:
 *   CALL record, number, count           the step at `count` joints, the first one the number-th of its kind
 *   ANGLES table, count                  sines and cosines, by threes of slots
 *   COLUMNS length, nv joints, body      the body, of so many words, for every column; the joint of each column
 *   UPTO record, number, count, joint    CALL as far as the column's joint; `joint` is the first one
 *   WALK n, nv starts, n visits          a start: record, number, next joint; then at each joint: record, number, count
 *                                        and the next joint after those, until that is negative
 *   CLEAR table, count                   slots set to zero
 *   MIRROR matrix                        its upper triangle to its lower one
 *   PRODUCT left, right, result, table, count
 *                                        result = - left right, nv x nv; the table, of so many numbers, has for some
 *                                        columns of right at a time: how many (1 to 4), how many rows, these columns, and
 *                                        the rows where they can differ from zero
 *   COPY table, count, to                the slots of the table, to slots side by side
 * A record of -1 does nothing. */

typedef void tiles_steps(void *w, const void *constants, const uint32_t *slots, int64_t count, void *column, void *row);

typedef struct {
    const tiles_plan *plan;
    const int64_t *records;
    int64_t nv, c;
    real_v *w;
} loops;

static void call(const loops *self, int64_t record, int64_t number, int64_t count)
{
    const tiles_plan *plan = self->plan;
    if (record >= 0) {
        const int64_t *r = self->records + RECORD * record;
        tiles_steps *const steps = (tiles_steps *)(uintptr_t)(plan->code + r[0]);
        steps(self->w, (const char *)plan->constants + r[1] + number * r[2], plan->slots + r[3] + number * r[4], count,
              self->w + self->c, self->w + self->c * self->nv);
    }
}

static void walk(const loops *self, const int64_t *word)
{
    const int64_t *const start = word + 1 + 3 * self->c, *const visits = word + 1 + 3 * self->nv;
    int64_t joint = start[2];
    call(self, start[0], start[1], 1);
    while (joint >= 0) {
        const int64_t *visit = visits + 4 * joint;
        call(self, visit[0], visit[1], visit[2]);
        joint = visit[3];
    }
}

static void clear(const loops *self, const int64_t *word)
{
    const uint32_t *const slots = self->plan->slots + word[1];
    const int64_t *const head = self->plan->loops;
    int64_t k, t;
    for (t = 0; t < head[1]; t++) {
        for (k = 0; k < word[2]; k++) {
            self->w[t * head[2] + slots[k]] = cd_splat(0);
        }
    }
}

static void copy(const loops *self, const int64_t *word, real_v *w)
{
    const uint32_t *const from = self->plan->slots + word[1];
    int64_t k;
    for (k = 0; k < word[2]; k++) {
        w[word[3] + k] = w[from[k]];
    }
}

static void mirror(const loops *self, real_v *matrix)
{
    int64_t i, j;
    for (i = 1; i < self->nv; i++) {
        for (j = 0; j < i; j++) {
            matrix[i * self->nv + j] = matrix[j * self->nv + i];
        }
    }
}

/* Rows of `left` at a time, by the number of columns: as many sums as registers hold beside factors. */
#if CD_BYTES == 64
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif
#define UNROLL _Pragma("GCC unroll 8")
enum { ROWS_1 = 8, ROWS_2 = MANY_REGISTERS ? 8 : 4, ROWS_3 = MANY_REGISTERS ? 6 : 4, ROWS_4 = MANY_REGISTERS ? 6 : 2 };

typedef struct {
    const real_v *left, *right;
    real_v *result;
    int64_t n, n_rows;
    const uint32_t *column, *row; /* columns that read the same rows of `right` */
} factors;

/* `most` and `columns` are numbers that the compiler knows. */
CD_INLINE void product_columns(const factors *f, const int most, const int columns)
{
    const int64_t n = f->n;
    int64_t i, k;
    int a, b;
    for (i = 0; i < n; i += most) {
        real_v sum[8][4];
        const real_v *x[8];
        UNROLL for (a = 0; a < most; a++)
        {
            x[a] = f->left + (i + a < n ? i + a : n - 1) * n;
            UNROLL for (b = 0; b < columns; b++)
            {
                sum[a][b] = cd_splat(0);
            }
        }
        for (k = 0; k < f->n_rows; k++) {
            const int64_t row = f->row[k];
            real_v y[4];
            UNROLL for (b = 0; b < columns; b++)
            {
                y[b] = f->right[row * n + f->column[b]];
            }
            UNROLL for (a = 0; a < most; a++)
            {
                const real_v factor = x[a][row];
                UNROLL for (b = 0; b < columns; b++)
                {
                    sum[a][b] -= factor * y[b];
                }
            }
        }
        UNROLL for (a = 0; a < most; a++)
        {
            UNROLL for (b = 0; b < columns; b++)
            {
                if (i + a < n) {
                    f->result[(i + a) * n + f->column[b]] = sum[a][b];
                }
            }
        }
    }
}

static void product(const loops *self, const int64_t *word, real_v *w)
{
    const uint32_t *at = self->plan->slots + word[4], *const end = at + word[5];
    for (; at < end; at += 2 + at[0] + at[1]) {
        const factors f = {w + word[1], w + word[2], w + word[3], self->nv, at[1], at + 2, at + 2 + at[0]};
        switch (at[0]) {
        case 1:
            product_columns(&f, ROWS_1, 1);
            break;
        case 2:
            product_columns(&f, ROWS_2, 2);
            break;
        case 3:
            product_columns(&f, ROWS_3, 3);
            break;
        default:
            product_columns(&f, ROWS_4, 4);
        }
    }
}

/* The commands of the body of COLUMNS, for one column of this joint. */
static void column_commands(const loops *self, const int64_t *word, const int64_t *end, int64_t joint)
{
    while (word < end) {
        switch (word[0]) {
        case CALL:
            call(self, word[1], word[2], word[3]);
            word += 4;
            break;
        case UPTO:
            if (word[4] <= joint) {
                const int64_t most = joint - word[4] + 1;
                call(self, word[1], word[2], word[3] < most ? word[3] : most);
            }
            word += 5;
            break;
        case WALK:
            walk(self, word + 1);
            word += 2 + 3 * self->nv + 4 * word[1];
            break;
        default: /* CLEAR */
            clear(self, word);
            word += 3;
        }
    }
}

/* All commands of a plan's words, once for one tile. */
static void run_loops(const tiles_plan *plan, real_v *w)
{
    const int64_t *word = plan->loops, *const end = word + plan->n_loop;
    const int64_t tiles = word[1], size = word[2];
    loops self = {plan, word + WORDS, word[0], 0, w};
    int64_t t;
    word += WORDS + RECORD * word[3];
    while (word < end) {
        switch (word[0]) {
        case CALL:
            call(&self, word[1], word[2], word[3]);
            word += 4;
            break;
        case ANGLES:
            for (t = 0; t < tiles; t++) {
                cd_sincos(w + t * size, plan->slots + word[1], (size_t)word[2]);
            }
            word += 3;
            break;
        case COLUMNS: {
            const int64_t *const joints = word + 2, *const body = joints + self.nv;
            for (self.c = 0; self.c < self.nv; self.c++) {
                column_commands(&self, body, body + word[1], joints[self.c]);
            }
            self.c = 0;
            word = body + word[1];
            break;
        }
        case CLEAR:
            clear(&self, word);
            word += 3;
            break;
        case MIRROR:
            for (t = 0; t < tiles; t++) {
                mirror(&self, w + t * size + word[1]);
            }
            word += 2;
            break;
        case COPY:
            for (t = 0; t < tiles; t++) {
                copy(&self, word, w + t * size);
            }
            word += 4;
            break;
        default: /* PRODUCT */
            for (t = 0; t < tiles; t++) {
                product(&self, word, w + t * size);
            }
            word += 6;
        }
    }
}
