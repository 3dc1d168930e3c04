/* The instruction sets of machine code, a row each, the best one first: ROW(name, bytes of a vector). NAME_FEATURES are
 * what its drivers are compiled for, and what the processor and its system must have, in the words of GCC's target option.
 * A driver is compiled where HAS_NAME is 1; elsewhere the table is empty. */
#ifndef CONDYLE_INSTRUCTION_SETS_H
#define CONDYLE_INSTRUCTION_SETS_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAS_avx512 1
#define avx512_FEATURES(EACH) EACH("avx512f") EACH("avx512dq") EACH("avx512vl") EACH("fma")
#define HAS_avx2 1
#define avx2_FEATURES(EACH) EACH("avx2") EACH("fma")
#define INSTRUCTION_SETS(ROW) ROW(avx512, 64) ROW(avx2, 32)
#else
#define INSTRUCTION_SETS(ROW)
#endif

/* can_NAME(): whether the set can run here. */
#define AND_CAN(feature) && __builtin_cpu_supports(feature)
#define CAN(set, bytes) \
    static inline int can_##set(void) \
    { \
        return 1 set##_FEATURES(AND_CAN); \
    }
INSTRUCTION_SETS(CAN)
#undef CAN

/* For one driver: its set is INSTRUCTION_SET, its numbers have REAL_BITS. DRIVER_OF(tiles_) is tiles_avx2_64, for example. */
#define SET_JOIN(a, b) a##b
#define SET_JOINED(a, b) SET_JOIN(a, b)
#define DRIVER_OF(kind) SET_JOINED(SET_JOINED(kind, INSTRUCTION_SET), SET_JOINED(_, REAL_BITS))
#define IS_COMPILED SET_JOINED(HAS_, INSTRUCTION_SET)
#define SET_OPTION(feature) , feature
#define SET_PRAGMA(text) _Pragma(#text)
#define SET_PRAGMA_OF(...) SET_PRAGMA(GCC target(__VA_ARGS__))
/* "sse2": every x86-64 has it, and a list has to begin with something. */
#define COMPILE_FOR_SET SET_PRAGMA_OF("sse2" SET_JOINED(INSTRUCTION_SET, _FEATURES)(SET_OPTION))
#endif
