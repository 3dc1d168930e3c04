/* The driver of chains for avx512, float64. */
#include "chain.h"
#define REAL_BITS 64
#define CHAIN_ENTRY chain_avx512_64
#ifdef CHAIN_X86
#pragma GCC target("avx512f,avx512dq,avx512vl,fma")
#include "driver.h"
#else
chain_run *const CHAIN_ENTRY = NULL;
#endif
