// Pinocchio's algorithms run on CasADi's scalars (the header that Pinocchio has for this), written as C by CasADi.
#include <exception>
#include <string>

#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "pinocchio_model.hpp"

namespace pin = pinocchio;
using SX = ::casadi::SX;
enum { JVP_ID = 7, VJP_FD, HESSIAN_FD };  // functions behind those of every adapter
using SymbolVector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

static SymbolVector entries(const SX& symbol) {
    SymbolVector found(symbol.rows());
    for (int i = 0; i < symbol.rows(); ++i) found[i] = symbol(i);
    return found;
}

// Entries that are zero for every state are left out of the answer.
template <typename Matrix>
static SX dense(const Matrix& from, bool upper = false) {
    SX to(::casadi::Sparsity(from.rows(), from.cols()));
    for (Eigen::Index j = 0; j < from.cols(); ++j) {
        for (Eigen::Index i = 0; i < (upper ? j + 1 : from.rows()); ++i) {
            if (!from(i, j).is_zero()) to(i, j) = from(i, j);
        }
    }
    return to;
}

static std::vector<SX> answers(
    const pin::ModelTpl<SX>& model, int function, const SymbolVector& q, const SymbolVector& v,
    const SymbolVector& x) {
    pin::DataTpl<SX> data(model);
    switch (function) {
        case 0: return {dense(pin::rnea(model, data, q, v, x))};
        case 1: return {dense(pin::aba(model, data, q, v, x))};
        case 2: pin::crba(model, data, q); return {dense(data.M, true)};
        case 3: pin::computeMinverse(model, data, q); return {dense(data.Minv, true)};
        case 4: pin::computeRNEADerivatives(model, data, q, v, x); return {dense(data.dtau_dq), dense(data.dtau_dv)};
        default:
            pin::computeABADerivatives(model, data, q, v, x);
            return {dense(data.ddq_dq), dense(data.ddq_dv), dense(data.Minv, true)};
    }
}

// Derivatives by CasADi's own differentiation; y: a tangent of q, v and a, or a cotangent of the answer.
static SX derivative(
    const pin::ModelTpl<SX>& model, int function, const SX& q, const SX& v, const SX& x, const SX& y) {
    pin::DataTpl<SX> data(model);
    const SX all = vertcat(q, v, x);
    if (function == JVP_ID) {
        return jtimes(dense(pin::rnea(model, data, entries(q), entries(v), entries(x))), all, y);
    }
    const SX a = dense(pin::aba(model, data, entries(q), entries(v), entries(x)));
    return function == VJP_FD ? jtimes(a, all, y, true) : SX::densify(hessian(dot(y, a), all));
}

// Writes folder/f.c with one function `f` of q, v and a or tau, and of y; 0, or 1 where CasADi objects.
extern "C" __attribute__((visibility("default"))) int rival_write(
    const rival::Numbers* numbers, int function, const char* folder) {
    try {
        const pin::ModelTpl<SX> model = rival::model_of(*numbers).cast<SX>();
        const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), x = SX::sym("x", model.nv);
        const SX y = SX::sym("y", function == JVP_ID ? 3 * model.nv : model.nv);
        const std::vector<SX> found = function < JVP_ID
            ? answers(model, function, entries(q), entries(v), entries(x))
            : std::vector<SX>{derivative(model, function, q, v, x, y)};
        const ::casadi::Function f("f", {q, v, x, y}, found);
        ::casadi::CodeGenerator code("f.c");
        code.add(f);
        code.generate(std::string(folder) + "/");
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}
