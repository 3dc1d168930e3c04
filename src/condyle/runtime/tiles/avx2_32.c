/* The driver for avx2, float32. */
#include "plan.h"
#include "single.h"
#include "repeat.h"
#define REAL_BITS 32
#define TILES_ENTRY tiles_avx2_32
#define REPEAT_ENTRY repeat_avx2_32
#define REPEAT_SINGLE_ENTRY repeat_single_avx2_32
#define SINGLE_ENTRY single_avx2_32
#ifdef TILES_X86
#pragma GCC target("avx2,fma")
#include "driver.h"
#include "steps.h"
#include "repeat_run.h"
#include "repeat_lone.h"
#else
single_run *const SINGLE_ENTRY = NULL;
tiles_run *const *const TILES_ENTRY = NULL;
tiles_run *const *const REPEAT_ENTRY = NULL;
tiles_run *const REPEAT_SINGLE_ENTRY = NULL;
#endif
