// Pinocchio's C++ behind a plain C interface, so that it can be timed in one process beside the code under test.
// Header only and compiled for this machine: nothing of the wheel's own library is linked, so no two ABIs can meet.
#include <memory>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "pinocchio_model.hpp"

namespace pin = pinocchio;
using rival::Vector;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Rival {
    pin::Model model;
    std::unique_ptr<pin::Data> data;
    Vector q, v, x;  // x is a or tau
    RowMajor minv, da_dq, da_dv;
};

static void evaluate(Rival& r, int function) {
    switch (function) {
        case 0: pin::rnea(r.model, *r.data, r.q, r.v, r.x); break;
        case 1: pin::aba(r.model, *r.data, r.q, r.v, r.x); break;
        case 2: pin::crba(r.model, *r.data, r.q); break;
        case 3: pin::computeMinverse(r.model, *r.data, r.q); break;
        case 4: pin::computeRNEADerivatives(r.model, *r.data, r.q, r.v, r.x); break;
        case 5: pin::computeABADerivatives(r.model, *r.data, r.q, r.v, r.x); break;
        default:  // no function of its own: the derivatives of inverse dynamics, then two dense products
            pin::computeRNEADerivatives(r.model, *r.data, r.q, r.v, r.x);
            r.da_dq.noalias() = -r.minv * r.data->dtau_dq;
            r.da_dv.noalias() = -r.minv * r.data->dtau_dv;
    }
}

static void copy_vector(const Vector& from, double* to, long state) {
    Eigen::Map<Vector>(to + state * from.size(), from.size()) = from;
}

template <typename Matrix>
static void copy_matrix(const Matrix& from, double* to, long state) {
    Eigen::Map<RowMajor>(to + state * from.size(), from.rows(), from.cols()) = from;
}

// Pinocchio fills the upper triangle only.
template <typename Matrix>
static void copy_symmetric(const Matrix& from, double* to, long state) {
    const RowMajor full = from.template selfadjointView<Eigen::Upper>();
    copy_matrix(full, to, state);
}

static void copy_answers(Rival& r, int function, double* const* out, long state) {
    pin::Data& data = *r.data;
    switch (function) {
        case 0: copy_vector(data.tau, out[0], state); break;
        case 1: copy_vector(data.ddq, out[0], state); break;
        case 2: copy_symmetric(data.M, out[0], state); break;
        case 3: copy_symmetric(data.Minv, out[0], state); break;
        case 4:
            copy_matrix(data.dtau_dq, out[0], state);
            copy_matrix(data.dtau_dv, out[1], state);
            break;
        case 5:
            copy_matrix(data.ddq_dq, out[0], state);
            copy_matrix(data.ddq_dv, out[1], state);
            copy_symmetric(data.Minv, out[2], state);
            break;
        default:
            copy_matrix(r.da_dq, out[0], state);
            copy_matrix(r.da_dv, out[1], state);
    }
}

extern "C" {

__attribute__((visibility("default"))) Rival* rival_new(const rival::Numbers* numbers) {
    auto r = std::make_unique<Rival>();
    r->model = rival::model_of(*numbers);
    r->data = std::make_unique<pin::Data>(r->model);
    const int nv = r->model.nv;
    r->q.resize(r->model.nq), r->v.resize(nv), r->x.resize(nv);
    r->minv.resize(nv, nv), r->da_dq.resize(nv, nv), r->da_dv.resize(nv, nv);
    return r.release();
}

__attribute__((visibility("default"))) void rival_free(Rival* r) { delete r; }

// Runs `function` on n states. With `out` null the answers stay in Pinocchio's Data, the cheapest place for them.
__attribute__((visibility("default"))) void rival_run(
    Rival* r, int function, long n, const double* q, const double* v, const double* x, const double* minv,
    double* const* out) {
    const long nq = r->model.nq, nv = r->model.nv;
    for (long state = 0; state < n; ++state) {
        r->q = Eigen::Map<const Vector>(q + state * nq, nq);
        r->v = Eigen::Map<const Vector>(v + state * nv, nv);
        r->x = Eigen::Map<const Vector>(x + state * nv, nv);
        if (function == 6) r->minv = Eigen::Map<const RowMajor>(minv + state * nv * nv, nv, nv);
        evaluate(*r, function);
        if (out != nullptr) copy_answers(*r, function, out, state);
    }
}
}
