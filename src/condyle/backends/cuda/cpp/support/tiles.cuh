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

/* The rows of a warp's states; WIDTH adjacent entries of all of them are read together into a tile. */
template <typename T, int WIDTH>
struct TileIn {
    const T *data;
    T *pool;
    size_t stride;
    int lane, left;
    __device__ __forceinline__ TileIn(Rows<T> rows, const Warp<T> &warp)
        : data(rows.data + warp.first * rows.stride), pool(warp.pool), stride(rows.stride), lane(warp.lane),
          left(warp.left)
    {
    }
    __device__ __forceinline__ void load(int start, int count, int place) const
    {
        const int column = lane % WIDTH;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            const int row = lane / WIDTH + k * (32 / WIDTH);
            if (column < count) {
                pool[place + column * pitch(WIDTH) + row] = row < left ? data[row * stride + start + column] : T(0);
            }
        }
        __syncwarp();
    }
    __device__ __forceinline__ T get(int, int place) const { return pool[place + lane]; }
};

/* Output rows of SIZE entries of a warp's states; WIDTH adjacent entries are written when their tile is complete. */
template <typename T, int WIDTH, int SIZE>
struct TileOut {
    T *data, *pool;
    int lane, left;
    __device__ __forceinline__ TileOut(T *rows, const Warp<T> &warp)
        : data(rows + warp.first * SIZE), pool(warp.pool), lane(warp.lane), left(warp.left)
    {
    }
    __device__ __forceinline__ void put(int, int place, T x) const { pool[place + lane] = x; }
    __device__ __forceinline__ void wait() const { __syncwarp(); }
    __device__ __forceinline__ void flush(int start, int count, int place) const
    {
        __syncwarp();
        write(start, count, [this, place](int column, int row) { return pool[place + column * pitch(WIDTH) + row]; });
    }
    __device__ __forceinline__ void zero(int start, int count) const
    {
        write(start, count, [](int, int) { return T(0); });
    }
    template <typename Number>
    __device__ __forceinline__ void write(int start, int count, Number number) const
    {
        const int column = lane % WIDTH, from = column < count ? column : 0;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            const int row = lane / WIDTH + k * (32 / WIDTH);
            const T x = number(from, row); /* every lane reads: no branch around two instructions */
            if (column < count && row < left) {
                data[row * SIZE + start + column] = x;
            }
        }
    }
};
