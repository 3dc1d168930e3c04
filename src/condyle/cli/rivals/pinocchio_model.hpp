// A Pinocchio model from plain arrays: what the adapters of this folder share.
#pragma once
#include <string>

#include <pinocchio/multibody.hpp>

namespace rival {

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
using ConstVector3 = Eigen::Map<const Eigen::Vector3d>;

// Per joint: parent (-1 at the root), kind, axis[3], rotation[9] and translation[3] in the parent body, mass, com[3],
// inertia[9] about the centre of mass in body axes. Armature has nv entries. Per frame: its joint (-1: the world),
// rotation[9] and translation[3] there. The fields of Struct in numbers.py.
struct Numbers {
    int joints, frames;
    const int *parent, *kind, *frame_joint;
    const double *axis, *rotation, *translation, *mass, *com, *inertia, *armature, *gravity, *frame_rotation,
        *frame_translation;
};

// The order of JOINT_KINDS in numbers.py.
inline pin::JointModel joint_model(int kind, const Eigen::Vector3d& axis) {
    switch (kind) {
        case 0: return pin::JointModelRX();
        case 1: return pin::JointModelRY();
        case 2: return pin::JointModelRZ();
        case 3: return pin::JointModelRevoluteUnaligned(axis);
        case 4: return pin::JointModelPX();
        case 5: return pin::JointModelPY();
        case 6: return pin::JointModelPZ();
        case 7: return pin::JointModelPrismaticUnaligned(axis);
        case 8: return pin::JointModelSpherical();
        default: return pin::JointModelFreeFlyer();
    }
}

inline pin::Model model_of(const Numbers& numbers) {
    pin::Model model;
    for (int i = 0; i < numbers.joints; ++i) {
        const pin::SE3 placement(ConstMatrix3(numbers.rotation + 9 * i), ConstVector3(numbers.translation + 3 * i));
        const auto id = model.addJoint(
            numbers.parent[i] + 1, joint_model(numbers.kind[i], ConstVector3(numbers.axis + 3 * i)), placement,
            "j" + std::to_string(i));
        const Eigen::Matrix3d about_com = ConstMatrix3(numbers.inertia + 9 * i);
        model.appendBodyToJoint(id, pin::Inertia(numbers.mass[i], ConstVector3(numbers.com + 3 * i), about_com));
    }
    model.armature = Eigen::Map<const Vector>(numbers.armature, model.nv);
    model.gravity.linear() = ConstVector3(numbers.gravity);
    return model;
}

// Adds frame k; its number.
inline pin::FrameIndex add_frame(pin::Model& model, const Numbers& numbers, int k) {
    const pin::SE3 placement(ConstMatrix3(numbers.frame_rotation + 9 * k), ConstVector3(numbers.frame_translation + 3 * k));
    return model.addFrame(pin::Frame(
        "f" + std::to_string(k), numbers.frame_joint[k] + 1, 0, placement, pin::FrameType::OP_FRAME));
}

}  // namespace rival
