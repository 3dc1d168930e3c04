/* Whether the words of loops (see loops.h) stay inside the data they lead to. */
typedef struct {
    const tiles_plan *plan;
    const int64_t *words;
    const uint32_t *table;
    int64_t count, nv, records, tables, slots, numbers; /* numbers: of the table of left factors */
} words_check;

static int fine_table(const words_check *in, int64_t begin, int64_t count)
{
    return begin >= 0 && count >= 0 && count <= in->tables && begin <= in->tables - count;
}

static int fine_matrix(const words_check *in, int64_t base)
{
    return base >= 0 && in->nv < 1 << 20 && base + in->nv * in->nv <= in->slots;
}

/* Whether a matrix of so many lines and columns ends before `limit`. */
static int fine_operand(const int64_t *base_row_column, int64_t lines, int64_t columns, int64_t limit)
{
    for (int k = 0; k < 3; k++) {
        if (base_row_column[k] < 0 || base_row_column[k] >= INT32_MAX) {
            return 0;
        }
    }
    columns = columns > 0 ? columns : 1;
    return base_row_column[0] + (lines - 1) * base_row_column[1] + (columns - 1) * base_row_column[2] < limit;
}

/* The blocks of a product: see product.h. */
static int fine_blocks(const words_check *in, const int64_t *word)
{
    static const int64_t together[3] = {8, 4, 4}; /* CD_LINES_1 .. CD_LINES_3 */
    const int64_t lines = word[9], inner = word[10], columns = word[11], end = word[12] + word[13];
    int64_t at = word[12];
    while (at < end) {
        const uint32_t *const block = in->table + at;
        const int64_t left = end - at - 3;
        int64_t count, step;
        if (left < 0 || block[1] < 1 || block[1] > 3) {
            return 0;
        }
        count = (int64_t)block[0] + block[1] + block[2];
        if (count > left) {
            return 0;
        }
        step = lines < together[block[1] - 1] ? 1 : together[block[1] - 1];
        for (int64_t k = 0; k < count; k++) {
            const int64_t k_column = k - block[0], limit = k_column < 0 ? lines - step + 1 : k_column < block[1] ? columns : inner;
            if (block[3 + k] >= limit) {
                return 0;
            }
        }
        at += 3 + count;
    }
    return 1;
}

/* The left factors of a product: numbers of the table, or slots; those that are held lie in one input. */
static int fine_left(const words_check *in, const int64_t *word, int64_t lines, int64_t inner)
{
    const int64_t kind = word[1] & ~(int64_t)PRODUCT_MINUS;
    int64_t port, end = kind == PRODUCT_SAME ? in->numbers : in->slots;
    if (kind == PRODUCT_HELD) {
        port = input_at(in->plan, word[2]);
        end = port < 0 ? 0 : in->plan->in[port].slot + in->plan->in[port].size;
    }
    return (kind == 0 || kind == PRODUCT_SAME || kind == PRODUCT_HELD) && fine_operand(word + 2, lines, inner, end);
}

/* The words of a product: operands, result and blocks. */
static int fine_product(const words_check *in, const int64_t *word)
{
    const int64_t lines = word[9], inner = word[10], columns = word[11], result[3] = {word[8], columns, 1};
    for (int k = 9; k < 12; k++) {
        if (word[k] < (k != 10) || word[k] >= INT32_MAX) {
            return 0;
        }
    }
    return fine_left(in, word, lines, inner) &&
           fine_operand(word + 5, inner > 0 ? inner : 1, columns, in->slots) &&
           fine_operand(result, lines, columns, in->slots) && fine_table(in, word[12], word[13]) && fine_blocks(in, word);
}

static int fine_record(const words_check *in, int64_t record, int64_t number, int64_t count)
{
    return record >= -1 && record < in->records && number >= 0 && count >= 1;
}

/* How many words the walk at `at` has, or 0. */
static int64_t walk_words(const words_check *in, int64_t at)
{
    const int64_t left = in->count - at, n = left > 1 ? in->words[at + 1] : -1;
    const int64_t *start = in->words + at + 2, *visit = start + 3 * in->nv;
    int fine = n >= 0 && n < 1 << 24 && left >= 2 + 3 * in->nv + 4 * n;
    for (int64_t k = 0; fine && k < in->nv; k++, start += 3) {
        fine = fine_record(in, start[0], start[1], 1) && start[2] < n;
    }
    for (int64_t k = 0; fine && k < n; k++, visit += 4) {
        fine = fine_record(in, visit[0], visit[1], visit[2]) && visit[3] < k;
    }
    return fine ? 2 + 3 * in->nv + 4 * n : 0;
}

/* How many words the command at `at` has, or 0 if it is none. */
static int64_t command_words(const words_check *in, int64_t at, int inside)
{
    const int64_t *word = in->words + at, left = in->count - at;
    switch (word[0]) {
    case CALL:
        return left >= 4 && fine_record(in, word[1], word[2], word[3]) ? 4 : 0;
    case ANGLES:
        return !inside && left >= 3 && word[2] <= in->tables && fine_table(in, word[1], 3 * word[2]) ? 3 : 0;
    case COLUMNS:
        return !inside && left >= 2 && word[1] >= 0 && word[1] <= left - 2 - in->nv ? 2 + in->nv : 0;
    case UPTO:
        return inside && left >= 5 && fine_record(in, word[1], word[2], word[3]) && word[4] >= 0 ? 5 : 0;
    case WALK:
        return inside ? walk_words(in, at) : 0;
    case CLEAR:
        return left >= 3 && fine_table(in, word[1], word[2]) ? 3 : 0;
    case MIRROR:
        return !inside && left >= 2 && fine_matrix(in, word[1]) ? 2 : 0;
    case PRODUCT:
        return !inside && left >= PRODUCT_WORDS && fine_product(in, word) ? PRODUCT_WORDS : 0;
    case COPY:
        return !inside && left >= 3 && word[2] % 2 == 0 && fine_table(in, word[1], word[2]) ? 3 : 0;
    default:
        return 0;
    }
}

/* Whether `count` words from the `begin`-th on are commands; `item`: bytes of a number. */
static int fine_loops(const tiles_plan *plan, int64_t begin, int64_t count, int64_t item, int64_t code, int64_t constants,
                      int64_t tables)
{
    const int64_t *word = plan->loops, slots = plan->stage;
    words_check in = {plan, word, plan->slots, plan->n_loop, 0, 0, tables, slots, 0};
    int64_t at, end = 0;
    if (in.count < WORDS || word[0] < 0 || word[0] >= 1 << 20 || word[1] < 1 || word[1] > MOST_TILES || word[2] < 0 ||
        word[1] * word[2] != slots || word[3] < 0 || word[3] > (in.count - WORDS) / RECORD || word[4] < 0 ||
        word[4] > constants || word[4] % item != 0 || word[5] < 0 ||
        (word[5] != 0 && (plan->n_in > 62 || word[5] >> plan->n_in != 0))) {
        return 0;
    }
    in.nv = word[0], in.slots = word[2], in.records = word[3], in.numbers = (constants - word[4]) / item;
    for (int64_t k = 0; k < in.records; k++) {
        const int64_t *record = word + WORDS + RECORD * k;
        if (record[0] < 0 || record[0] >= code || record[1] < 0 || record[1] > constants || record[2] < 0 ||
            !fine_table(&in, record[3], record[4])) {
            return 0;
        }
    }
    if (begin < WORDS + RECORD * in.records || count < 0 || begin > in.count || count > in.count - begin) {
        return 0;
    }
    in.count = begin + count;
    for (at = begin; at < in.count;) {
        const int64_t length = command_words(&in, at, at < end);
        if (length == 0) {
            return 0;
        }
        if (word[at] == COLUMNS) {
            end = at + length + word[at + 1];
        }
        at += length;
    }
    return 1;
}
