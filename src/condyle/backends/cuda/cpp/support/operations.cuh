/* Operations other than + - * / and roots. Word<T> is an unsigned integer with the bits of a T. */
template <typename T>
struct Word;

template <>
struct Word<double> {
    typedef unsigned long long type;
    static constexpr int MANTISSA = 52;
};

template <>
struct Word<float> {
    typedef unsigned int type;
    static constexpr int MANTISSA = 23;
};

template <typename T>
__device__ inline typename Word<T>::type op_word(T x)
{
    typename Word<T>::type w;
    memcpy(&w, &x, sizeof w);
    return w;
}

template <typename T>
__device__ inline T op_real(typename Word<T>::type w)
{
    T x;
    memcpy(&x, &w, sizeof x);
    return x;
}

template <typename T>
__device__ inline T op_select(T x, T a, T b)
{
    return x >= T(0) ? a : b;
}

template <typename T>
__device__ inline T op_min(T a, T b)
{
    return a < b || a != a ? a : b;
}

template <typename T>
__device__ inline T op_max(T a, T b)
{
    return a > b || a != a ? a : b;
}

template <typename T>
__device__ inline T op_abs(T x)
{
    return op_real<T>(op_word(x) << 1 >> 1);
}

template <typename T>
__device__ inline T op_floor(T x)
{
    return floor(x);
}

template <typename T>
__device__ inline T op_rint(T x)
{
    return rint(x);
}

template <typename T>
__device__ inline T op_and(T a, T b)
{
    return op_real<T>(op_word(a) & op_word(b));
}

template <typename T>
__device__ inline T op_or(T a, T b)
{
    return op_real<T>(op_word(a) | op_word(b));
}

template <typename T>
__device__ inline T op_xor(T a, T b)
{
    return op_real<T>(op_word(a) ^ op_word(b));
}

template <typename T>
__device__ inline T op_shl(T x)
{
    return op_real<T>(op_word(x) << Word<T>::MANTISSA);
}

template <typename T>
__device__ inline T op_shr(T x)
{
    return op_real<T>(op_word(x) >> Word<T>::MANTISSA);
}

// On the lowest 32 bits; those above mean nothing.
template <typename T>
__device__ inline T op_iadd(T a, T b)
{
    return op_real<T>(op_word(a) + op_word(b));
}

template <typename T>
__device__ inline T op_rotl(T x, int places)
{
    const unsigned int w = static_cast<unsigned int>(op_word(x));
    return op_real<T>(w << places | w >> (32 - places));
}
