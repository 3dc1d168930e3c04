/* A number as a word: its bits, in every lane. */
#if REAL_BITS == 64
typedef uint64_t word;
#define CD_MANTISSA 52
#else
typedef uint32_t word;
#define CD_MANTISSA 23
#endif

#if LANES > 1
typedef word word_v __attribute__((vector_size(CD_BYTES)));
#else
typedef word word_v;
#endif

typedef union {
    real_v x;
    word_v w;
} cd_both;

CD_INLINE word_v cd_word(real_v x)
{
    cd_both both;
    both.x = x;
    return both.w;
}

CD_INLINE real_v cd_real(word_v w)
{
    cd_both both;
    both.w = w;
    return both.x;
}
