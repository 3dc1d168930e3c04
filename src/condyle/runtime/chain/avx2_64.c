/* The driver of chains for avx2, float64. */
#define INSTRUCTION_SET avx2
#define REAL_BITS 64
#include "driver.h"
