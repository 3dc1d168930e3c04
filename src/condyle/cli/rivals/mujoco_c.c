/* MuJoCo's C functions behind a plain interface; constraints, contacts and passive forces are off. Coordinates are
 * MuJoCo's own: mujoco_c.py translates. */
#include <mujoco/mujoco.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1e-6 /* of finite differences */

typedef struct {
    mjModel *model;
    mjData *data;
    mjtNum *identity, *by_q, *by_v, *by_a, *answer[3], *by_state, *by_ctrl;
} Rival;

__attribute__((visibility("default"))) Rival *rival_new(const char *xml, char *complaint, int size)
{
    mjSpec *spec = mj_parseXMLString(xml, NULL, complaint, size);
    mjModel *model = spec == NULL ? NULL : mj_compile(spec, NULL);
    Rival *r;
    size_t square, k;
    if (model == NULL) {
        if (spec != NULL) {
            snprintf(complaint, (size_t)size, "%s", mjs_getError(spec));
            mj_deleteSpec(spec);
        }
        return NULL;
    }
    mj_deleteSpec(spec);
    square = (size_t)model->nv * (size_t)model->nv;
    r = calloc(1, sizeof *r);
    r->model = model;
    r->data = mj_makeData(model);
    r->identity = calloc(13 * square, sizeof(mjtNum));
    r->by_q = r->identity + square, r->by_v = r->by_q + square, r->by_a = r->by_v + square;
    for (k = 0; k < 3; k++) {
        r->answer[k] = r->by_a + (k + 1) * square;
    }
    r->by_state = r->by_a + 4 * square, r->by_ctrl = r->by_state + 4 * square;
    for (k = 0; k < (size_t)model->nv; k++) {
        r->identity[k * (size_t)model->nv + k] = 1;
    }
    return r;
}

__attribute__((visibility("default"))) void rival_free(Rival *r)
{
    free(r->identity);
    mj_deleteData(r->data);
    mj_deleteModel(r->model);
    free(r);
}

static void inverse_dynamics(const mjModel *m, mjData *d, mjtNum *tau)
{
    int i;
    mj_kinematics(m, d);
    mj_comPos(m, d);
    mj_comVel(m, d);
    mj_rne(m, d, 1, tau);
    for (i = 0; i < m->nv; i++) {
        tau[i] += m->dof_armature[i] * d->qacc[i];
    }
}

static void mass_matrix(const mjModel *m, mjData *d)
{
    mj_kinematics(m, d);
    mj_comPos(m, d);
    mj_makeM(m, d);
}

static void forward_dynamics(const mjModel *m, mjData *d, const mjtNum *tau, mjtNum *a)
{
    int i;
    mass_matrix(m, d);
    mj_factorM(m, d);
    mj_comVel(m, d);
    mj_rne(m, d, 0, d->qfrc_bias);
    for (i = 0; i < m->nv; i++) {
        d->qfrc_smooth[i] = tau[i] - d->qfrc_bias[i];
    }
    mj_solveM(m, d, a, d->qfrc_smooth, 1);
}

/* Derivatives by finite differences of inverse dynamics; MuJoCo has no analytical ones. Row i: by coordinate i. */
static void differences(Rival *r)
{
    mjd_inverseFD(r->model, r->data, STEP, 0, r->by_q, r->by_v, r->by_a, NULL, NULL, NULL, NULL);
}

static void evaluate(Rival *r, int function, const double *x)
{
    const mjModel *m = r->model;
    mjData *d = r->data;
    const int nv = (int)m->nv;
    int k;
    switch (function) {
    case 0:
        memcpy(d->qacc, x, (size_t)nv * sizeof *x);
        inverse_dynamics(m, d, r->answer[0]);
        break;
    case 1:
        forward_dynamics(m, d, x, r->answer[0]);
        break;
    case 2:
        mass_matrix(m, d);
        mj_fullM(m, d, r->answer[0]);
        break;
    case 3:
        mass_matrix(m, d);
        mj_factorM(m, d);
        mj_solveM(m, d, r->answer[0], r->identity, nv);
        break;
    case 4:
        memcpy(d->qacc, x, (size_t)nv * sizeof *x);
        differences(r);
        break;
    case 7:
        memcpy(d->qfrc_applied, x, (size_t)nv * sizeof *x);
        mj_step(m, d);
        break;
    case 8: /* the model has a motor for every velocity */
        memcpy(d->ctrl, x, (size_t)nv * sizeof *x);
        mjd_transitionFD(m, d, STEP, 1, r->by_state, r->by_ctrl, NULL, NULL);
        break;
    default:
        forward_dynamics(m, d, x, d->qacc);
        mj_solveM(m, d, r->answer[2], r->identity, nv);
        differences(r);
        mj_solveM(m, d, r->answer[0], r->by_q, nv);
        mj_solveM(m, d, r->answer[1], r->by_v, nv);
        for (k = 0; k < nv * nv; k++) {
            r->answer[0][k] = -r->answer[0][k];
            r->answer[1][k] = -r->answer[1][k];
        }
    }
}

static void transposed(const mjtNum *from, double *to, int nv)
{
    int i, j;
    for (i = 0; i < nv; i++) {
        for (j = 0; j < nv; j++) {
            to[i * nv + j] = from[j * nv + i];
        }
    }
}

static void copy_answers(const Rival *r, int function, double *const *out, long state)
{
    const int nv = (int)r->model->nv;
    const long nq = (long)r->model->nq, square = (long)nv * nv;
    if (function == 7) {
        memcpy(out[0] + state * nq, r->data->qpos, (size_t)nq * sizeof(double));
        memcpy(out[1] + state * nv, r->data->qvel, (size_t)nv * sizeof(double));
    } else if (function == 8) {
        memcpy(out[0] + state * 4 * square, r->by_state, (size_t)square * 4 * sizeof(double));
        memcpy(out[1] + state * 2 * square, r->by_ctrl, (size_t)square * 2 * sizeof(double));
    } else if (function < 2) {
        memcpy(out[0] + state * nv, r->answer[0], (size_t)nv * sizeof(double));
    } else if (function < 4) {
        memcpy(out[0] + state * square, r->answer[0], (size_t)square * sizeof(double));
    } else {
        transposed(function == 4 ? r->by_q : r->answer[0], out[0] + state * square, nv);
        transposed(function == 4 ? r->by_v : r->answer[1], out[1] + state * square, nv);
        if (function == 5) {
            memcpy(out[2] + state * square, r->answer[2], (size_t)square * sizeof(double));
        }
    }
}

/* fourth: the length of steps, for every state. */
__attribute__((visibility("default"))) void rival_run(
    Rival *r, int function, long n, const double *q, const double *v, const double *x, const double *fourth,
    double *const *out)
{
    const long nq = (long)r->model->nq, nv = (long)r->model->nv;
    long state;
    for (state = 0; state < n; state++) {
        if (fourth != NULL) {
            r->model->opt.timestep = fourth[state];
        }
        memcpy(r->data->qpos, q + state * nq, (size_t)nq * sizeof(double));
        memcpy(r->data->qvel, v + state * nv, (size_t)nv * sizeof(double));
        evaluate(r, function, x + state * nv);
        if (out != NULL) {
            copy_answers(r, function, out, state);
        }
    }
}
