"""Kinetic energy and the Coriolis matrix.

Echeandia, Wensing 2021: with S' = v x S, and I_i and B_i the sums of inertia and Coriolis matrix over all bodies that
joint i carries, for j an ancestor of i (or i itself),

    C_ij = S_iᵀ (I_i S'_j + B_i S_j)        C_ji = S_jᵀ (I_i S'_i + B_i S_i)

With this C, dM/dt - 2 C is skew-symmetric. B is that of `rnea_derivatives`; where that file has 2 p and 2 Q, here are
p and Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms import rnea
from condyle.algorithms.crba import composites, times_motion
from condyle.algorithms.joint import Inertia, Joint, Wrench, along
from condyle.algorithms.kinematics import velocity
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea_derivatives import Momentum, momentum_to_parent, power, times_coriolis, trace_less
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_motion
from condyle.spatial.vector import Vector

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


def own_momentum(joint: Joint, velocity: Pair) -> Momentum:
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
    momenta = tree.backward(momentum_to_parent, tree.each(own_momentum, velocities))
    given = (tree.each(columns, velocities), composites(tree), momenta)
    if tree.free_rotors:
        (matrix,) = tree.pairs(start, meet, rise, ENTRIES, *given, v, diagonal=meet_rotors)
    else:
        (matrix,) = tree.pairs(start, meet, rise, ENTRIES, *given)
    return matrix
