/* The driver of chains for avx2, float32. */
#define INSTRUCTION_SET avx2
#define REAL_BITS 32
#include "driver.h"
