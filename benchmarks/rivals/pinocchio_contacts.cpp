// Constrained dynamics in Pinocchio: every frame of the model is held, as a point (3) or whole (6). One model a process.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>

#include "pinocchio_run.hpp"

// Contacts of the model that was asked for last, made once.
struct Held {
    const Rival* of = nullptr;
    pin::ContactType kind = pin::CONTACT_3D;
    PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(pin::RigidConstraintModel) models;
    PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(pin::RigidConstraintData) datas;
    pin::ProximalSettings settings{1e-12, 0.0, 1};
};

static Held& held(Rival& r, const pin::Model& model, pin::Data& data, pin::ContactType kind) {
    static Held h;
    if (h.of == &r && h.kind == kind) return h;
    h = Held{};
    h.of = &r, h.kind = kind;
    for (const auto id : r.frames) {
        const auto& frame = model.frames[id];
        h.models.emplace_back(kind, model, frame.parentJoint, frame.placement, pin::LOCAL);
        h.datas.emplace_back(h.models.back());
    }
    pin::initConstraintDynamics(model, data, h.models, h.datas);
    return h;
}

template <pin::ContactType KIND>
static void motion(Rival& r, const pin::Model& model, pin::Data& data) {
    auto& h = held(r, model, data, KIND);
    pin::constraintDynamics(model, data, r.q, r.v, r.x, h.models, h.datas, h.settings);
}

template <pin::ContactType KIND>
static void slopes(Rival& r, const pin::Model& model, pin::Data& data) {
    auto& h = held(r, model, data, KIND);
    pin::computeConstraintDynamicsDerivatives(model, data, h.models, h.datas, h.settings);
}

template <pin::ContactType KIND>
static void both(Rival& r, const pin::Model& model, pin::Data& data) {
    motion<KIND>(r, model, data);
    slopes<KIND>(r, model, data);
}

static void answer_motion(Rival&, const pin::Data& data, Out& out) { out << data.ddq << data.lambda_c; }

static void answer_slopes(Rival&, const pin::Data& data, Out& out) {
    out << data.ddq_dq << data.ddq_dv << data.ddq_dtau << data.dlambda_dq << data.dlambda_dv << data.dlambda_dtau;
}

const Function FUNCTIONS[] = {
    {"fd", RUN { pin::aba(model, data, r.q, r.v, r.x); }, ANSWER { out << data.ddq; }},
    {"point motion", motion<pin::CONTACT_3D>, answer_motion},
    {"point slopes", slopes<pin::CONTACT_3D>, answer_slopes},
    {"point both", both<pin::CONTACT_3D>, answer_slopes},
    {"plane motion", motion<pin::CONTACT_6D>, answer_motion},
    {"plane slopes", slopes<pin::CONTACT_6D>, answer_slopes},
    {"plane both", both<pin::CONTACT_6D>, answer_slopes},
    {},
};
