/* Whether words lead out of the data that they are for; see chain.h. */
#ifndef CONDYLE_CHAIN_CHECK_H
#define CONDYLE_CHAIN_CHECK_H
#include "chain.h"

#define LANES_MOST 16

/* What the words may touch. */
typedef struct {
    int64_t work, table, starts, code, length, buffer, lanes;
} Room;

static int inside(int64_t first, int64_t count, int64_t room)
{
    return first >= 0 && count >= 0 && count <= room && first <= room - count;
}

static int fine_pointer(const int64_t *p, const int64_t *call, const Room *room)
{
    const int64_t size = p[0] == 0 ? room->work : room->table;
    const int64_t last = call[1] + (call[2] - 1) * call[3];
    int64_t low = call[1] < last ? call[1] : last, high = call[1] < last ? last : call[1];
    if (p[3] == 0 || p[3] == 1) {
        low = 0, high = p[3];
    } else if (p[3] != -1) {
        return 0;
    }
    if (p[4] < 0 || p[4] > (p[3] == 1)) {
        return 0;
    }
    return (p[0] == 0 || p[0] == 1) && p[2] >= 0 && p[2] <= size && low >= 0 && high < room->length + 2 && p[1] >= 0 &&
           p[1] + p[2] * high < size;
}

static int fine_call(const int64_t *a, int64_t left, const Room *room)
{
    int64_t k;
    if (left < 6 || a[4] < 0 || a[4] > CHAIN_MOST || left < 6 + 5 * a[4]) {
        return 0;
    }
    if (!inside(a[1], 1, room->length) || !inside(a[1] + (a[2] - 1) * a[3], 1, room->length)) {
        return 0;
    }
    if (!inside(a[0], 1, room->code) || a[2] < 1 || a[2] > room->length || (a[3] != 1 && a[3] != -1)) {
        return 0;
    }
    for (k = 0; k < a[4]; k++) {
        if (!fine_pointer(a + 5 + 5 * k, a, room)) {
            return 0;
        }
    }
    return 1;
}

/* Entries of a port and vectors of the workspace: whether both are there. */
static int fine_port(const int64_t *sizes, int64_t ports, const int64_t *a, int64_t entries, int64_t to, int64_t vectors,
                     const Room *room)
{
    return inside(a[0], 1, ports) && inside(a[1], entries, sizes[a[0]]) && inside(to, vectors, room->work);
}

static int fine_move(const int64_t *word, const int64_t *head, const Room *room)
{
    const int64_t *a = word + 1, *in = head + CHAIN_HEAD, *out = in + head[CHAIN_IN];
    switch (*word) {
    case CHAIN_GATHER:
        return inside(a[2], 1, CHAIN_MOST) && room->length * a[2] <= room->buffer &&
               fine_port(in, head[CHAIN_IN], a, a[2] * head[CHAIN_JOINTS], a[3], a[2] * room->length, room);
    case CHAIN_SCATTER:
        return fine_port(out, head[CHAIN_OUT], a, head[CHAIN_JOINTS], a[2], room->length, room);
    case CHAIN_SPLAT:
        return fine_port(in, head[CHAIN_IN], a, a[2], a[3], a[2], room);
    default:
        return fine_port(out, head[CHAIN_OUT], a, a[2], a[3], a[2], room);
    }
}

static int fine_pick(const int64_t *a, const Room *room)
{
    int64_t l;
    for (l = 0; l < room->lanes; l++) {
        if (!inside(a[4 + l] + 1, 1, room->lanes + 1)) {
            return 0;
        }
    }
    return inside(a[0], a[2], room->work) && inside(a[1], a[2], room->work) && inside(a[3], a[2], room->starts);
}

static int fine_work(const int64_t *word, int64_t left, const Room *room)
{
    const int64_t *a = word + 1;
    switch (*word) {
    case CHAIN_SINES:
        return inside(a[0], a[3], room->work) && inside(a[1], a[3], room->work) && inside(a[2], a[3], room->work);
    case CHAIN_CALL:
        return fine_call(a, left, room);
    case CHAIN_SHIFT:
        return inside(a[0], a[2], room->work) && inside(a[1], a[2], room->work) && inside(a[4], a[2], room->starts) &&
               inside(a[3] + LANES_MOST, 1, 2 * LANES_MOST);
    case CHAIN_SPREAD:
        return inside(a[0], a[1], room->work);
    case CHAIN_PICK:
        return fine_pick(a, room);
    default:
        return inside(a[0], a[1], room->work) && inside(a[2], a[1], room->starts);
    }
}

/* How many words this one takes; 0 if it leads out of the data. */
static int64_t width(const int64_t *word, int64_t left, const int64_t *head, const Room *room)
{
    int fine;
    if (*word < CHAIN_GATHER || *word >= CHAIN_WORDS || left < 3 || (*word == CHAIN_CALL && left < 6) ||
        (*word == CHAIN_CALL && !inside(word[5], 0, CHAIN_MOST)) || chain_width(word, room->lanes) > left) {
        return 0;
    }
    if (*word == CHAIN_GATHER || *word == CHAIN_SCATTER || *word == CHAIN_SPLAT || *word == CHAIN_EMIT) {
        fine = fine_move(word, head, room);
    } else {
        fine = fine_work(word, left, room);
    }
    return fine ? chain_width(word, room->lanes) : 0;
}

/* Whether runs have joints that are there, and fill the lanes. */
static int fine_runs(const int64_t *head, int64_t lanes)
{
    const int64_t *run = chain_runs(head), room = lanes * head[CHAIN_LENGTH];
    int64_t k, filled = 0;
    for (k = 0; k < head[CHAIN_RUNS]; k++, run += 3) {
        if (!inside(run[0], run[1], head[CHAIN_JOINTS]) || !inside(filled, run[1], room) ||
            !inside(filled + run[1], run[2], room)) {
            return 0;
        }
        filled += run[1] + run[2];
    }
    return filled == room;
}

/* Whether the head says what can be, sizes of ports included. */
static int fine_head(const int64_t *head, int64_t n_words, int64_t lanes, const Room *room)
{
    int64_t k;
    if (n_words < CHAIN_HEAD || !inside(head[CHAIN_IN], 0, CHAIN_MOST) || !inside(head[CHAIN_OUT], 0, CHAIN_MOST) ||
        !inside(head[CHAIN_RUNS], 0, lanes) ||
        n_words < CHAIN_HEAD + head[CHAIN_IN] + head[CHAIN_OUT] + 3 * head[CHAIN_RUNS] || head[CHAIN_LENGTH] < 1 ||
        head[CHAIN_LENGTH] > INT32_MAX || !inside(head[CHAIN_JOINTS], 0, lanes * head[CHAIN_LENGTH]) ||
        !inside(head[CHAIN_SCRATCH], 0, room->work) || !inside(head[CHAIN_BUFFER], head[CHAIN_LENGTH], room->work)) {
        return 0;
    }
    for (k = 0; k < head[CHAIN_IN] + head[CHAIN_OUT]; k++) {
        if (!inside(head[CHAIN_HEAD + k], 0, INT32_MAX)) {
            return 0;
        }
    }
    return fine_runs(head, lanes);
}
#endif
