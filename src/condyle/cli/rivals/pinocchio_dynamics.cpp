// The equation of motion in Pinocchio.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "pinocchio_run.hpp"

// Pinocchio fills the upper triangle only.
template <typename Matrix>
static RowMajor full(const Matrix& from) {
    return from.template selfadjointView<Eigen::Upper>();
}

const Function FUNCTIONS[] = {
    {"id", RUN { pin::rnea(model, data, r.q, r.v, r.x); }, ANSWER { out << data.tau; }},
    {"fd", RUN { pin::aba(model, data, r.q, r.v, r.x); }, ANSWER { out << data.ddq; }},
    {"m", RUN { pin::crba(model, data, r.q); }, ANSWER { out << full(data.M); }},
    {"minv", RUN { pin::computeMinverse(model, data, r.q); }, ANSWER { out << full(data.Minv); }},
    {"did", RUN { pin::computeRNEADerivatives(model, data, r.q, r.v, r.x); },
     ANSWER { out << data.dtau_dq << data.dtau_dv; }},
    {"dfd", RUN { pin::computeABADerivatives(model, data, r.q, r.v, r.x); },
     ANSWER { out << data.ddq_dq << data.ddq_dv << full(data.Minv); }},
    // no function of its own: the derivatives of inverse dynamics, then two dense products
    {"difd",
     RUN {
         pin::computeRNEADerivatives(model, data, r.q, r.v, r.x);
         r.da_dq.noalias() = -r.minv * data.dtau_dq;
         r.da_dv.noalias() = -r.minv * data.dtau_dv;
     },
     ANSWER { out << r.da_dq << r.da_dv; }},
    {},
};
