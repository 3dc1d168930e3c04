"""The derivatives of inverse dynamics by q with external forces in the world's axes, which do not rotate with the
bodies.

`rnea_derivatives` and the others are for forces fixed in their bodies; here is the difference. Over all bodies that
joint i carries, let f be the forces, r the points that they act at, and t the torques, in the axes of body i about its
origin. When these bodies rotate by a small w, the sum of the wrenches, written in axes that rotate too, decreases by

    E_i w = (w x sum f,  w x sum t + (tr(Q) 1 - Q) w),    Q = sum f rᵀ

For j an ancestor of i (or i itself), with w the angular part of S,

    d tau_i / d q_j += S_iᵀ E_i w_j        d tau_j / d q_i += S_jᵀ E_i w_i
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from condyle.algorithms.joint import Joint, along
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.rnea_derivatives import Momentum, momentum_to_parent, times_coriolis, trace_less
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector

ENTRIES = (Entry(0), Entry(0, transposed=True))


class Kept(NamedTuple):
    """Of the external forces on all bodies that a joint carries: sum f and Q (`moment`), and sum t (`torque`)."""

    moment: Momentum
    torque: Vector


class Carried(NamedTuple):
    """What dof k of joint i brings to its ancestors: the wrench E w, and Eᵀ S, which multiplies w_j."""

    force: Wrench
    turn: Vector


def body_forces(tree: Unrolled) -> Field[Kept]:
    """f, Q and t of each body alone."""
    found: list[Kept] = []
    for link, frame in zip(tree.tree.links, tree.force_frames, strict=True):
        part = tree.inputs["f_ext"][6 * link.body : 6 * link.body + 6] if link.body >= 0 else ()
        force, torque = (frame.rotation.back(vec.three(part, k)) for k in (0, 3)) if part else NO_FORCE
        found.append(Kept(Momentum(force, vec.outer(force, frame.translation)), torque))
    return found


def to_parent(joint: Joint, total: Kept) -> tuple[Kept, Kept]:
    """Backward step that gives the body's total too."""
    _, moment = momentum_to_parent(joint, total.moment)
    return total, Kept(moment, joint.rotation.back(total.torque))


def start(joint: Joint, k: int, kept: Kept) -> Carried:
    """The record of dof k of joint i, at joint i."""
    dof, (moment, torque) = joint.dofs[k], kept
    force = times_coriolis(moment, dof.angular)
    turned = vec.add(vec.cross(torque, dof.angular), trace_less(vec.transpose(moment.Q), dof.angular))
    return Carried(
        Wrench(force.force, vec.add(force.torque, vec.cross(dof.angular, torque))),
        vec.add(vec.cross(moment.p, dof.linear), turned),
    )


def meet(joint: Joint, carry: Carried, _: Kept) -> Sequence[Sequence[Scalar]]:
    """At joint j: the terms of d tau_i / d q_j and of d tau_j / d q_i."""
    return [(vec.dot(carry.turn, dof.angular), along(dof, *carry.force)) for dof in joint.dofs]


def rise(joint: Joint, carry: Carried) -> Carried:
    """The same record in the parent's axes and about its origin."""
    return Carried(Wrench(*joint.transform.force_to_parent(carry.force)), joint.rotation.back(carry.turn))


def with_world_forces(derivatives: Callable[..., tuple[Matrix, Matrix]]) -> Callable[..., tuple[Matrix, Matrix]]:
    """These (d tau / d q, d tau / d v), with the terms above where external forces are given in the world's axes."""

    def run(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> tuple[Matrix, Matrix]:
        by_q, by_v = derivatives(tree, v, a)
        if tree.world_forces:
            unrolled = cast(Unrolled, tree)
            (turned,) = unrolled.pairs(start, meet, rise, ENTRIES, unrolled.backward(to_parent, body_forces(unrolled)))
            for row, column, value in turned:
                cast(SparseMatrix, by_q).add(row, column, value)
        return by_q, by_v

    return run
