/* The drivers of tiles for avx512, float64. */
#define INSTRUCTION_SET avx512
#define REAL_BITS 64
#include "drivers.h"
