// Steps of RK4 in Pinocchio, and their derivatives by q, v and tau. Stages move along the group as crocoddyl's do:
// q_i = q + h c_i v_(i-1) by `integrate`, without the terms by which Munthe-Kaas's form keeps the fourth order.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "pinocchio_run.hpp"

static const double C[4] = {0.0, 0.5, 0.5, 1.0}, B[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

// What a thread works in; columns are those of dq, dv and tau.
struct Work {
    Vector q, v, q_stage, v_stage, move, moved, v_sum, a_sum;
    Eigen::MatrixXd dq, dv, a, start_q, start_v, moved_dq, v_sum_d, a_sum_d;
    RowMajor A, B;

    explicit Work(const pin::Model& model) {
        const int n = model.nv;
        for (auto* x : {&v, &v_stage, &move, &v_sum, &a_sum}) x->setZero(n);
        for (auto* x : {&q, &q_stage, &moved}) x->setZero(model.nq);
        for (auto* x : {&dq, &dv, &a, &start_q, &start_v, &moved_dq, &v_sum_d, &a_sum_d}) x->setZero(n, 3 * n);
        start_q.leftCols(n).setIdentity();
        start_v.middleCols(n, n).setIdentity();
        A.resize(2 * n, 2 * n), B.resize(2 * n, n);
    }
};

static Work& work_of(const pin::Model& model) {
    static thread_local std::unique_ptr<Work> work;
    static thread_local const pin::Model* of = nullptr;
    if (of != &model) work = std::make_unique<Work>(model), of = &model;
    return *work;
}

// Moves w.moved = q + move, and its derivative: by move's, which is given.
static void moved_with_derivative(const pin::Model& model, Work& w, const Eigen::MatrixXd& of_move) {
    pin::integrate(model, w.q, w.move, w.moved);
    pin::dIntegrateTransport(model, w.q, w.move, w.start_q, w.dq, pin::ARG0);
    pin::dIntegrateTransport(model, w.q, w.move, of_move, w.moved_dq, pin::ARG1);
    w.dq += w.moved_dq;
}

static void step(Rival& r, const pin::Model& model, pin::Data& data) {
    Work& w = work_of(model);
    w.q = r.q, w.v = r.v;
    w.q_stage = r.q, w.v_stage = r.v;
    w.v_sum.setZero(), w.a_sum.setZero();
    for (int i = 0; i < 4; ++i) {
        const Vector& a = pin::aba(model, data, w.q_stage, w.v_stage, r.x);
        w.v_sum.noalias() += B[i] * w.v_stage;
        w.a_sum.noalias() += B[i] * a;
        if (i == 3) break;
        w.move = r.dt * C[i + 1] * w.v_stage;
        pin::integrate(model, w.q, w.move, w.q_stage);
        w.v_stage = w.v + r.dt * C[i + 1] * a;
    }
    w.move = r.dt * w.v_sum;
    pin::integrate(model, w.q, w.move, w.moved);
    w.v_stage = w.v + r.dt * w.a_sum;
}

static void differentiate(Rival& r, const pin::Model& model, pin::Data& data) {
    Work& w = work_of(model);
    const int n = model.nv;
    w.q = r.q, w.v = r.v, w.moved = r.q, w.v_stage = r.v;
    w.dq = w.start_q, w.dv = w.start_v;
    w.v_sum.setZero(), w.a_sum.setZero(), w.v_sum_d.setZero(), w.a_sum_d.setZero();
    for (int i = 0; i < 4; ++i) {
        pin::computeABADerivatives(model, data, w.moved, w.v_stage, r.x);
        data.Minv.triangularView<Eigen::StrictlyLower>() =
            data.Minv.transpose().triangularView<Eigen::StrictlyLower>();
        if (i == 0) {  // dq and dv are columns of the identity there
            w.a.leftCols(n) = data.ddq_dq, w.a.middleCols(n, n) = data.ddq_dv, w.a.rightCols(n) = data.Minv;
        } else {
            const int columns = i == 1 ? 2 * n : 3 * n;  // torques have not moved q yet at the second stage
            w.a.noalias() = data.ddq_dv * w.dv;
            w.a.leftCols(columns).noalias() += data.ddq_dq * w.dq.leftCols(columns);
            w.a.rightCols(n) += data.Minv;
        }
        w.v_sum.noalias() += B[i] * w.v_stage;
        w.a_sum.noalias() += B[i] * data.ddq;
        w.v_sum_d.noalias() += B[i] * w.dv;
        w.a_sum_d.noalias() += B[i] * w.a;
        if (i == 3) break;
        const double h = r.dt * C[i + 1];
        w.move = h * w.v_stage;
        w.dv *= h;
        moved_with_derivative(model, w, w.dv);
        w.v_stage = w.v + h * data.ddq;
        w.dv = w.start_v + h * w.a;
    }
    w.move = r.dt * w.v_sum;
    w.v_sum_d *= r.dt;
    moved_with_derivative(model, w, w.v_sum_d);
    w.v_stage = w.v + r.dt * w.a_sum;
    w.dv = w.start_v + r.dt * w.a_sum_d;
    w.A.topRows(n) = w.dq.leftCols(2 * n), w.A.bottomRows(n) = w.dv.leftCols(2 * n);
    w.B.topRows(n) = w.dq.rightCols(n), w.B.bottomRows(n) = w.dv.rightCols(n);
}

const Function FUNCTIONS[] = {
    {"rk4", RUN { step(r, model, data); },
     [](Rival& r, const pin::Data&, Out& out) {
         const Work& w = work_of(r.model);
         out << w.moved << w.v_stage;
     }},
    {"drk4", RUN { differentiate(r, model, data); },
     [](Rival& r, const pin::Data&, Out& out) {
         const Work& w = work_of(r.model);
         out << w.A << w.B << w.moved << w.v_stage;
     }},
    {},
};
