"""Inverse dynamics: the recursive Newton-Euler algorithm.

Featherstone 2008, section 5.3; Plancher 2021, Algorithm 1:

    v_i = X v_p + S v,    a_i = X a_p + S a + v_i x S v,    f_i = I_i a_i + v_i x* I_i v_i - f_ext_i + sum Xᵀ f_child,
    tau_i = S_iᵀ f_i

with a_p = -gravity at the root. The code has classical accelerations of the body origins in place of spatial ones, and
U = [dw]x + [w]x[w]x: no linear velocity is needed, and this form takes the fewest operations (decision 4). All vectors
of body i are in its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint import Inertia, Joint, along
from condyle.algorithms.rotors import rates_of
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.vector import Matrix, Vector


class Motion(NamedTuple):
    """Of body i: angular velocity w, angular acceleration dw, U, and classical acceleration a of its origin minus
    gravity."""

    w: Vector
    dw: Vector
    U: Matrix
    a: Vector


class Wrench(NamedTuple):
    """A force and a torque about the body's origin, in the body's axes."""

    force: Vector
    torque: Vector


NO_FORCE = Wrench(vec.ZERO, vec.ZERO)


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
    """tau_i = S_iᵀ f_i + armature rates, where rates are a, but for a free joint with armature: see `rotors`."""
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
