#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A packet is an array of bytes, as a DMA moves them: byte 0 of a beat is tdata[7:0], on a host of either byte order.
   The inputs of a function are one array of doubles: its input arrays one after the other, matrices row by row. So are
   the outputs. Their names and sizes are in the tables below. Nothing is allocated. */

/* A word of a packet; the first begins at bit 32, each next one where the one before ends. scale: a number of a task
   times this is its word; a word of a result times this is its number. within: an angle outside +-within is turned by
   whole turns; 0: this is no angle. entry, other: where it stands in the array; two places in a symmetric matrix. */
typedef struct { double scale, within; int32_t width, entry, other; } NAME_word;

typedef struct {
    const char *name, *inputs, *outputs;                /* inputs, outputs: the arrays, such as "q[7], v[7], a[7]" */
    int code;
    uint32_t input_size, output_size;                   /* doubles */
    uint32_t task_bytes, result_bytes, task_words, result_words;
    const NAME_word *task, *result;
} NAME_function;

typedef struct { const char *name; uint32_t address, value; } NAME_register;

typedef struct { int function; unsigned tag; int flag, error, malformed; } NAME_head;

TABLES
/* Whether this is the right accelerator: a null pointer, or the name of the first register with a wrong value.
   registers: the address where they are mapped. Call it before the first packet. */
static inline const char *NAME_check(const volatile uint32_t *registers) {
    for (size_t k = 0; k < sizeof NAME_identity / sizeof *NAME_identity; ++k)
        if (registers[NAME_identity[k].address / 4] != NAME_identity[k].value) return NAME_identity[k].name;
    return 0;
}

/* The function with this code; a null pointer if there is none. */
static inline const NAME_function *NAME_find(int code) {
    for (size_t k = 0; k < sizeof NAME_functions / sizeof *NAME_functions; ++k)
        if (NAME_functions[k].code == code) return &NAME_functions[k];
    return 0;
}

static inline uint32_t NAME_load(const unsigned char *in) {
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static inline void NAME_store(unsigned char *out, uint32_t bits) {
    out[0] = (unsigned char)bits;
    out[1] = (unsigned char)(bits >> 8);
    out[2] = (unsigned char)(bits >> 16);
    out[3] = (unsigned char)(bits >> 24);
}

/* The nearest integer, halves to even, in any rounding mode. Clamped; NaN becomes the least. */
static inline int64_t NAME_nearest(double value, double least, double most) {
    const double inside = value > least ? value < most ? value : most : least;
    const int64_t whole = (int64_t)inside, odd = whole & 1;
    const double rest = inside - (double)whole;
    return whole + (rest > 0.5 || (odd && rest == 0.5)) - (rest < -0.5 || (odd && rest == -0.5));
}

/* A number as a word. */
static inline uint32_t NAME_bits(double value, const NAME_word *word) {
    const double turn = 6.283185307179586;
    if (word->within > 0 && (value > word->within || value < -word->within))
        value -= turn * (double)NAME_nearest(value / turn, -9e15, 9e15);
#if FLOAT32
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    return bits;
#else
    const double half = (double)((uint32_t)1 << (word->width - 1));
    return (uint32_t)NAME_nearest(value * word->scale, -half, half - 1) & UINT32_MAX >> (32 - word->width);
#endif
}

/* A word as a number. */
static inline double NAME_value(uint32_t bits, const NAME_word *word) {
#if FLOAT32
    float single;
    memcpy(&single, &bits, 4);
    (void)word;
    return single;
#else
    const uint32_t sign = (uint32_t)1 << (word->width - 1);
    return (double)((int64_t)(bits ^ sign) - (int64_t)sign) * word->scale;
#endif
}

/* Writes a task into packet, and returns its size: task_bytes. */
static inline size_t NAME_pack(const NAME_function *function, unsigned tag, const double *inputs, void *packet) {
    unsigned char *out = (unsigned char *)packet;
    uint64_t bits = 0;                                  /* those that are not written yet */
    int count = 0;
    memset(out, 0, function->task_bytes);
    NAME_store(out, (uint32_t)function->code | (uint32_t)tag << TAG);
    for (uint32_t k = 0; k < function->task_words; ++k) {
        const NAME_word *word = &function->task[k];
        bits |= (uint64_t)NAME_bits(inputs[word->entry], word) << count;
        count += word->width;
        if (count < 32) continue;
        NAME_store(out += 4, (uint32_t)bits);
        bits >>= 32;
        count -= 32;
    }
    if (count) NAME_store(out + 4, (uint32_t)bits);
    return function->task_bytes;
}

/* Reads a result: its header, and output_size doubles if it is not an error. Returns the bytes of the packet; 0 if the
   packet is not complete. */
static inline size_t NAME_unpack(const void *packet, size_t bytes, double *outputs, NAME_head *head) {
    const unsigned char *in = (const unsigned char *)packet;
    const NAME_function *function;
    size_t size = BEAT;
    uint64_t bits = 0;                                  /* those that were read and not used yet */
    int count = 0;
    if (bytes < size) return 0;
    const uint32_t first = NAME_load(in);
    head->function = (int)(first & CODE);
    head->flag = (int)(first >> FLAG & 1);
    head->error = (int)(first >> ERROR & 1);
    head->malformed = (int)(first >> MALFORMED & 1);
    head->tag = (unsigned)(first >> TAG);
    function = NAME_find(head->function);
    if (head->error || !function) return size;
    size = function->result_bytes;
    if (bytes < size) return 0;
    memset(outputs, 0, function->output_size * sizeof *outputs);
    for (uint32_t k = 0; k < function->result_words; ++k) {
        const NAME_word *word = &function->result[k];
        if (count < word->width) {
            bits |= (uint64_t)NAME_load(in += 4) << count;
            count += 32;
        }
        outputs[word->entry] = outputs[word->other] = NAME_value((uint32_t)bits & UINT32_MAX >> (32 - word->width), word);
        bits >>= word->width;
        count -= word->width;
    }
    return size;
}
