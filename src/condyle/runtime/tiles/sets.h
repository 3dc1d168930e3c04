/* The drivers of each instruction set, those of float32 before those of float64. */
#include "plan.h"
#include "repeat.h"
#include "single.h"

typedef struct {
    const char *name;
    Py_ssize_t bytes; /* of a vector */
    int (*can)(void);
    tiles_run *const *const *tiles[2], *const *const *repeat[2];
    tiles_run *const *repeat_single[2];
    single_run *const *single[2], *const *columns[2];
} drivers;

#define BOTH(kind, set) {&kind##_##set##_32, &kind##_##set##_64}
#define SET(set, bytes) \
    {#set, bytes, can_##set, BOTH(tiles, set), BOTH(repeat, set), BOTH(repeat_single, set), BOTH(single, set), \
     BOTH(columns, set)},
static const drivers SETS[] = {INSTRUCTION_SETS(SET){NULL, 0, NULL, {NULL}, {NULL}, {NULL}, {NULL}, {NULL}}};
#undef SET
#undef BOTH

/* The set with this name, if it can run here with such numbers; or NULL. */
static const drivers *set_of(const char *name, int bits)
{
    for (const drivers *set = SETS; set->name != NULL && (bits == 64 || bits == 32); set++) {
        if (strcmp(name, set->name) == 0 && set->can()) {
            return set;
        }
    }
    return NULL;
}
