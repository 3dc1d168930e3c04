// Pinocchio's C++ behind a plain C interface, so that it can be timed in one process beside the code under test.
// Each of the .cpp files beside this one is a table of functions.
// Header only and compiled for this machine: nothing of the wheel's own library is linked, so no two ABIs can meet.
#pragma once
#include <cstring>
#include <memory>
#include <vector>

#include "pinocchio_model.hpp"

namespace pin = pinocchio;
using rival::Vector;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic>;

struct Rival {
    pin::Model model;
    std::unique_ptr<pin::Data> data;
    Vector q, v, x, q_end;  // v is dv for integrate; x is a or tau; q_end is the second configuration, or the answer
    Vector dv;
    double dt = 0;             // of steps
    long steps = 1;            // of a rollout: so many rows of x belong to a state
    const double* tau = nullptr;  // these rows
    RowMajor minv, da_dq, da_dv;
    std::vector<pin::FrameIndex> frames;
    std::vector<pin::Motion> twists;  // of every frame
    std::vector<Columns> columns;     // of every frame
};

// Where the answers of one state go; each copy takes the next array.
struct Out {
    double* const* arrays;
    long state;

    template <typename Derived>
    Out& operator<<(const Eigen::MatrixBase<Derived>& from) {
        Eigen::Map<RowMajor>(*arrays++ + state * from.size(), from.rows(), from.cols()) = from;
        return *this;
    }
    Out& operator<<(double from) {
        (*arrays++)[state] = from;
        return *this;
    }
};

// A function: what is timed, and its answers in our order. two_ends: its second input is a configuration too.
struct Function {
    const char* name;
    void (*run)(Rival& r, const pin::Model& model, pin::Data& data);
    void (*answer)(Rival& r, const pin::Data& data, Out& out);
    bool two_ends = false;
};

#define RUN [](Rival & r, const pin::Model& model, pin::Data& data)
#define ANSWER [](Rival & r, const pin::Data& data, Out& out)

// The last one has no name.
extern const Function FUNCTIONS[];

extern "C" {

__attribute__((visibility("default"))) Rival* rival_new(const rival::Numbers* numbers) {
    auto r = std::make_unique<Rival>();
    r->model = rival::model_of(*numbers);
    for (int k = 0; k < numbers->frames; ++k) r->frames.push_back(rival::add_frame(r->model, *numbers, k));
    r->data = std::make_unique<pin::Data>(r->model);
    const int nv = r->model.nv;
    r->q.resize(r->model.nq), r->v.resize(nv), r->x.resize(nv), r->q_end.resize(r->model.nq);
    r->dv.resize(nv);
    r->minv.resize(nv, nv), r->da_dq.resize(nv, nv), r->da_dv.resize(nv, nv);
    r->twists.resize(r->frames.size());
    r->columns.assign(r->frames.size(), Columns::Zero(6, nv));
    return r.release();
}

__attribute__((visibility("default"))) void rival_free(Rival* r) { delete r; }

// What the next runs are for.
__attribute__((visibility("default"))) void rival_time(Rival* r, double dt, long steps) { r->dt = dt, r->steps = steps; }

// The number of a function; -1 for one that is not here.
__attribute__((visibility("default"))) int rival_function(const char* name) {
    for (int k = 0; FUNCTIONS[k].name != nullptr; ++k) {
        if (std::strcmp(FUNCTIONS[k].name, name) == 0) return k;
    }
    return -1;
}

// Runs a function on n states. With `out` null the answers stay in Pinocchio's Data, the cheapest place for them.
__attribute__((visibility("default"))) void rival_run(
    Rival* r, int function, long n, const double* q, const double* v, const double* x, const double* minv,
    double* const* out) {
    const long nq = r->model.nq, nv = r->model.nv;
    const auto [name, run, answer, two_ends] = FUNCTIONS[function];
    for (long state = 0; state < n; ++state) {
        r->q = Eigen::Map<const Vector>(q + state * nq, nq);
        if (two_ends) {
            r->q_end = Eigen::Map<const Vector>(v + state * nq, nq);
        } else {
            r->v = Eigen::Map<const Vector>(v + state * nv, nv);
        }
        r->tau = x + state * nv * r->steps;
        r->x = Eigen::Map<const Vector>(r->tau, nv);
        if (minv != nullptr) r->minv = Eigen::Map<const RowMajor>(minv + state * nv * nv, nv, nv);
        run(*r, r->model, *r->data);
        if (out != nullptr) {
            Out to{out, state};
            answer(*r, *r->data, to);
        }
    }
}
}
