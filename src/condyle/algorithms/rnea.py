"""Inverse dynamics: the recursive Newton-Euler algorithm.

Featherstone 2008, section 5.3; Plancher 2021, Algorithm 1:

    v_i = X v_p + S v,    a_i = X a_p + S a + v_i x S v,    f_i = I_i a_i + v_i x* I_i v_i - f_ext_i + sum Xᵀ f_child,
    tau_i = S_iᵀ f_i

with a_p = -gravity at the root. The code has classical accelerations of the body origins in place of spatial ones, and
U = [dw]x + [w]x[w]x: no linear velocity is needed, and this form takes the fewest operations (decision 0004). All
vectors of body i are in its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint import Inertia, Joint, Wrench, along
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.vector import Matrix, Vector

# The force of armature: armature a, and for the linear axes of a free joint armature (a + w x v).
#
# Armature is the inertia of a rotor. A degree of freedom k has the kinetic energy 1/2 armature v_k², so armature is on
# the diagonal of M. The linear velocity v of a free joint is given in the body's axes, but its rotors are fixed in the
# parent's. With one number for all three axes their energy is 1/2 armature |R v|² = 1/2 armature |v|². The force in the
# parent's axes is armature d(R v)/dt, and in the body's axes
#
#     armature (a + w x v)
#
# with the joint's own w and v, relative to the parent. For the angular entries, and for all other joints, it is
# armature a.


FREE = 6
"""Degrees of freedom of a free joint; no other one has as many."""


def has_turning_rotors(joint: Joint) -> bool:
    """Whether it is a free joint with armature along its linear axes, so that w x v enters."""
    return len(joint.dofs) == FREE and not all(is_zero(dof.armature) for dof in joint.dofs[:3])


def rates(joint: Joint, v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The factor of armature for each degree of freedom: a, or a + w x v."""
    return rotor_rates(joint, v, a) if has_turning_rotors(joint) else tuple(a)


def rotor_rates(joint: Joint, v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The same for a joint that may have any armature."""
    if len(joint.dofs) != FREE:
        return tuple(a)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(rate + vec.dot(dof.linear, left) for dof, rate in zip(joint.dofs, a, strict=True))


def less_bias(joint: Joint, tau: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """tau minus the rotors' force at a = 0, armature (w x v)."""
    if not has_turning_rotors(joint):
        return tuple(tau)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(force - dof.armature * vec.dot(dof.linear, left) for dof, force in zip(joint.dofs, tau, strict=True))


def by_v(joint: Joint, k: int, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The derivatives of the rotors' part of tau_k, armature (w x v)_k, by the joint's own v."""
    own, (slide, spin) = joint.dofs[k], joint.rate(v)
    turned = (vec.add(vec.cross(dof.angular, slide), vec.cross(spin, dof.linear)) for dof in joint.dofs)
    return tuple(own.armature * vec.dot(own.linear, part) for part in turned)


def all_by_v(joint: Joint, v: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], ...]:
    """The same for all entries of the joint's tau, one row each."""
    if not has_turning_rotors(joint):
        return ((number(0.0),) * len(joint.dofs),) * len(joint.dofs)
    return tuple(by_v(joint, k, v) for k in range(len(joint.dofs)))


def rates_of(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`rates` of every joint."""
    return tree.each(rates, v, a) if tree.free_rotors else a


def left_of(tree: Sweeps, tau: Field[Sequence[Scalar]], v: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`less_bias` of every joint."""
    return tree.each(less_bias, tau, v) if tree.free_rotors else tau


class Motion(NamedTuple):
    """Of body i: angular velocity w, angular acceleration dw, U, and classical acceleration a of its origin minus
    gravity."""

    w: Vector
    dw: Vector
    U: Matrix
    a: Vector


def at_rest(gravity: Vector) -> Motion:
    """The world: no velocity, and the acceleration -gravity in place of gravity."""
    return Motion(vec.ZERO, vec.ZERO, vec.ZERO_MATRIX, vec.scale(-1.0, gravity))


def spin(w: Vector, dw: Vector) -> Matrix:
    """U = [dw]x + [w]x[w]x: the classical acceleration of a point r of the body is a + U r."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    return (
        (-(yy + zz), xy - dw[2], xz + dw[1]),
        (xy + dw[2], -(xx + zz), yz - dw[0]),
        (xz - dw[1], yz + dw[0], -(xx + yy)),
    )


def carried(joint: Joint, parent: Motion) -> tuple[Vector, Vector, Vector]:
    """w, dw and a of the parent's motion, at this joint's origin and in this body's axes."""
    into = joint.rotation.into
    return into(parent.w), into(parent.dw), into(vec.add(parent.a, vec.times(parent.U, joint.origin)))


def motion(joint: Joint, parent: Motion, v: Sequence[Scalar], a: Sequence[Scalar]) -> Motion:
    """Forward step: v_i = X v_p + S v,  a_i = X a_p + S a + v_i x S v, with a classical acceleration."""
    wp, dwp, ap = carried(joint, parent)
    slide, turn = joint.rate(v)
    slide_rate, turn_rate = joint.rate(a)
    w = vec.add(wp, turn)
    dw = vec.add(vec.add(dwp, turn_rate), vec.cross(wp, turn))
    coriolis = vec.cross(vec.add(vec.scale(2.0, wp), turn), slide)
    return Motion(w, dw, spin(w, dw), vec.add(vec.add(ap, slide_rate), coriolis))


def axial_moment(U: Matrix, inertia: Inertia) -> Vector:
    """sum m r x (U r) over the points r of the body."""
    x, y, z = vec.symmetric_rows(inertia.second)
    return (
        vec.dot(U[2], y) - vec.dot(U[1], z),
        vec.dot(U[0], z) - vec.dot(U[2], x),
        vec.dot(U[1], x) - vec.dot(U[0], y),
    )


def newton_euler(joint: Joint, motion: Motion) -> Wrench:
    """I_i a_i + v_i x* I_i v_i of one body: force m a + U h, torque h x a + sum m r x (U r), with first moment h."""
    body = joint.inertia
    force = vec.add(vec.scale(body.mass, motion.a), vec.times(motion.U, body.first))
    return Wrench(force, vec.add(vec.cross(body.first, motion.a), axial_moment(motion.U, body)))


def less_external(joint: Joint, force: Wrench, external: Wrench) -> Wrench:
    """The force on one body minus the external one, f_ext_i."""
    return Wrench(vec.sub(force.force, external.force), vec.sub(force.torque, external.torque))


def to_parent(joint: Joint, total: Wrench) -> tuple[Wrench, Wrench]:
    """Backward step: f_p += Xᵀ f_i; gives f_i too."""
    return total, Wrench(*joint.transform.force_to_parent(total))


def torques(joint: Joint, total: Wrench, rates: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """tau_i = S_iᵀ f_i + armature rates, where rates are a, but for a free joint with armature: see above."""
    return tuple(along(dof, *total) + dof.armature * rate for dof, rate in zip(joint.dofs, rates, strict=True))


def own_forces(tree: Sweeps, motions: Field[Motion]) -> Field[Wrench]:
    """I_i a_i + v_i x* I_i v_i - f_ext_i of each body alone."""
    own = tree.each(newton_euler, motions)
    return own if tree.f_ext is None else tree.each(less_external, own, tree.f_ext)


def total_forces(tree: Sweeps, motions: Field[Motion]) -> Field[Wrench]:
    """f_i: the force that joint i transmits, the sum over all bodies that it carries."""
    return tree.backward(to_parent, own_forces(tree, motions))


def rnea(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """tau = M(q) a + c(q, v, f_ext)."""
    motions = tree.forward(motion, at_rest(tree.gravity), v, a)
    return tree.each(torques, total_forces(tree, motions), rates_of(tree, v, a))


def bias(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """c(q, v, f_ext) = rnea at a = 0."""
    return rnea(tree, v, tree.each(no_acceleration))


def turning(w: Vector) -> Motion:
    """The motion of a body with angular velocity w and no acceleration."""
    return Motion(w, vec.ZERO, spin(w, vec.ZERO), vec.ZERO)


def coasting(joint: Joint, parent_w: Vector, v: Sequence[Scalar]) -> Motion:
    """Forward step from a parent that has an angular velocity only, with a = 0 at the joint."""
    return motion(joint, turning(parent_w), v, no_acceleration(joint))


def no_acceleration(joint: Joint) -> Sequence[Scalar]:
    return tuple(number(0.0) for _ in joint.dofs)
