/* The driver of chains for avx512, float32. */
#include "chain.h"
#define REAL_BITS 32
#define CHAIN_ENTRY chain_avx512_32
#ifdef CHAIN_X86
#pragma GCC target("avx512f,avx512dq,avx512vl,fma")
#include "driver.h"
#else
chain_run *const CHAIN_ENTRY = NULL;
#endif
