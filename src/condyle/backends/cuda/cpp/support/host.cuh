/* Stops template argument deduction, so that arguments are converted to the kernel's parameter types. */
template <typename T>
struct Same {
    typedef T type;
};

/* Launches a kernel with `warps` warps, each with `pool` numbers of shared memory. With few warps a block is one warp, to
 * use all multiprocessors. Nothing is launched for 0 warps. */
template <typename T, typename... P>
cudaError_t launch(void (*kernel)(P...), size_t warps, size_t pool, cudaStream_t stream, typename Same<P>::type... values)
{
    const size_t most = 48 * 1024;
    size_t together = warps < 2048 ? 1 : 4;
    while (together > 1 && together * pool * sizeof(T) > most) {
        together /= 2;
    }
    const size_t bytes = together * pool * sizeof(T), blocks = (warps + together - 1) / together;
    if (blocks == 0) {
        return cudaSuccess;
    }
    if (blocks > 0x7fffffff) {
        return cudaErrorInvalidConfiguration;
    }
    if (bytes > most) {
        const cudaError_t status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
        if (status != cudaSuccess) {
            return status;
        }
    }
    void *arguments[] = {&values...};
    return cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(unsigned(32 * together)), arguments, bytes, stream);
}

inline size_t warps_of(size_t states) { return states / 32 + (states % 32 != 0); }

template <typename T>
cudaError_t upload(T *device, const T *host, size_t numbers, cudaStream_t stream)
{
    return cudaMemcpyAsync(device, host, numbers * sizeof(T), cudaMemcpyHostToDevice, stream);
}

template <typename T>
cudaError_t download(T *host, const T *device, size_t numbers, cudaStream_t stream)
{
    return cudaMemcpyAsync(host, device, numbers * sizeof(T), cudaMemcpyDeviceToHost, stream);
}

/* Divides one allocation into parts, each at a multiple of 256 bytes. */
template <typename T>
struct Carver {
    unsigned char *base;
    size_t used;
    T *take(size_t numbers)
    {
        unsigned char *part = base == nullptr ? nullptr : base + used;
        used += (numbers * sizeof(T) + 255) / 256 * 256;
        return reinterpret_cast<T *>(part);
    }
};
