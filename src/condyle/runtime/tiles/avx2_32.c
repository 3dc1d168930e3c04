/* The driver for avx2, float32. */
#include "plan.h"
#define REAL_BITS 32
#define TILES_ENTRY tiles_avx2_32
#ifdef TILES_X86
#pragma GCC target("avx2,fma")
#include "driver.h"
#else
tiles_run *const TILES_ENTRY = NULL;
#endif
