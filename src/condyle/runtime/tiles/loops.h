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
 *                                        result = - left right, nv x nv; the table, of so many numbers, has block after
 *                                        block: how many first lines, columns (1 to 4) and terms; then the first
 *                                        lines of some that are taken together, the columns, and k of
 *                                        left[line, k] right[k, column]
 *   COPY table, count                    slots, by pairs: from the first to the second
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
    const uint32_t *const slots = self->plan->slots + word[1];
    int64_t k;
    for (k = 0; k < word[2]; k += 2) {
        w[slots[k + 1]] = w[slots[k]];
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

#define UNROLL _Pragma("GCC unroll 8")

typedef struct {
    const real_v *left, *right;
    real_v *result;
    int64_t n, n_first, n_terms;
    const uint32_t *first, *column, *term;
} factors;

/* `lines` and `columns` are numbers that the compiler knows. */
CD_INLINE void product_block(const factors *f, const int lines, const int columns)
{
    const int64_t n = f->n;
    int64_t i, k;
    int a, b;
    for (i = 0; i < f->n_first; i++) {
        const real_v *const x = f->left + f->first[i] * n;
        real_v *const to = f->result + f->first[i] * n;
        real_v sum[8][4];
        UNROLL for (a = 0; a < lines; a++)
        {
            UNROLL for (b = 0; b < columns; b++)
            {
                sum[a][b] = cd_splat(0);
            }
        }
        for (k = 0; k < f->n_terms; k++) {
            const int64_t term = f->term[k];
            real_v y[4];
            UNROLL for (b = 0; b < columns; b++)
            {
                y[b] = f->right[term * n + f->column[b]];
            }
            UNROLL for (a = 0; a < lines; a++)
            {
                const real_v factor = x[a * n + term];
                UNROLL for (b = 0; b < columns; b++)
                {
                    sum[a][b] -= factor * y[b];
                }
            }
        }
        UNROLL for (a = 0; a < lines; a++)
        {
            UNROLL for (b = 0; b < columns; b++)
            {
                to[a * n + f->column[b]] = sum[a][b];
            }
        }
    }
}

/* Where there are fewer lines than a block takes together, blocks are of one line. */
#define PRODUCT_OF(columns) \
    case columns: \
        if (self->nv < LINES_##columns) { \
            product_block(&f, 1, columns); \
        } else { \
            product_block(&f, LINES_##columns, columns); \
        } \
        break

static void product(const loops *self, const int64_t *word, real_v *w)
{
    const uint32_t *at = self->plan->slots + word[4], *const end = at + word[5];
    for (; at < end; at += 3 + at[0] + at[1] + at[2]) {
        const uint32_t *const first = at + 3, *const column = first + at[0], *const term = column + at[1];
        const factors f = {w + word[1], w + word[2], w + word[3], self->nv, at[0], at[2], first, column, term};
        switch (at[1]) {
            PRODUCT_OF(1);
            PRODUCT_OF(2);
            PRODUCT_OF(3);
            PRODUCT_OF(4);
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
            word += 3;
            break;
        default: /* PRODUCT */
            for (t = 0; t < tiles; t++) {
                product(&self, word, w + t * size);
            }
            word += 6;
        }
    }
}
