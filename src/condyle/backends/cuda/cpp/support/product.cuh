/* -Minv times a matrix of this thread's state, in place: from derivatives of inverse to those of forward dynamics. */
template <typename T, int SIZE>
__device__ __forceinline__ void product_inner(const Direct<const T> inverse, const Direct<T> matrix)
{
    for (int column = 0; column < SIZE; column++) {
        T x[SIZE];
        for (int k = 0; k < SIZE; k++) {
            x[k] = matrix.get(k * SIZE + column, 0);
        }
        for (int row = 0; row < SIZE; row++) {
            T sum = T(0);
            for (int k = 0; k < SIZE; k++) {
                sum -= inverse.get(row * SIZE + k, 0) * x[k];
            }
            matrix.put(row * SIZE + column, 0, sum);
        }
    }
}

/* The same with two matrices of each state and a warp for each state. A lane has a column; all read the same rows of
 * Minv. */
template <typename T, int SIZE>
__global__ void __launch_bounds__(128)
    product_kernel(size_t n, Rows<T> inverse, const T *first, const T *second, T *first_out, T *second_out)
{
    const size_t state = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (state >= n) {
        return;
    }
    const T *Minv = inverse.data + state * inverse.stride;
    for (int column = int(threadIdx.x) % 32; column < 2 * SIZE; column += 32) {
        const size_t at = state * (SIZE * SIZE) + column % SIZE;
        const T *from = (column < SIZE ? first : second) + at;
        T *to = (column < SIZE ? first_out : second_out) + at;
        T x[SIZE];
#pragma unroll
        for (int k = 0; k < SIZE; k++) {
            x[k] = from[k * SIZE];
        }
        for (int row = 0; row < SIZE; row++) {
            T sum = T(0);
#pragma unroll
            for (int k = 0; k < SIZE; k++) {
                sum -= Minv[row * SIZE + k] * x[k];
            }
            to[row * SIZE] = sum;
        }
    }
}
