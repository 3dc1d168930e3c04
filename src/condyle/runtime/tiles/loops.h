/* Rolled sweeps: blocks of machine code called for runs of joints, by a list of words (int64_t).
 *
 * The words: nv; how many tiles run side by side, and the slots of the workspace of each; the number of records; where
 * among the constants, in bytes, the table of left factors begins; the inputs that products alone read, on the left, as
 * bits; the records, then commands. Blocks do all tiles themselves. A step of the plan runs some of the commands.
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
 *   PRODUCT kind, left, row, column, right, row, column, result, lines, inner, columns, table, count
 *                                        result = left right, lines x columns, its rows side by side; each operand by its
 *                                        first slot and the distances between its rows and columns. kind: PRODUCT_MINUS
 *                                        - left right, PRODUCT_SAME left is numbers of the table of words[4],
 *                                        PRODUCT_HELD left lies in an input, which may be one row for all states. The
 *                                        table, of so many numbers, has blocks (product.h)
 *   COPY table, count                    slots, by pairs: from the first to the second
 * A record of -1 does nothing. */

typedef void tiles_steps(void *w, const void *constants, const uint32_t *slots, int64_t count, void *column, void *row);

/* Tiles that run side by side: workspaces `size` slots apart, and the inputs of the call. */
typedef struct {
    real_v *w;
    int64_t tiles, size;
    const void *const *in;
    const ptrdiff_t *in_stride;
    int way;
} tiles_group;

typedef struct {
    const tiles_plan *plan;
    const tiles_group *group;
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
    int64_t k, t;
    for (t = 0; t < self->group->tiles; t++) {
        for (k = 0; k < word[2]; k++) {
            self->w[t * self->group->size + slots[k]] = cd_splat(0);
        }
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

/* The left factors of a product that are the same for all states; NULL where each state has its own. */
static const real *same_left(const loops *self, const int64_t *word)
{
    const tiles_plan *const plan = self->plan;
    if (word[1] & PRODUCT_SAME) {
        return (const real *)((const char *)plan->constants + plan->loops[LOOPS_TABLE]) + word[2];
    }
    if (word[1] & PRODUCT_HELD) {
        const int64_t port = input_at(plan, word[2]);
        const tiles_input *const in = plan->in + port;
        const int one = self->group->in_stride[port] == 0 && is_whole(in, self->group->way);
        return one ? (const real *)self->group->in[port] + (word[2] - in->slot) : NULL;
    }
    return NULL;
}

/* result = left right, of all tiles; see PRODUCT. */
static void product(const loops *self, const int64_t *word)
{
    const tiles_group *const group = self->group;
    const real *const table = same_left(self, word);
    real_v *const w = group->w;
    cd_factors f = {table == NULL ? w + word[2] : NULL, table, w + word[5], w + word[8], word[3], word[4],
                    word[6], word[7], (size_t)word[9], (size_t)word[11]};
    const cd_slot *const blocks = self->plan->slots + word[12];
    const int minus = (word[1] & PRODUCT_MINUS) != 0;
    int64_t t;
    if (table != NULL && group->tiles > 1) {
        multiply_beside(&f, blocks, (size_t)word[13], minus, (int)group->tiles, group->size);
        return;
    }
    for (t = 0; t < group->tiles; t++) {
        cd_multiply(&f, blocks, (size_t)word[13], minus);
        f.left += table == NULL ? group->size : 0;
        f.right += group->size, f.result += group->size;
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

/* `count` words of commands from the `begin`-th word on, once for all tiles side by side. */
static void run_loops(const tiles_plan *plan, int64_t begin, int64_t count, const tiles_group *group)
{
    const int64_t *const head = plan->loops, *word = head + begin, *const end = word + count;
    const int64_t tiles = group->tiles, size = group->size;
    real_v *const w = group->w;
    loops self = {plan, group, head + WORDS, head[LOOPS_NV], 0, w};
    int64_t t;
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
                cd_copy(w + t * size, plan->slots + word[1], (size_t)word[2] / 2);
            }
            word += 3;
            break;
        default: /* PRODUCT */
            product(&self, word);
            word += PRODUCT_WORDS;
        }
    }
}
