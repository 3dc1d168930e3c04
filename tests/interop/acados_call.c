/* Calls FUN as acados calls functions of CasADi: int for casadi_int, memory of the sizes that it asks for, entries by
 * its sparsities. Reads dense arguments, column by column, and prints dense answers. */
#include <stdio.h>
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern int FUN(const double **, double **, int *, double *, void *);
extern int JOIN(FUN, _work)(int *, int *, int *, int *);
extern const int *JOIN(FUN, _sparsity_in)(int);
extern const int *JOIN(FUN, _sparsity_out)(int);
extern int JOIN(FUN, _n_in)(void);
extern int JOIN(FUN, _n_out)(void);

static int nonzeros(const int *s) {
    if (!s) return 0;
    return s[2] ? s[0] * s[1] : s[2 + s[1]];
}

/* The place of nonzero k in a dense matrix, column by column. */
static int place(const int *s, int k) {
    if (s[2]) return k;
    int column = 0;
    while (s[3 + column] <= k) ++column;
    return s[3 + s[1] + k] + column * s[0];
}

static void *memory(int count, size_t size) {
    void *found = calloc(count ? count : 1, size);
    if (!found) exit(2);
    return found;
}

int main(void) {
    int n_arg, n_res, n_iw, n_w;
    if (JOIN(FUN, _work)(&n_arg, &n_res, &n_iw, &n_w)) return 3;
    const int n_in = JOIN(FUN, _n_in)(), n_out = JOIN(FUN, _n_out)();
    const double **arg = memory(n_arg, sizeof *arg);
    double **res = memory(n_res, sizeof *res), *w = memory(n_w, sizeof *w);
    int *iw = memory(n_iw, sizeof *iw);
    for (int i = 0; i < n_in; ++i) {
        const int *s = JOIN(FUN, _sparsity_in)(i);
        double *dense = memory(s[0] * s[1], sizeof *dense), *held = memory(nonzeros(s), sizeof *held);
        for (int k = 0; k < s[0] * s[1]; ++k) {
            if (scanf("%lf", dense + k) != 1) return 4;
        }
        for (int k = 0; k < nonzeros(s); ++k) held[k] = dense[place(s, k)];
        free(dense);
        arg[i] = held;
    }
    for (int i = 0; i < n_out; ++i) res[i] = memory(nonzeros(JOIN(FUN, _sparsity_out)(i)), sizeof **res);
    if (FUN(arg, res, iw, w, NULL)) return 5;
    for (int i = 0; i < n_out; ++i) {
        const int *s = JOIN(FUN, _sparsity_out)(i);
        double *dense = memory(s[0] * s[1], sizeof *dense);
        for (int k = 0; k < nonzeros(s); ++k) dense[place(s, k)] = res[i][k];
        for (int k = 0; k < s[0] * s[1]; ++k) printf("%.17g\n", dense[k]);
        free(dense);
    }
    for (int i = 0; i < n_in; ++i) free((void *)arg[i]);
    for (int i = 0; i < n_out; ++i) free(res[i]);
    free(arg), free(res), free(iw), free(w);
    return 0;
}
