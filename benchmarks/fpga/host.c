/* Times the packers of an exported folder: cc -O2 -DNAME_H='"arm_host.h"' -DNAME(x)=arm_##x -I FOLDER host.c && ./a.out
   It prints the machine and the compiler, then of each function the nanoseconds to pack a task and to unpack a result:
   the shortest of REPEATS runs over MANY packets each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include NAME_H

enum { MANY = 256, REPEATS = 400 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void machine(void) {
    char line[256];
    FILE *about = fopen("/proc/cpuinfo", "r");
    while (about && fgets(line, sizeof line, about))
        if (!strncmp(line, "model name", 10)) {
            printf("%s", strchr(line, ':') + 2);
            break;
        }
    if (about) fclose(about);
    printf("%s\n", __VERSION__);
}

static double least(double best, double found) { return found < best ? found : best; }

int main(void) {
    machine();
    for (size_t k = 0; k < sizeof NAME(functions) / sizeof *NAME(functions); ++k) {
        const NAME(function) *of = &NAME(functions)[k];
        double *inputs = calloc((size_t)MANY * of->input_size + 1, sizeof *inputs), sum = 0;
        double *outputs = calloc(of->output_size + 1, sizeof *outputs), pack = 1, unpack = 1;
        unsigned char *tasks = calloc(MANY, of->task_bytes), *results = calloc(MANY, of->result_bytes);
        NAME(head) head = {0, 0, 0, 0, 0};
        for (size_t i = 0; i < (size_t)MANY * of->input_size; ++i) inputs[i] = 2.0 * rand() / RAND_MAX - 1.0;
        for (size_t i = 0; i < (size_t)MANY * of->result_bytes; ++i) results[i] = (unsigned char)rand();
        for (size_t n = 0; n < MANY; ++n) memcpy(results + n * of->result_bytes, (unsigned char[4]){(unsigned char)of->code}, 4);
        for (int repeat = 0; repeat < REPEATS; ++repeat) {
            double start = seconds();
            for (size_t n = 0; n < MANY; ++n)
                NAME(pack)(of, (unsigned)n, inputs + n * of->input_size, tasks + n * of->task_bytes);
            pack = least(pack, seconds() - start);
            sum += tasks[(size_t)repeat % of->task_bytes];
            start = seconds();
            for (size_t n = 0; n < MANY; ++n) {
                NAME(unpack)(results + n * of->result_bytes, of->result_bytes, outputs, &head);
                sum += outputs[n % (of->output_size + 1)];
            }
            unpack = least(unpack, seconds() - start);
        }
        printf("%s %.1f %.1f %d\n", of->name, 1e9 * pack / MANY, 1e9 * unpack / MANY, sum != 0);
        free(inputs), free(outputs), free(tasks), free(results);
    }
    return 0;
}
