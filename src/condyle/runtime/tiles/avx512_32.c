/* The driver for avx512, float32. */
#include "plan.h"
#define REAL_BITS 32
#define TILES_ENTRY tiles_avx512_32
#ifdef TILES_X86
#pragma GCC target("avx512f,avx512dq,avx512vl,fma")
#include "driver.h"
#else
tiles_run *const TILES_ENTRY = NULL;
#endif
