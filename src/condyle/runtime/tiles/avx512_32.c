/* The drivers of tiles for avx512, float32. */
#define INSTRUCTION_SET avx512
#define REAL_BITS 32
#include "drivers.h"
