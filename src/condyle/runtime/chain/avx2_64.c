/* The driver of chains for avx2, float64. */
#include "chain.h"
#define REAL_BITS 64
#define CHAIN_ENTRY chain_avx2_64
#ifdef CHAIN_X86
#pragma GCC target("avx2,fma")
#include "driver.h"
#else
chain_run *const CHAIN_ENTRY = NULL;
#endif
