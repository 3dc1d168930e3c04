/* Sine and cosine together, to the accuracy of the device's library. */
__device__ __forceinline__ void sine_cosine(float x, float &sine, float &cosine) { sincosf(x, &sine, &cosine); }
__device__ __forceinline__ void sine_cosine(double x, double &sine, double &cosine) { sincos(x, &sine, &cosine); }

/* 1 / x by the approximation of the GPU and Newton steps: rounded to nearest or next to it, without branches for
 * subnormal numbers, which count as 0. 0 and infinity give each other, NaN gives NaN. */
__device__ __forceinline__ float op_rcp(float x)
{
#ifdef __CUDA_ARCH__
    float a, e;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(a) : "f"(x));
    asm("fma.rn.ftz.f32 %0, %1, %2, 0f3F800000;" : "=f"(e) : "f"(-x), "f"(a));
    return fmaf(a, fminf(e, 1.0f), a);
#else
    return 1.0f / x;
#endif
}
__device__ __forceinline__ double op_rcp(double x)
{
#ifdef __CUDA_ARCH__
    double a;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(a) : "d"(x));
    const double e = fma(-x, a, 1.0), b = fma(fma(e, e, e), a, a), y = fma(fma(-x, b, 1.0), b, b);
    return y == y ? y : a;
#else
    return 1.0 / x;
#endif
}
