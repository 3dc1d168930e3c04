/* Values, registers and slots, and moves between them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NEVER ((int64_t)1 << 40)
#define SLOT 64
#define MOST_REGISTERS 64
#define NO_HOME INT64_MIN

enum { BINARY, UNARY, REGISTERS, CHAINED }; /* as in operations.py */
enum { FORM_132, FORM_213, FORM_231 };

/* A row of operations.py, whose objects live as long as the call. An operand below 0: 1, then the sign. */
typedef struct {
    PyObject *name, *instructions[3];
    int form, swaps, count, values;
    int operands[3];
} Row;

#define MOST_ROWS 64
static PyObject *load_name, *store_name, *constant_name;

typedef struct {
    const Row *row;
    int count;
    int64_t values[3];
} Operation;

typedef struct {
    PyObject *op;
    int64_t to, a, b, c;
} Made;

typedef struct {
    int64_t n; /* values: nodes, then 1 and the sign */
    int64_t *home, *store, *spilled, *use, *first_use, *last_use;
    int *where;
    Operation *ops;
    int64_t *order;
    Py_ssize_t length;
    int64_t held[MOST_REGISTERS];
    uint64_t entered[MOST_REGISTERS], entries; /* when each register got its value: of equals the earlier one is chosen */
    int free[MOST_REGISTERS], n_free, registers;
    int64_t *spare, n_spare, size, far;
    double dirty;
    Row rows[MOST_ROWS];
    int n_rows;
    Made *code;
    Py_ssize_t n_code, room;
    int failed;
} Allocator;

static int64_t next_use(const Allocator *s, int64_t value)
{
    return s->first_use[value] < s->last_use[value] ? s->use[s->first_use[value]] : NEVER;
}

static int wanted(const Allocator *s, int64_t value)
{
    return s->first_use[value] < s->last_use[value];
}

static void emit_four(Allocator *s, PyObject *op, int64_t to, int64_t a, int64_t b, int64_t c)
{
    if (s->n_code == s->room) {
        const Py_ssize_t room = s->room * 2 + 1024;
        Made *larger = realloc(s->code, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            s->failed = 1;
            return;
        }
        s->code = larger, s->room = room;
    }
    s->code[s->n_code++] = (Made){op, to, a, b, c};
}

static void emit(Allocator *s, PyObject *op, int64_t to, int64_t a, int64_t b)
{
    emit_four(s, op, to, a, b, 0);
}

/* Of the registers not pinned, the one whose value has the latest next use; a value that must be stored first counts as
 * used sooner. -1: all are pinned. */
static int victim(const Allocator *s, int64_t time, uint64_t pinned)
{
    double best = -1.0;
    int chosen = -1;
    for (int r = 0; r < s->registers; r++) {
        double distance;
        if (s->held[r] < 0 || (pinned >> r & 1)) {
            continue;
        }
        distance = (double)(next_use(s, s->held[r]) - time);
        if (s->home[s->held[r]] == NO_HOME) {
            distance *= s->dirty;
        }
        if (distance > best || (distance == best && chosen >= 0 && s->entered[r] < s->entered[chosen])) {
            best = distance, chosen = r;
        }
    }
    return chosen;
}

static int64_t pop_spare(Allocator *s)
{
    const int64_t least = s->spare[0], last = s->spare[--s->n_spare];
    int64_t k = 0;
    for (;;) {
        int64_t child = 2 * k + 1;
        if (child + 1 < s->n_spare && s->spare[child + 1] < s->spare[child]) {
            child++;
        }
        if (child >= s->n_spare || s->spare[child] >= last) {
            break;
        }
        s->spare[k] = s->spare[child];
        k = child;
    }
    s->spare[k] = last;
    return least;
}

static void push_spare(Allocator *s, int64_t slot)
{
    int64_t k = s->n_spare++;
    for (; k > 0 && s->spare[(k - 1) / 2] > slot; k = (k - 1) / 2) {
        s->spare[k] = s->spare[(k - 1) / 2];
    }
    s->spare[k] = slot;
}

/* Gives a value a home before it leaves its register. */
static void save(Allocator *s, int64_t value)
{
    if (s->home[value] != NO_HOME) {
        return;
    }
    s->spilled[value] = s->n_spare > 0 ? pop_spare(s) : s->size++;
    s->home[value] = SLOT + s->spilled[value];
    emit(s, store_name, s->where[value], 0, s->home[value]);
}

/* A register to write: a free one, else the victim's. */
static int take(Allocator *s, int64_t time, uint64_t pinned)
{
    int64_t value;
    int r;
    if (s->n_free > 0) {
        return s->free[--s->n_free];
    }
    r = victim(s, time, pinned);
    if (r < 0) {
        s->failed = 1;
        return 0;
    }
    value = s->held[r];
    s->held[r] = -1;
    save(s, value);
    s->where[value] = -1;
    return r;
}

static void hold(Allocator *s, int64_t value, int r)
{
    s->where[value] = r;
    s->held[r] = value;
    s->entered[r] = s->entries++;
}

static void load(Allocator *s, int64_t time, int64_t value, uint64_t pinned)
{
    const int to = take(s, time, pinned);
    emit(s, load_name, to, 0, s->home[value]);
    hold(s, value, to);
}

static int is_near(const Allocator *s, int64_t time, int64_t value, uint64_t pinned)
{
    const int64_t following = next_use(s, value);
    int r;
    if (following - time >= s->far) {
        return 0;
    }
    if (s->n_free > 0) {
        return 1;
    }
    r = victim(s, time, pinned);
    return r >= 0 && following < next_use(s, s->held[r]);
}

static int64_t place(const Allocator *s, int64_t value)
{
    return s->where[value] >= 0 ? s->where[value] : s->home[value];
}

/* The value's register, loaded if the next use is soon; else its home. */
static int64_t operand(Allocator *s, int64_t time, int64_t value, uint64_t pinned)
{
    if (s->where[value] < 0 && is_near(s, time, value, pinned)) {
        load(s, time, value, pinned);
    }
    return place(s, value);
}

/* Frees the registers of operands without later uses. */
static void release(Allocator *s, const Operation *op)
{
    for (int k = 0; k < op->count; k++) {
        const int64_t value = op->values[k];
        if (s->where[value] >= 0 && !wanted(s, value)) {
            s->held[s->where[value]] = -1;
            s->free[s->n_free++] = s->where[value];
            s->where[value] = -1;
        }
    }
}

/* Frees their spill slots, after the operation has read them. */
static void release_slots(Allocator *s, const Operation *op)
{
    for (int k = 0; k < op->count; k++) {
        const int64_t value = op->values[k];
        if (s->spilled[value] >= 0 && !wanted(s, value)) {
            push_spare(s, s->spilled[value]);
            s->spilled[value] = -1;
        }
    }
}
