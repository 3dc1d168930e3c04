/* Sine and cosine together, to the accuracy of the device's library. */
__device__ __forceinline__ void sine_cosine(float x, float &sine, float &cosine) { sincosf(x, &sine, &cosine); }
__device__ __forceinline__ void sine_cosine(double x, double &sine, double &cosine) { sincos(x, &sine, &cosine); }
