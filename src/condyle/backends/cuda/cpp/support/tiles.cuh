/* How a thread reads the entries of its state and writes its results. A body is a template on these three types, which
 * have `get(entry, place)` and `put(entry, place, x)`. Only tiles use `place`, and only they do something in `load`,
 * `flush` and `wait`. */

/* Entry k of this thread's state is data[k * stride]: registers, shared or global memory. */
template <typename T>
struct Direct {
    T *data;
    size_t stride;
    __device__ __forceinline__ void load(int, int, int) const {}
    __device__ __forceinline__ T get(int entry, int) const { return data[entry * stride]; }
    __device__ __forceinline__ void put(int entry, int, T x) const { data[entry * stride] = x; }
    __device__ __forceinline__ void flush(int, int, int) const {}
    __device__ __forceinline__ void wait() const {}
    __device__ __forceinline__ void zero(int start, int count) const
    {
        for (int k = 0; k < count; k++) {
            data[(start + k) * stride] = T(0);
        }
    }
};

/* Rows in global memory. stride: numbers from one state to the next; 0: one row for all states. */
template <typename T>
struct Rows {
    const T *data;
    size_t stride;
};

/* The 32 states of a warp, a thread each: the first, how many there are, and shared memory for tiles. */
template <typename T>
struct Warp {
    T *pool;
    size_t first;
    int lane, left;
    __device__ __forceinline__ Warp(size_t n, int pool_size)
    {
        extern __shared__ __align__(16) unsigned char shared[];
        const int warp = int(threadIdx.x) / 32;
        pool = reinterpret_cast<T *>(shared) + warp * pool_size;
        first = size_t(blockIdx.x) * blockDim.x + 32 * size_t(warp);
        lane = int(threadIdx.x) % 32;
        left = first >= n ? 0 : n - first < 32 ? int(n - first) : 32;
    }
};

/* Numbers from one column of a tile to the next, chosen so that accesses to float have no bank conflicts. */
__host__ __device__ constexpr int pitch(int width) { return 32 + 32 / width; }

/* The rows of a warp's states; WIDTH adjacent entries of all of them are read together into a tile. `from` and `to`: the
 * first entry that this lane copies, in the rows and in a tile, which has columns for all lanes. */
template <typename T, int WIDTH>
struct TileIn {
    static constexpr int STEP = 32 / WIDTH;
    const T *from, *own;
    T *to;
    size_t step;
    int column, left;
    __device__ __forceinline__ TileIn(Rows<T> rows, const Warp<T> &warp)
        : from(rows.data + (warp.first + warp.lane / WIDTH) * rows.stride + warp.lane % WIDTH),
          own(warp.pool + warp.lane), to(warp.pool + warp.lane % WIDTH * pitch(WIDTH) + warp.lane / WIDTH),
          step(STEP * rows.stride), column(warp.lane % WIDTH), left(warp.left - warp.lane / WIDTH)
    {
    }
    __device__ __forceinline__ void load(int start, int count, int place) const
    {
        const int rest = column < count ? left : 0;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            to[place + k * STEP] = k * STEP < rest ? from[k * step + start] : T(0);
        }
        __syncwarp();
    }
    __device__ __forceinline__ T get(int, int place) const { return own[place]; }
};

/* Output rows of SIZE entries of a warp's states; WIDTH adjacent entries are written when their tile is complete. `to`
 * and `from`: the first entry that this lane copies, in the rows and in a tile. */
template <typename T, int WIDTH, int SIZE>
struct TileOut {
    static constexpr int STEP = 32 / WIDTH;
    T *to, *own;
    const volatile T *from;
    int column, left;
    __device__ __forceinline__ TileOut(T *rows, const Warp<T> &warp)
        : to(rows + (warp.first + warp.lane / WIDTH) * SIZE + warp.lane % WIDTH), own(warp.pool + warp.lane),
          from(warp.pool + warp.lane % WIDTH * pitch(WIDTH) + warp.lane / WIDTH), column(warp.lane % WIDTH),
          left(warp.left - warp.lane / WIDTH)
    {
    }
    __device__ __forceinline__ void put(int, int place, T x) const { own[place] = x; }
    __device__ __forceinline__ void wait() const { __syncwarp(); }
    /* Lanes beyond the last column read the first one; a volatile load stays outside the branch of a store. */
    __device__ __forceinline__ void flush(int start, int count, int place) const
    {
        __syncwarp();
        const volatile T *const tile = from + (column < count ? place : place - column * pitch(WIDTH));
        const int rest = column < count ? left : 0;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            const T x = tile[k * STEP];
            if (k * STEP < rest) {
                to[k * STEP * SIZE + start] = x;
            }
        }
    }
    __device__ __forceinline__ void zero(int start, int count) const
    {
        const int rest = column < count ? left : 0;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            if (k * STEP < rest) {
                to[k * STEP * SIZE + start] = T(0);
            }
        }
    }
};
