/* Whether words lead out of the data that they are for; see chain.h. */
#ifndef CONDYLE_CHAIN_CHECK_H
#define CONDYLE_CHAIN_CHECK_H
#include "chain.h"

#define LANES_MOST 16

/* What the words may touch. */
typedef struct {
    int64_t work, table, starts, code, length;
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

/* How many words this one takes; 0 if it leads out of the data. */
static int64_t width(const int64_t *word, int64_t left, const int64_t *head, const Room *room)
{
    const int64_t *a = word + 1;
    switch (*word) {
    case CHAIN_GATHER:
    case CHAIN_SCATTER:
        return left >= 3 && inside(a[0], 1, head[*word == CHAIN_GATHER ? CHAIN_IN : CHAIN_OUT]) &&
                       inside(a[1], room->length, room->work)
                   ? 3
                   : 0;
    case CHAIN_SINES:
        return left >= 5 && inside(a[0], a[3], room->work) && inside(a[1], a[3], room->work) &&
                       inside(a[2], a[3], room->work)
                   ? 5
                   : 0;
    case CHAIN_CALL:
        return fine_call(a, left, room) ? 6 + 5 * a[4] : 0;
    case CHAIN_SHIFT:
        return left >= 6 && inside(a[0], a[2], room->work) && inside(a[1], a[2], room->work) &&
                       inside(a[4], a[2], room->starts) && inside(a[3] + LANES_MOST, 1, 2 * LANES_MOST)
                   ? 6
                   : 0;
    case CHAIN_SET:
        return left >= 4 && inside(a[0], a[1], room->work) && inside(a[2], a[1], room->starts) ? 4 : 0;
    default:
        return 0;
    }
}
#endif
