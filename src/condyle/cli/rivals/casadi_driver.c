/* Calls the function that CasADi wrote (GENERATED) on many states. */
#include GENERATED

#include <string.h>

#define MOST 131072

static double answers[MOST], work[MOST];

/* Places the entries that CasADi stores (by columns, compressed) into a dense row-major matrix. */
static void spread_out(const casadi_int *sparsity, const double *from, double *to)
{
    const casadi_int rows = sparsity[0], columns = sparsity[1], *start = sparsity + 2, *row = start + columns + 1;
    const int whole = row == NULL || (columns > 0 && sparsity[2] == 1);
    casadi_int c, k = 0;
    memset(to, 0, (size_t)(rows * columns) * sizeof *to);
    for (c = 0; c < columns; c++) {
        casadi_int e = whole ? 0 : start[c];
        const casadi_int end = whole ? rows : start[c + 1];
        for (; e < end; e++) {
            to[(whole ? e : row[e]) * columns + c] = from[k++];
        }
    }
}

/* 0 where everything fits, else the entries that it would take. */
__attribute__((visibility("default"))) long rival_size(void)
{
    casadi_int arg, res, integers, doubles, entries = 0;
    int k;
    f_work(&arg, &res, &integers, &doubles);
    for (k = 0; k < f_n_out(); k++) {
        const casadi_int *sparsity = f_sparsity_out(k);
        entries += sparsity[0] * sparsity[1];
    }
    return doubles > MOST || entries > MOST || arg > 16 || res > 16 || integers > 64 ? (long)(doubles + entries) : 0;
}

/* With `out` null the answers stay packed in a buffer of our own, only their non-zeros, as CasADi hands them out. */
__attribute__((visibility("default"))) void rival_run(
    void *handle, int function, long n, const double *q, const double *v, const double *x, const double *minv,
    double *const *out)
{
    const casadi_int nq = f_sparsity_in(0)[0], nv = f_sparsity_in(1)[0];
    const double *arg[16] = {0};
    double *res[16] = {0};
    casadi_int integers[64];
    long state;
    int k;
    (void)handle, (void)function;
    res[0] = answers;
    for (k = 0; k + 1 < f_n_out(); k++) {
        const casadi_int *sparsity = f_sparsity_out(k);
        res[k + 1] = res[k] + sparsity[0] * sparsity[1];
    }
    for (state = 0; state < n; state++) {
        const double *last = minv == NULL ? NULL : minv + state * f_sparsity_in(3)[0];
        const double *first[4] = {q + state * nq, v + state * nv, x + state * nv, last};
        double *to[16];
        memcpy(arg, first, sizeof first);
        memcpy(to, res, sizeof to);
        f(arg, to, integers, work, 0);
        for (k = 0; out != NULL && k < f_n_out(); k++) {
            const casadi_int *sparsity = f_sparsity_out(k);
            spread_out(sparsity, res[k], out[k] + state * sparsity[0] * sparsity[1]);
        }
    }
}
