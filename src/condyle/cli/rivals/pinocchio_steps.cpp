// Steps of semi-implicit Euler in Pinocchio: v + dt a, then q moved by dt times that.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "pinocchio_run.hpp"

// From r.q, r.v, in place.
static void step(Rival& r, const pin::Model& model, pin::Data& data) {
    r.v.noalias() += r.dt * pin::aba(model, data, r.q, r.v, r.x);
    r.dv = r.dt * r.v;
    pin::integrate(model, r.q, r.dv, r.q_end);
    r.q.swap(r.q_end);
}

const Function FUNCTIONS[] = {
    {"step", RUN { step(r, model, data); }, ANSWER { out << r.q << r.v; }},
    {"rollout",
     RUN {
         for (long t = 0; t < r.steps; ++t) {
             r.x = Eigen::Map<const Vector>(r.tau + t * model.nv, model.nv);
             step(r, model, data);
         }
     },
     ANSWER { out << r.q << r.v; }},
    {},
};
