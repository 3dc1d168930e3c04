/* The driver for avx512, float64. */
#include "plan.h"
#define REAL_BITS 64
#define TILES_ENTRY tiles_avx512_64
#ifdef TILES_X86
#pragma GCC target("avx512f,avx512dq,avx512vl,fma")
#include "driver.h"
#else
tiles_run *const TILES_ENTRY = NULL;
#endif
