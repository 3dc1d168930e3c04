/* A Plan's numbers, checked: whatever they are, the driver stays within its tables and its workspace. */
#include "plan.h"

#include "check.h"

#define HEAD 6

/* Whether `count` entries of a table that begins at `start` lie in the tables. */
static int within(int64_t start, int64_t count, int64_t tables)
{
    return start >= 0 && count >= 0 && start <= tables && count <= tables - start;
}

static int fine_input(const tiles_input *in, int64_t slots, int64_t tables)
{
    return within(in->slot, in->size, slots) && in->columns >= 0 && in->columns < INT32_MAX &&
           (in->table == -1 ? in->columns == in->size : within(in->table, in->size, tables));
}

static int fine_output(const tiles_output *out, int64_t tables)
{
    const int64_t padded = out->size < INT32_MAX ? (out->size + 15) / 16 * 16 : out->size;
    return within(out->table, padded, tables) && within(out->packed_table, out->columns, tables);
}

/* Whether a step goes back to an earlier one, with no other such step between. */
static int fine_again(const tiles_plan *plan, const int64_t *step)
{
    const int64_t number = (step - plan->step) / 3, *word = plan->loops + step[1];
    if (plan->n_loop < WORDS || step[2] != AGAIN_WORDS || !within(step[1], AGAIN_WORDS, plan->n_loop) || word[0] < 0 ||
        word[0] >= number || word[1] < -1 || word[1] >= plan->loops[LOOPS_SIZE] || word[2] < 1) {
        return 0;
    }
    for (int64_t k = word[0]; k < number; k++) {
        if (plan->step[3 * k] == TILES_AGAIN) {
            return 0;
        }
    }
    return 1;
}

static int fine_step(const tiles_plan *plan, const int64_t *step, int64_t item, int64_t code_length, int64_t constants,
                     int64_t tables)
{
    const int64_t width = step[0] == TILES_SINES ? 3 : 1;
    if (step[0] == TILES_LOOPS) {
        return fine_loops(plan, step[1], step[2], item, code_length, constants, tables);
    }
    if (step[0] == TILES_AGAIN) {
        return fine_again(plan, step);
    }
    return step[0] >= 0 ? step[0] < code_length
                        : step[0] >= TILES_REACH && step[2] >= 0 && step[2] < INT32_MAX &&
                              within(step[1], width * step[2], tables);
}

/* Points the plan into its numbers, whose table is of `item` bytes each; fails if a table would lead out of the data. */
static int read_numbers(tiles_plan *plan, PyObject *numbers, PyObject *slots, int64_t item, Py_ssize_t code_length,
                        Py_ssize_t constants_length)
{
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(numbers);
    const int64_t count = PyBytes_GET_SIZE(numbers) / 8;
    const int64_t tables = PyBytes_GET_SIZE(slots) / 4;
    int fine = count >= HEAD;
    for (int64_t k = 0; fine && k < HEAD; k++) {
        fine = at[k] >= 0 && at[k] < INT32_MAX;
    }
    fine = fine && count == HEAD + 4 * (at[1] + at[2]) + 3 * at[3] + at[4] + at[5];
    if (!fine) {
        return -1;
    }
    plan->stage = at[0];
    plan->n_in = at[1], plan->n_out = at[2], plan->n_step = at[3], plan->n_value = at[4], plan->n_loop = at[5];
    plan->in = (const tiles_input *)(at + HEAD);
    plan->out = (const tiles_output *)(plan->in + plan->n_in);
    plan->step = (const int64_t *)(plan->out + plan->n_out);
    plan->value_slot = plan->step + 3 * plan->n_step;
    plan->loops = plan->value_slot + plan->n_value;
    plan->slots = (const uint32_t *)PyBytes_AS_STRING(slots);
    for (int64_t k = 0; k < plan->n_in; k++) {
        fine = fine && fine_input(plan->in + k, at[0], tables);
    }
    for (int64_t k = 0; k < plan->n_out; k++) {
        fine = fine && fine_output(plan->out + k, tables);
    }
    for (int64_t k = 0; k < plan->n_step; k++) {
        fine = fine && fine_step(plan, plan->step + 3 * k, item, code_length, constants_length, tables);
    }
    for (int64_t k = 0; k < plan->n_value; k++) {
        fine = fine && plan->value_slot[k] >= 0 && plan->value_slot[k] < at[0];
    }
    for (int64_t k = 0; k < tables; k++) {
        fine = fine && plan->slots[k] < at[0];
    }
    return fine ? 0 : -1;
}
