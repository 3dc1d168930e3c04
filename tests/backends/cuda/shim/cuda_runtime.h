/* Enough of the CUDA runtime to run exported kernels on a processor: a thread is a fiber, a block's fibers take turns
 * in an order drawn from a seed and change only at barriers. Memory is checked: who allocated it, and what lies
 * around it. Any call of the runtime can be told to fail. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
typedef struct shim_stream *cudaStream_t;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncwarp(unsigned mask = 0xffffffff);
void __syncthreads();

inline const char *cudaGetErrorString(cudaError_t status) { return status == cudaSuccess ? "no error" : "an error"; }
cudaError_t shim_allocate(void **pointer, size_t bytes, bool device);
cudaError_t shim_release(void *pointer, bool device);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t shim_allow(const void *kernel, int shared);

template <typename T>
cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return shim_allocate((void **)pointer, bytes, true);
}
template <typename T>
cudaError_t cudaMallocHost(T **pointer, size_t bytes)
{
    return shim_allocate((void **)pointer, bytes, false);
}
inline cudaError_t cudaFree(void *pointer) { return shim_release(pointer, true); }
inline cudaError_t cudaFreeHost(void *pointer) { return shim_release(pointer, false); }

template <typename F>
cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute, int bytes)
{
    return shim_allow((const void *)kernel, bytes);
}

/* What one thread does, whatever the kernel's type. */
struct shim_call {
    virtual void operator()() = 0;
    virtual ~shim_call() {}
};
cudaError_t shim_launch(const void *kernel, dim3 grid, dim3 block, size_t shared, shim_call &call);

template <typename... P>
struct shim_bound : shim_call {
    void (*kernel)(P...);
    std::tuple<P...> values;
    shim_bound(void (*kernel)(P...), void **arguments) : shim_bound(kernel, arguments, std::index_sequence_for<P...>())
    {
    }
    template <size_t... I>
    shim_bound(void (*kernel)(P...), void **arguments, std::index_sequence<I...>)
        : kernel(kernel), values(*(P *)arguments[I]...)
    {
    }
    void operator()() override { std::apply(kernel, values); }
};

template <typename... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t)
{
    shim_bound<P...> call(kernel, arguments);
    return shim_launch((const void *)kernel, grid, block, shared, call);
}
