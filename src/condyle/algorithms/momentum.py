"""The centre of mass, the momentum about it, kinetic energy and the Coriolis matrix.

Orin, Goswami 2008; Wensing, Orin 2016. Armature is no part of the momentum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import mode
from typing import NamedTuple, cast

from condyle.algorithms import rnea
from condyle.algorithms.crba import composites, times_motion
from condyle.algorithms.joint import Inertia, Joint, Wrench, along
from condyle.algorithms.kinematics import WORLD, Pose, placed, placements, turned, velocity
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea_derivatives import Momentum, momentum_to_parent, power, times_coriolis, trace_less
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, is_zero, number, reciprocal
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.twist import Pair, cross_motion
from condyle.spatial.vector import Vector

# A tree seen from its base, for what does not depend on where the robot is: sums about the world's origin lose digits
# where the base is far from it.
#
# The base is the root link. Links before it that have no mass, do not turn and carry all others count as the world:
# such are the slides of a gantry.


def base(sweeps: Sweeps) -> Vector:
    """The base's origin in the world. Of a robot with several roots: the coordinates that most of their joints are
    placed at."""
    tree = cast(Unrolled, sweeps)
    if len(roots := _roots(tree)) > 1:
        x, y, z = zip(*(tree.tree.links[i].numbers.origin for i in roots), strict=True)
        return mode(x), mode(y), mode(z)
    pose = WORLD
    for i in _up_to_base(tree):
        pose = placed(tree.joints[i], pose)
    return pose.origin


def about_base(sweeps: Sweeps) -> Unrolled:
    """The same tree with the world's origin moved to that of the base; the world's axes stay."""
    tree = cast(Unrolled, sweeps)
    if len(roots := _roots(tree)) > 1:
        links, at = list(tree.tree.links), base(tree)
        for i in roots:
            numbers = links[i].numbers
            links[i] = replace(links[i], numbers=numbers._replace(origin=vec.sub(numbers.origin, at)))
        return Unrolled(replace(tree.tree, links=tuple(links)), tree.inputs)
    moved, joints = Unrolled(tree.tree, tree.inputs), list(tree.joints)
    for i in _up_to_base(tree):
        joints[i] = replace(joints[i], transform=Transform(joints[i].rotation, vec.ZERO))
    moved.joints = joints
    return moved


def _roots(tree: Unrolled) -> list[int]:
    return [i for i, link in enumerate(tree.tree.links) if link.parent < 0]


def _up_to_base(tree: Unrolled) -> Iterator[int]:
    """The base and the links before it, from the world on: only their rotations count for what is about the base."""
    levers, massless, children = tree.tree.levers, True, _roots(tree)
    while massless and len(children) == 1 and not levers[children[0]]:
        (i,) = children
        yield i
        massless = is_zero(tree.joints[i].inertia.mass)
        children = [k for k, link in enumerate(tree.tree.links) if link.parent == i]


class Moment(NamedTuple):
    """Mass and first moment m c about the body's origin, in its axes."""

    mass: Scalar
    first: Vector


def own_moment(joint: Joint) -> Moment:
    return Moment(joint.inertia.mass, joint.inertia.first)


def moment_up(joint: Joint, total: Moment) -> Moment:
    """Backward step: mass and first moment about the parent's origin, in its axes."""
    return Moment(total.mass, vec.add(joint.rotation.back(total.first), vec.scale(total.mass, joint.origin)))


def carried_moment(joint: Joint, total: Moment) -> tuple[Moment, Moment]:
    """Backward step that gives the body's total too."""
    return total, moment_up(joint, total)


def force_up(joint: Joint, total: Pair) -> Pair:
    """Backward step: Xᵀ times a force or a momentum."""
    return joint.transform.force_to_parent(total)


def moment_of_all(tree: Sweeps) -> Moment:
    """Mass and first moment of all moving bodies about the world's origin."""
    return tree.to_world(moment_up, tree.each(own_moment), Moment(number(0.0), vec.ZERO))


def centre(tree: Sweeps) -> Vector:
    """sum m_i c_i / sum m_i, seen from the world's origin."""
    moment = moment_of_all(tree)
    return vec.scale(reciprocal(moment.mass), moment.first)


def center_of_mass(tree: Sweeps) -> Vector:
    """c = sum m_i c_i / sum m_i."""
    return vec.add(base(tree), centre(about_base(tree)))


def potential_energy(tree: Sweeps) -> tuple[Scalar]:
    """- g . sum m_i c_i [J]: zero for a centre of mass at the world's origin."""
    return (-vec.dot(tree.gravity, moment_of_all(tree).first),)


def center_of_mass_jacobian(tree: Sweeps) -> list[Scalar]:
    """J_com, (3, nv). Column k is (m_k s_k + w_k x h_k) / m in the world's axes: S_k = (s_k, w_k), m the mass of all
    bodies, m_k and h_k mass and first moment of the bodies that degree of freedom k carries.
    """
    carried = tree.backward(carried_moment, tree.each(own_moment))
    scale = reciprocal(moment_of_all(tree).mass)

    def columns(joint: Joint, moment: Moment, pose: Pose) -> Sequence[Vector]:
        inverse = moment.mass * scale, vec.scale(scale, moment.first)
        moved = [vec.add(vec.scale(inverse[0], d.linear), vec.cross(d.angular, inverse[1])) for d in joint.dofs]
        return tuple(vec.times(pose.axes, column) for column in moved)

    return _rows(tree, tree.each(columns, carried, placements(tree)), 3)


def about(point: Vector, force: Pair) -> Pair:
    """A force or a momentum about an origin, about this point seen from there."""
    return force[0], vec.sub(force[1], vec.cross(point, force[0]))


def about_centre(tree: Sweeps, forces: Field[Pair]) -> Pair:
    """The sum of forces or momenta of all bodies about the centre of mass, in the world's axes."""
    near = about_base(tree)
    return about(centre(near), near.to_world(force_up, forces, twist.ZERO))


def own_momentum(joint: Joint, velocity: Pair) -> Pair:
    """I v of one body."""
    return times_motion(joint.inertia, *velocity)


def inertial_force(joint: Joint, motion: rnea.Motion) -> Pair:
    """I a + v x* I v of one body, (force, torque)."""
    force, torque = rnea.newton_euler(joint, motion)
    return force, torque


def centroidal_momentum(tree: Sweeps, v: Field[Sequence[Scalar]]) -> list[Scalar]:
    """h = [linear; angular] about the centre of mass."""
    momenta = tree.each(own_momentum, tree.forward(velocity, twist.ZERO, v))
    return _both(about_centre(tree, momenta))


def centroidal_momentum_rate(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> list[Scalar]:
    """dh/dt: the sum of I a + v x* I v about the centre of mass. Its motion adds no term: it is along the linear
    momentum."""
    motions = tree.forward(rnea.motion, rnea.at_rest(vec.ZERO), v, a)
    return _both(about_centre(tree, tree.each(inertial_force, motions)))


def centroidal_momentum_matrix(tree: Sweeps) -> list[Scalar]:
    """A_g, (6, nv). Column k is I^c_k S_k about the centre of mass: the momentum of the bodies that degree of freedom k
    carries at unit velocity.
    """
    near = about_base(tree)
    middle = centre(near)

    def columns(joint: Joint, composite: Inertia, pose: Pose) -> Sequence[Sequence[Scalar]]:
        arm = vec.sub(middle, pose.origin)
        momenta = (turned(pose.axes, times_motion(composite, *dof.column)) for dof in joint.dofs)
        return tuple((*linear, *angular) for linear, angular in (about(arm, momentum) for momentum in momenta))

    return _rows(tree, near.each(columns, composites(near), placements(near)), 6)


def _both(pair: Pair) -> list[Scalar]:
    return [*pair[0], *pair[1]]


def _rows(tree: Sweeps, columns: Field[Sequence[Sequence[Scalar]]], size: int) -> list[Scalar]:
    """A matrix with `size` rows, row by row, from one column for each degree of freedom of each joint."""
    rows = [tree.gathered([tuple(column[k] for column in own) for own in columns]) for k in range(size)]
    return [x for row in rows for x in cast("Sequence[Scalar]", row)]


# Kinetic energy and the Coriolis matrix.
#
# Echeandia, Wensing 2021: with S' = v x S, and I_i and B_i the sums of inertia and Coriolis matrix over all bodies that
# joint i carries, for j an ancestor of i (or i itself),
#
#     C_ij = S_iᵀ (I_i S'_j + B_i S_j)        C_ji = S_jᵀ (I_i S'_i + B_i S_i)
#
# With this C, dM/dt - 2 C is skew-symmetric. B is that of `rnea_derivatives`; where that file has 2 p and 2 Q, here are
# p and Q.


ENTRIES = (Entry(0), Entry(0, transposed=True))


class Carried(NamedTuple):
    """What dof k of joint i brings to its ancestors: I S, the torque of Bᵀ S (its force is zero), and I S' + B S."""

    inertia: Wrench
    coriolis: Vector
    force: Wrench


def kinetic_energy(tree: Sweeps, v: Field[Sequence[Scalar]]) -> tuple[Scalar]:
    """1/2 sum (v_i . I_i v_i + armature v²)."""

    def own(joint: Joint, velocity: Pair, rates: Sequence[Scalar]) -> Scalar:
        twice = twice_energy(joint.inertia, *velocity)
        for dof, rate in zip(joint.dofs, rates, strict=True):
            twice = twice + dof.armature * (rate * rate)
        return twice

    twice = tree.each(own, tree.forward(velocity, twist.ZERO, v), v)
    return (number(0.5) * tree.total(twice, number(0.0)),)


def twice_energy(inertia: Inertia, u: Vector, w: Vector) -> Scalar:
    """m u . u + 2 h . (u x w) + w . J w, with first moment h and J = tr(second) 1 - second, the rotational inertia."""
    mass, first, (xx, xy, xz, yy, yz, zz) = inertia
    x, y, z = w
    two = number(2.0)
    sliding = mass * vec.dot(u, u) + vec.dot(vec.scale(two, first), vec.cross(u, w))
    by_x = (yy + zz) * x - (two * xy) * y - (two * xz) * z
    by_y = (xx + zz) * y - (two * yz) * z
    return sliding + x * by_x + y * by_y + z * ((xx + yy) * z)


def columns(joint: Joint, velocity: Pair) -> Sequence[Pair]:
    """S' = v x S of each degree of freedom."""
    return tuple(cross_motion(velocity, dof.column) for dof in joint.dofs)


def body_momentum(joint: Joint, velocity: Pair) -> Momentum:
    """p = m u + w x h and Q = u hᵀ + [w]x (sum m r rᵀ) of one body, h its first moment."""
    (u, w), (mass, first, second) = velocity, joint.inertia
    p = vec.add(vec.scale(mass, u), vec.cross(w, first))
    return Momentum(p, vec.add_matrix(vec.outer(u, first), vec.cross_symmetric(w, second)))


def start(joint: Joint, k: int, columns: Sequence[Pair], inertia: Inertia, momentum: Momentum, *_: object) -> Carried:
    """The record of dof k of joint i, at joint i."""
    dof = joint.dofs[k]
    coriolis = vec.add(vec.cross(momentum.p, dof.linear), trace_less(vec.transpose(momentum.Q), dof.angular))
    force = plus(times_coriolis(momentum, dof.angular), times_motion(inertia, *columns[k]))
    return Carried(times_motion(inertia, *dof.column), coriolis, force)


def meet(joint: Joint, carry: Carried, columns: Sequence[Pair], *_: object) -> Sequence[Sequence[Scalar]]:
    """At joint j: C_ij and C_ji."""
    return [
        (vec.dot(carry.coriolis, dof.angular) + power(carry.inertia, column), along(dof, *carry.force))
        for dof, column in zip(joint.dofs, columns, strict=True)
    ]


def meet_rotors(
    joint: Joint, k: int, carry: Carried, columns: Sequence[Pair], *fields: Sequence[Scalar]
) -> Sequence[Sequence[Scalar]]:
    """At joint i itself, where armature (w x v) of a free joint adds its part (see `rnea`); v is the last of
    `fields`."""
    values = meet(joint, carry, columns)
    if not rnea.has_turning_rotors(joint):
        return values
    own, (_, spin) = joint.dofs[k], joint.rate(fields[-1])
    parts = (own.armature * vec.dot(own.linear, vec.cross(spin, dof.linear)) for dof in joint.dofs)
    return [(value + part, other) for (value, other), part in zip(values, parts, strict=True)]


def rise(joint: Joint, carry: Carried) -> Carried:
    """The same record in the parent's axes and about its origin."""
    return Carried(
        Wrench(*joint.transform.force_to_parent(carry.inertia)),
        joint.rotation.back(carry.coriolis),
        Wrench(*joint.transform.force_to_parent(carry.force)),
    )


def coriolis_matrix(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Matrix:
    """C(q, v), (nv, nv), with C v + g = c(q, v)."""
    velocities = tree.forward(velocity, twist.ZERO, v)
    momenta = tree.backward(momentum_to_parent, tree.each(body_momentum, velocities))
    given = (tree.each(columns, velocities), composites(tree), momenta)
    if tree.free_rotors:
        (matrix,) = tree.pairs(start, meet, rise, ENTRIES, *given, v, diagonal=meet_rotors)
    else:
        (matrix,) = tree.pairs(start, meet, rise, ENTRIES, *given)
    return matrix
