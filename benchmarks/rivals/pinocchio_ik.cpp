// The iteration of condyle/jobs/inverse_kinematics.py with Pinocchio's kinematics: one frame, limits, the same starts.
#include <memory>

#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>

#include "pinocchio_model.hpp"

namespace pin = pinocchio;
constexpr int MOST = 8;  // degrees of freedom: sizes below are known to the compiler
using Joints = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, MOST, 1>;
using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, MOST>;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Given = Eigen::Map<const rival::Vector>;

struct Rival {
    pin::Model model;
    std::unique_ptr<pin::Data> data;
    pin::FrameIndex frame;
};

extern "C" {

__attribute__((visibility("default"))) Rival* rival_new(const rival::Numbers* numbers) {
    auto r = std::make_unique<Rival>();
    r->model = rival::model_of(*numbers);
    r->frame = rival::add_frame(r->model, *numbers, 0);
    r->data = std::make_unique<pin::Data>(r->model);
    return r.release();
}

// Targets rotation (n, 3, 3), translation (n, 3); lower, upper, first, and of the starts next, low, high, move (nq).
// weight: of rotations. Answers q (n, nq), iterations (n), negative where it was not solved.
__attribute__((visibility("default"))) void rival_ik(
    Rival* r, long n, const double* rotation, const double* translation, const double* const* vectors, double weight,
    double tolerance, double patience, long most, double* q_out, double* iterations) {
    const pin::Model& model = r->model;
    pin::Data& data = *r->data;
    const int nq = model.nq;
    const auto vector = [&](int k) { return Joints(Given(vectors[k], nq)); };
    const Joints lower = vector(0), upper = vector(1), first = vector(2), begin = vector(3), low = vector(4),
                 high = vector(5), move = vector(6), width = high - low;
    Columns J(6, nq);
    Vector6 W;
    W << 1, 1, 1, weight, weight, weight;
    for (long k = 0; k < n; ++k) {
        const rival::ConstMatrix3 R(rotation + 9 * k);
        const rival::ConstVector3 p(translation + 3 * k);
        Joints q = first, next = begin;
        double age = 0, count = 1;
        bool done = false;
        for (; count <= most; ++count) {
            q = q.cwiseMax(lower).cwiseMin(upper);
            J.setZero();
            pin::computeJointJacobians(model, data, q);
            const pin::SE3& tip = pin::updateFramePlacement(model, data, r->frame);
            pin::getFrameJacobian(model, data, r->frame, pin::LOCAL_WORLD_ALIGNED, J);
            const Eigen::Matrix3d B = R * tip.rotation().transpose();
            Vector6 e;
            e.head<3>() = p - tip.translation();
            e.tail<3>() << B(2, 1) - B(1, 2), B(0, 2) - B(2, 0), B(1, 0) - B(0, 1);
            e.tail<3>() *= 1.0 / std::sqrt(std::max(1.0 + B.trace(), 1e-8));
            done = e.lpNorm<Eigen::Infinity>() < tolerance && (tip.rotation() - R).squaredNorm() < 1e-6;
            if (done) break;
            e = e.cwiseProduct(W);
            J = W.asDiagonal() * J;
            const Joints slope = J.transpose() * e;
            for (int i = 0; i < nq; ++i) {
                if ((q[i] <= lower[i] && slope[i] < 0) || (q[i] >= upper[i] && slope[i] > 0)) J.col(i).setZero();
            }
            Matrix6 A = J * J.transpose();
            A.diagonal().array() += 0.03 * e.squaredNorm() + 1e-6;
            next += move;
            for (int i = 0; i < nq; ++i) next[i] -= next[i] > high[i] ? width[i] : 0.0;
            if (++age >= patience) {
                q = next, age = 0;
            } else {
                q += J.transpose() * A.llt().solve(e);
            }
        }
        Eigen::Map<rival::Vector>(q_out + k * nq, nq) = q;
        iterations[k] = done ? count : -double(most);
    }
}
}
