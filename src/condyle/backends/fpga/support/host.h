#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A packet is an array of bytes, as a DMA moves them: byte 0 of a beat is tdata[7:0]. The inputs of a function are one
   array of doubles: its input arrays one after the other, matrices row by row. So are the outputs. Their names and sizes
   are in the tables below. Nothing is allocated. Link with -lm. */

typedef struct { uint32_t low; int16_t width, frac; int32_t entry, other; } NAME_word;

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

static inline void NAME_put(unsigned char *packet, uint32_t low, int width, uint64_t bits) {
    for (int k = 0; k < width; ++k)
        packet[(low + k) / 8] |= (unsigned char)(((bits >> k) & 1) << (low + k) % 8);
}

static inline uint64_t NAME_get(const unsigned char *packet, uint32_t low, int width) {
    uint64_t bits = 0;
    for (int k = 0; k < width; ++k) bits |= (uint64_t)((packet[(low + k) / 8] >> (low + k) % 8) & 1) << k;
    return bits;
}

/* A number as a word: to nearest, halves to even, clamped. NaN becomes the least word, which is flagged. */
static inline uint64_t NAME_bits(double value, int width, int frac) {
    const double most = ldexp(1.0, width - 1), nearest = value != value ? -most : nearbyint(ldexp(value, frac));
    return (uint64_t)(int64_t)(nearest < -most ? -most : nearest > most - 1.0 ? most - 1.0 : nearest);
}

/* Writes a task into packet, and returns its size: task_bytes. */
static inline size_t NAME_pack(const NAME_function *function, unsigned tag, const double *inputs, void *packet) {
    unsigned char *out = (unsigned char *)packet;
    memset(out, 0, function->task_bytes);
    NAME_put(out, 0, 8, (uint64_t)function->code);
    NAME_put(out, TAG, 16, tag);
    for (uint32_t k = 0; k < function->task_words; ++k) {
        const NAME_word *word = &function->task[k];
#if FLOAT32
        const float single = (float)inputs[word->entry];
        uint32_t bits;
        memcpy(&bits, &single, 4);
        NAME_put(out, word->low, 32, bits);
#else
        NAME_put(out, word->low, word->width, NAME_bits(inputs[word->entry], word->width, word->frac));
#endif
    }
    return function->task_bytes;
}

/* Reads a result: its header, and output_size doubles if it is not an error. Returns the bytes of the packet; 0 if the
   packet is not complete. */
static inline size_t NAME_unpack(const void *packet, size_t bytes, double *outputs, NAME_head *head) {
    const unsigned char *in = (const unsigned char *)packet;
    const NAME_function *function;
    size_t size = BEAT;
    if (bytes < size) return 0;
    head->function = (int)NAME_get(in, 0, 8);
    head->flag = (int)NAME_get(in, 8, 1);
    head->error = (int)NAME_get(in, 9, 1);
    head->malformed = (int)NAME_get(in, 10, 1);
    head->tag = (unsigned)NAME_get(in, TAG, 16);
    function = NAME_find(head->function);
    if (head->error || !function) return size;
    size = function->result_bytes;
    if (bytes < size) return 0;
    memset(outputs, 0, function->output_size * sizeof *outputs);
    for (uint32_t k = 0; k < function->result_words; ++k) {
        const NAME_word *word = &function->result[k];
#if FLOAT32
        const uint32_t bits = (uint32_t)NAME_get(in, word->low, 32);
        float single;
        memcpy(&single, &bits, 4);
        const double value = single;
#else
        const uint64_t bits = NAME_get(in, word->low, word->width), sign = (uint64_t)1 << (word->width - 1);
        const double value = ldexp((double)((int64_t)(bits ^ sign) - (int64_t)sign), -word->frac);
#endif
        outputs[word->entry] = value;
        outputs[word->other] = value;
    }
    return size;
}
