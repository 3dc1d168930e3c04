/* Register allocation on a linear order (Belady 1966). tests/backends/cpu/plain_allocate.py is the same
 * algorithm in Python, with the same names; a test compares the two, instruction by instruction. */
#include "_allocate_registers.h"

static int binary(Allocator *s, int64_t time, const Operation *op)
{
    int64_t a = op->values[0], b = op->values[1], last;
    int first, to;
    if (op->row->swaps && s->where[a] < 0 && (s->where[b] >= 0 || next_use(s, b) < next_use(s, a))) {
        a = op->values[1], b = op->values[0];
    }
    if (s->where[a] < 0) {
        load(s, time, a, s->where[b] >= 0 ? (uint64_t)1 << s->where[b] : 0);
    }
    first = s->where[a];
    last = operand(s, time, b, (uint64_t)1 << first);
    release(s, op);
    to = take(s, time, 0);
    emit(s, op->row->instructions[0], to, first, last);
    return to;
}

static int among(int64_t value, const int64_t *values, int count)
{
    int found = 0;
    for (int k = 0; k < count; k++) {
        found += values[k] == value;
    }
    return found;
}

static uint64_t registers_of(const Allocator *s, const Operation *op)
{
    uint64_t found = 0;
    for (int k = 0; k < op->count; k++) {
        found |= s->where[op->values[k]] >= 0 ? (uint64_t)1 << s->where[op->values[k]] : 0;
    }
    return found;
}

/* The value whose next use is latest, the first of several; -1 if there are no values. */
static int64_t wanted_last(const Allocator *s, const int64_t *values, int count)
{
    int64_t chosen = -1;
    for (int k = 0; k < count; k++) {
        if (chosen < 0 || next_use(s, values[k]) > next_use(s, chosen)) {
            chosen = values[k];
        }
    }
    return chosen;
}

/* The operand that the result overwrites, and its register: one without later uses, one just loaded, or a copy. */
static int64_t overwritten(Allocator *s, int64_t time, const Operation *op, const int64_t *loads, int n_loads, int *to)
{
    const int64_t a = op->values[0], b = op->values[1], c = op->values[2], dying[3] = {c, a, b};
    int64_t clean[3], value;
    int n_clean = 0, r, source;
    for (int k = 0; k < 3; k++) {
        if (s->where[dying[k]] >= 0 && !wanted(s, dying[k])) {
            *to = s->where[dying[k]];
            return dying[k];
        }
    }
    if (n_loads > 0) {
        value = wanted_last(s, loads, n_loads);
        *to = s->where[value];
        return value;
    }
    for (int k = 0; k < 3; k++) {
        if (s->where[op->values[k]] >= 0 && s->home[op->values[k]] != NO_HOME) {
            clean[n_clean++] = op->values[k];
        }
    }
    value = wanted_last(s, clean, n_clean);
    if (value >= 0 && next_use(s, value) - time >= s->far) { /* the next use reads it from its home, without a copy */
        *to = s->where[value];
        return value;
    }
    value = s->where[c] >= 0 ? c : a;
    if (s->n_free == 0 && (r = victim(s, time, 0)) >= 0 && among(s->held[r], op->values, 3)) {
        save(s, s->held[r]);
        *to = r;
        return s->held[r];
    }
    source = s->where[value];
    *to = take(s, time, registers_of(s, op));
    emit(s, load_name, *to, 0, source);
    return value;
}

/* Chooses form 132, 213 or 231 by the operand that is overwritten and the one that is read from memory. */
static void emit_form(Allocator *s, const Operation *op, int64_t over, int to, int64_t memory)
{
    PyObject *const *const form = op->row->instructions;
    int64_t a = op->values[0], b = op->values[1];
    const int64_t c = op->values[2];
    const int change = over == c ? a == memory : over == b;
    if (change) {
        a = op->values[1], b = op->values[0];
    }
    if (over == c) {
        emit(s, form[FORM_231], to, s->where[a], place(s, b));
    } else if (b == memory) {
        emit(s, form[FORM_132], to, s->where[c], place(s, b));
    } else {
        emit(s, form[FORM_213], to, s->where[b], place(s, c));
    }
}

/* A multiply-add overwrites one of its operands, and reads at most one from memory. */
static int fused(Allocator *s, int64_t time, const Operation *op)
{
    int64_t absent[3], single[3], loads[3], memory, over;
    int n_absent = 0, n_single = 0, n_loads = 0, dying = 0, to = 0;
    uint64_t pinned = registers_of(s, op);
    for (int k = 0; k < 3; k++) {
        const int64_t value = op->values[k];
        if (s->where[value] >= 0) {
            dying = dying || !wanted(s, value);
        } else if (!among(value, absent, n_absent)) {
            absent[n_absent++] = value;
            if (among(value, op->values, 3) == 1) {
                single[n_single++] = value;
            }
        }
    }
    memory = wanted_last(s, single, n_single);
    for (int k = 0; k < n_absent; k++) {
        if (absent[k] != memory) {
            loads[n_loads++] = absent[k];
        }
    }
    if (memory >= 0 && n_loads == 0 && (!dying || is_near(s, time, memory, pinned))) {
        loads[n_loads++] = memory;
        memory = -1;
    }
    for (int k = 0; k < n_loads; k++) {
        load(s, time, loads[k], pinned);
        pinned |= (uint64_t)1 << s->where[loads[k]];
    }
    over = overwritten(s, time, op, loads, dying ? 0 : n_loads, &to);
    emit_form(s, op, over, to, memory);
    if (s->where[over] == to) {
        s->where[over] = -1;
        s->held[to] = -1;
    }
    release(s, op);
    return to;
}

/* An operation that reads registers only. */
static int registers_only(Allocator *s, int64_t time, const Operation *op)
{
    uint64_t pinned = registers_of(s, op);
    int64_t used[3] = {0};
    int to;
    for (int k = 0; k < op->count; k++) {
        if (s->where[op->values[k]] < 0) {
            load(s, time, op->values[k], pinned);
            pinned |= (uint64_t)1 << s->where[op->values[k]];
        }
    }
    for (int k = 0; k < op->count; k++) {
        used[k] = s->where[op->values[k]];
    }
    release(s, op);
    to = take(s, time, 0);
    if (op->count == 1) {
        emit(s, op->row->instructions[0], to, 0, used[0]);
    } else {
        emit_four(s, op->row->instructions[0], to, used[0], used[1], used[2]);
    }
    return to;
}

/* Computes one node; stores it if it has a slot of its own. */
static void step(Allocator *s, int64_t time)
{
    const Operation *const op = &s->ops[time];
    const int64_t index = s->order[time];
    int64_t b;
    int to;
    for (int k = 0; k < op->count; k++) {
        if (!among(op->values[k], op->values, k)) {
            s->first_use[op->values[k]]++;
        }
    }
    switch (op->row->form) {
    case CHAINED:
        to = fused(s, time, op);
        break;
    case UNARY:
        b = operand(s, time, op->values[0], 0);
        release(s, op);
        to = take(s, time, 0);
        emit(s, op->row->instructions[0], to, 0, b);
        break;
    case REGISTERS:
        to = registers_only(s, time, op);
        break;
    default:
        to = binary(s, time, op);
    }
    release_slots(s, op);
    if (s->store[index] >= 0) {
        s->home[index] = SLOT + s->store[index];
        emit(s, store_name, to, 0, s->home[index]);
    }
    if (wanted(s, index)) {
        hold(s, index, to);
    } else {
        s->free[s->n_free++] = to;
    }
}

#include "_allocate_schedule.h"
#include "_allocate_traffic.h"
#include "_allocate_module.h"
