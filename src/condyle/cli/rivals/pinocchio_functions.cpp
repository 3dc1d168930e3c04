// Kinematics, momentum, energy and regressors in Pinocchio.
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/centroidal.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "pinocchio_run.hpp"

// The rows of every frame, one frame below the other.
template <typename Rows>
static RowMajor stacked(const Rival& r, Eigen::Index height, Eigen::Index width, Rows rows) {
    RowMajor all(height * r.frames.size(), width);
    for (std::size_t k = 0; k < r.frames.size(); ++k) all.middleRows(height * k, height) = rows(k);
    return all;
}

static RowMajor twists(const Rival& r) {
    return stacked(r, 1, 6, [&](std::size_t k) { return r.twists[k].toVector().transpose(); });
}

static RowMajor columns(const Rival& r) {
    return stacked(r, 6, r.model.nv, [&](std::size_t k) -> const Columns& { return r.columns[k]; });
}

const Function FUNCTIONS[] = {
    {"fk",
     RUN {
         pin::forwardKinematics(model, data, r.q);
         for (auto frame : r.frames) pin::updateFramePlacement(model, data, frame);
     },
     ANSWER {
         out << stacked(r, 3, 3, [&](std::size_t k) { return data.oMf[r.frames[k]].rotation(); })
             << stacked(r, 1, 3, [&](std::size_t k) { return data.oMf[r.frames[k]].translation().transpose(); });
     }},
    {"fv",
     RUN {
         pin::forwardKinematics(model, data, r.q, r.v);
         for (std::size_t k = 0; k < r.frames.size(); ++k) {
             r.twists[k] = pin::getFrameVelocity(model, data, r.frames[k], pin::LOCAL);
         }
     },
     ANSWER { out << twists(r); }},
    {"fa",
     RUN {
         pin::forwardKinematics(model, data, r.q, r.v, r.x);
         for (std::size_t k = 0; k < r.frames.size(); ++k) {
             r.twists[k] = pin::getFrameClassicalAcceleration(model, data, r.frames[k], pin::LOCAL);
         }
     },
     ANSWER { out << twists(r); }},
    {"jac",
     RUN {
         for (std::size_t k = 0; k < r.frames.size(); ++k) {
             pin::computeFrameJacobian(model, data, r.q, r.frames[k], pin::LOCAL, r.columns[k]);
         }
     },
     ANSWER { out << columns(r); }},
    {"djac",
     RUN {
         pin::computeJointJacobiansTimeVariation(model, data, r.q, r.v);
         for (std::size_t k = 0; k < r.frames.size(); ++k) {
             pin::updateFramePlacement(model, data, r.frames[k]);
             pin::getFrameJacobianTimeVariation(model, data, r.frames[k], pin::LOCAL, r.columns[k]);
         }
     },
     ANSWER { out << columns(r); }},
    {"com", RUN { pin::centerOfMass(model, data, r.q, false); }, ANSWER { out << data.com[0]; }},
    {"jcom", RUN { pin::jacobianCenterOfMass(model, data, r.q, false); }, ANSWER { out << data.Jcom; }},
    {"h", RUN { pin::computeCentroidalMomentum(model, data, r.q, r.v); }, ANSWER { out << data.hg.toVector(); }},
    {"dh", RUN { pin::computeCentroidalMomentumTimeVariation(model, data, r.q, r.v, r.x); },
     ANSWER { out << data.dhg.toVector(); }},
    {"cmm", RUN { pin::computeCentroidalMap(model, data, r.q); }, ANSWER { out << data.Ag; }},
    {"ke", RUN { pin::computeKineticEnergy(model, data, r.q, r.v); }, ANSWER { out << data.kinetic_energy; }},
    {"pe", RUN { pin::computePotentialEnergy(model, data, r.q); }, ANSWER { out << data.potential_energy; }},
    {"g", RUN { pin::computeGeneralizedGravity(model, data, r.q); }, ANSWER { out << data.g; }},
    {"nle", RUN { pin::nonLinearEffects(model, data, r.q, r.v); }, ANSWER { out << data.nle; }},
    {"cor", RUN { pin::computeCoriolisMatrix(model, data, r.q, r.v); }, ANSWER { out << data.C; }},
    {"reg", RUN { pin::computeJointTorqueRegressor(model, data, r.q, r.v, r.x); },
     ANSWER { out << data.jointTorqueRegressor; }},
    {"integrate", RUN { pin::integrate(model, r.q, r.v, r.q_end); }, ANSWER { out << r.q_end; }},
    {"difference", RUN { pin::difference(model, r.q, r.q_end, r.v); }, ANSWER { out << r.v; }, true},
    {},
};
