"""Derivatives of inverse dynamics in closed form, in body frames.

Singh, Russell, Wensing 2022. Of each degree of freedom: S, S' = v x S, psi' = v_p x S, psi'' = a_p x S + v_p x psi',
with v of its body, v_p and a_p of the parent. I_i, B_i and f_i are sums over all bodies that joint i carries: inertia,
Coriolis matrix B S = 1/2 (v x* I S + S x* I v - I (v x S)), and force. For j an ancestor of i (or i itself),

    d tau_i / d q_j = S_iᵀ (2 B_i psi'_j + I_i psi''_j)
    d tau_j / d q_i = S_jᵀ (2 B_i psi'_i + I_i psi''_i + S_i x* f_i)
    d tau_i / d v_j = S_iᵀ (2 B_i S_j + I_i (psi'_j + S'_j))
    d tau_j / d v_i = S_jᵀ (2 B_i S_i + I_i (psi'_i + S'_i))

With u the velocity of the point r of a body, 2 B S = 2 sum m (w_S x u; r x (w_S x u)), linear part first. It needs 12
numbers: the momentum p = sum m u and Q = sum m u rᵀ. External forces are fixed in their bodies, so they enter f only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms import rnea
from condyle.algorithms.crba import composites, times_motion
from condyle.algorithms.joint import Dof, Inertia, Joint, Wrench, along
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import Motion, at_rest, carried, motion, spin, total_forces
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_force
from condyle.spatial.vector import Vector

DQ, DV = 0, 1
ENTRIES = (Entry(DQ, False), Entry(DV, False), Entry(DQ, True), Entry(DV, True))


class Momentum(NamedTuple):
    """2 p = 2 sum m u and 2 Q = 2 sum m u rᵀ over all bodies that a joint carries."""

    p: Vector
    Q: vec.Matrix


class Before(NamedTuple):
    """The parent's motion at a joint, in the body's axes: velocities w and u, classical accelerations dw and a."""

    w: Vector
    u: Vector
    dw: Vector
    a: Vector


class State(NamedTuple):
    """Motion of a body, linear velocity u of its origin, and the parent's motion at that point."""

    motion: Motion
    u: Vector
    before: Before


class Column(NamedTuple):
    """Of one degree of freedom the motions psi', psi'' and psi' + S', each (linear, angular)."""

    rate: Pair
    rate2: Pair
    both: Pair


class Carried(NamedTuple):
    """What dof k of joint i brings to its ancestors: I S, the torque of 2 Bᵀ S (its force is zero), and the forces
    2 B psi' + I psi'' + S x* f and 2 B S + I (psi' + S')."""

    inertia: Wrench
    coriolis: Vector
    by_q: Wrench
    by_v: Wrench


def in_the_world(gravity: Vector) -> State:
    """The state of the world, which has no parent."""
    return State(at_rest(gravity), vec.ZERO, Before(vec.ZERO, vec.ZERO, vec.ZERO, vec.ZERO))


def state(joint: Joint, parent: State, v: Sequence[Scalar], a: Sequence[Scalar]) -> State:
    """Forward step: rnea's motion, and the linear velocity."""
    w, dw, a_at = carried(joint, parent.motion)
    u = joint.rotation.into(vec.add(parent.u, vec.cross(parent.motion.w, joint.origin)))
    slide, _ = joint.rate(v)
    return State(motion(joint, parent.motion, v, a), vec.add(u, slide), Before(w, u, dw, a_at))


def columns(joint: Joint, state: State) -> tuple[Column, ...]:
    """psi', psi'' and psi' + S' of each degree of freedom."""
    return tuple(_column(joint, dof, state) for dof in joint.dofs)


def _column(joint: Joint, dof: Dof, state: State) -> Column:
    w, u, dw, a = state.before
    turn = vec.cross(w, dof.angular)
    slide = vec.add(vec.cross(u, dof.angular), vec.cross(w, dof.linear))
    # U_p S = U_i S where the joint is axial, and U_i is known already
    U = state.motion.U if joint.axial else spin(w, dw)
    turn2 = vec.times(U, dof.angular)
    slide2 = vec.add(vec.cross(a, dof.angular), vec.scale(2.0, vec.cross(u, turn)))
    slide2 = vec.add(slide2, vec.times(U, dof.linear))
    own_turn = vec.cross(state.motion.w, dof.angular)
    own_slide = vec.add(vec.cross(state.u, dof.angular), vec.cross(state.motion.w, dof.linear))
    return Column((slide, turn), (slide2, turn2), (vec.add(slide, own_slide), vec.add(turn, own_turn)))


def own_momentum(joint: Joint, state: State) -> Momentum:
    """2 p and 2 Q of one body: p = m u + w x h, Q = u hᵀ + [w]x (sum m r rᵀ), h its first moment."""
    mass, first, second = joint.inertia
    twice_first, w = vec.scale(2.0, first), state.motion.w
    p = vec.add(vec.scale(2.0 * mass, state.u), vec.cross(w, twice_first))
    turned = vec.map_columns(lambda column: vec.cross(w, vec.scale(2.0, column)), second)
    return Momentum(p, vec.add_matrix(vec.outer(state.u, twice_first), turned))


def momentum_to_parent(joint: Joint, total: Momentum) -> tuple[Momentum, Momentum]:
    """Backward step: p and Q about the parent's origin."""
    p = joint.rotation.back(total.p)
    return total, Momentum(p, vec.add_matrix(joint.rotation.back_matrix(total.Q), vec.outer(p, joint.origin)))


def trace_less(Q: vec.Matrix, w: Vector) -> Vector:
    """(tr(Q) 1 - Q) w."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = Q
    x, y, z = w
    return (yy + zz) * x - xy * y - xz * z, (xx + zz) * y - yx * x - yz * z, (xx + yy) * z - zx * x - zy * y


def times_coriolis(momentum: Momentum, angular: Vector) -> Wrench:
    """2 B S, which depends on the angular part of S only."""
    return Wrench(vec.cross(angular, momentum.p), trace_less(momentum.Q, angular))


def start(
    joint: Joint, k: int, columns: Sequence[Column], inertia: Inertia, momentum: Momentum, force: Wrench, *_: object
) -> Carried:
    """The record of dof k of joint i, at joint i."""
    dof, column = joint.dofs[k], columns[k]
    coriolis = vec.add(vec.cross(momentum.p, dof.linear), trace_less(vec.transpose(momentum.Q), dof.angular))
    turned = Wrench(*cross_force(dof.column, force))
    by_q = plus(times_coriolis(momentum, column.rate[1]), times_motion(inertia, *column.rate2))
    by_v = plus(times_coriolis(momentum, dof.angular), times_motion(inertia, *column.both))
    return Carried(times_motion(inertia, dof.linear, dof.angular), coriolis, plus(by_q, turned), by_v)


def meet(joint: Joint, carry: Carried, columns: Sequence[Column], *_: object) -> Sequence[Sequence[Scalar]]:
    """At joint j: d tau_i / d q_j and / d v_j, d tau_j / d q_i and / d v_i, in the order of ENTRIES."""
    return [_pair(dof, carry, column) for dof, column in zip(joint.dofs, columns, strict=True)]


def _pair(dof: Dof, carry: Carried, column: Column) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    return (
        vec.dot(carry.coriolis, column.rate[1]) + power(carry.inertia, column.rate2),
        vec.dot(carry.coriolis, dof.angular) + power(carry.inertia, column.both),
        along(dof, *carry.by_q),
        along(dof, *carry.by_v),
    )


def meet_rotors(
    joint: Joint, k: int, carry: Carried, columns: Sequence[Column], *fields: Sequence[Scalar]
) -> Sequence[Sequence[Scalar]]:
    """At joint i itself, where the rotors of a free joint add their part by its own v, the last of `fields`."""
    values = meet(joint, carry, columns)
    if not rnea.has_turning_rotors(joint):
        return values
    parts = zip(values, rnea.by_v(joint, k, fields[-1]), strict=True)
    return [(by_q, by_v + part, *others) for (by_q, by_v, *others), part in parts]


def power(force: Pair, motion: Pair) -> Scalar:
    """f . v, the linear part first."""
    return vec.dot(force[0], motion[0]) + vec.dot(force[1], motion[1])


def rise(joint: Joint, carry: Carried) -> Carried:
    """The same record in the parent's axes and about its origin."""
    return Carried(
        Wrench(*joint.transform.force_to_parent(carry.inertia)),
        joint.rotation.back(carry.coriolis),
        Wrench(*joint.transform.force_to_parent(carry.by_q)),
        Wrench(*joint.transform.force_to_parent(carry.by_v)),
    )


def rnea_derivatives(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> tuple[Matrix, Matrix]:
    """(d tau / d q, d tau / d v) of rnea, each (nv, nv)."""
    states = tree.forward(state, in_the_world(tree.gravity), v, a)
    totals = total_forces(tree, tree.each(motion_of, states))
    momenta = tree.backward(momentum_to_parent, tree.each(own_momentum, states))
    given = (tree.each(columns, states), composites(tree), momenta, totals)
    if tree.free_rotors:
        by_q, by_v = tree.pairs(start, meet, rise, ENTRIES, *given, v, diagonal=meet_rotors)
    else:
        by_q, by_v = tree.pairs(start, meet, rise, ENTRIES, *given)
    return by_q, by_v


def motion_of(joint: Joint, state: State) -> Motion:
    return state.motion
