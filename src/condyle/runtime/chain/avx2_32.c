/* The driver of chains for avx2, float32. */
#include "chain.h"
#define REAL_BITS 32
#define CHAIN_ENTRY chain_avx2_32
#ifdef CHAIN_X86
#pragma GCC target("avx2,fma")
#include "driver.h"
#else
chain_run *const CHAIN_ENTRY = NULL;
#endif
