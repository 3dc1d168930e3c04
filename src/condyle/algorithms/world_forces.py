"""What external forces in the world's axes add to the derivatives of inverse dynamics: they do not turn with bodies.

With forces f_i that act at r_i and torques t_i, all in the axes of joint i and about its origin, over all that it
carries, let

    E w = (w x sum f,  w x sum t + (tr(Q) 1 - Q) w),    Q = sum f rᵀ

be what a turn by w takes from the wrench on it, in axes that turn too. For j an ancestor of i (or i itself), beside the
derivatives for forces that are fixed in their bodies,

    d tau_i / d q_j += S_iᵀ E_i w_j        d tau_j / d q_i += S_jᵀ E_i w_i

with w the angular part of S.
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
    """Of the forces on all that a joint carries: their sum and Q, and the sum of their torques, each where it acts."""

    moment: Momentum
    torque: Vector


class Carried(NamedTuple):
    """What one degree of freedom carries to its ancestors: the force E w, and the torque Eᵀ S."""

    force: Wrench
    turn: Vector


def own(tree: Unrolled) -> Field[Kept]:
    """Of the force on each body alone."""
    found: list[Kept] = []
    for link, frame in zip(tree.tree.links, tree.force_frames, strict=True):
        part = tree.inputs["f_ext"][6 * link.body : 6 * link.body + 6] if link.body >= 0 else ()
        force, torque = (frame.rotation.back(vec.three(part, k)) for k in (0, 3)) if part else NO_FORCE
        found.append(Kept(Momentum(force, vec.outer(force, frame.translation)), torque))
    return found


def to_parent(joint: Joint, total: Kept) -> tuple[Kept, Kept]:
    """Backward step, which keeps the total."""
    _, moment = momentum_to_parent(joint, total.moment)
    return total, Kept(moment, joint.rotation.back(total.torque))


def start(joint: Joint, k: int, kept: Kept) -> Carried:
    """At joint i."""
    dof, (moment, torque) = joint.dofs[k], kept
    force = times_coriolis(moment, dof.angular)
    turned = vec.add(vec.cross(torque, dof.angular), trace_less(vec.transpose(moment.Q), dof.angular))
    return Carried(
        Wrench(force.force, vec.add(force.torque, vec.cross(dof.angular, torque))),
        vec.add(vec.cross(moment.p, dof.linear), turned),
    )


def meet(joint: Joint, carry: Carried, _: Kept) -> Sequence[Sequence[Scalar]]:
    """At joint j."""
    return [(vec.dot(carry.turn, dof.angular), along(dof, *carry.force)) for dof in joint.dofs]


def rise(joint: Joint, carry: Carried) -> Carried:
    """The same in the axes and about the origin of the parent."""
    return Carried(Wrench(*joint.transform.force_to_parent(carry.force)), joint.rotation.back(carry.turn))


def with_world_forces(derivatives: Callable[..., tuple[Matrix, Matrix]]) -> Callable[..., tuple[Matrix, Matrix]]:
    """(d tau / d q, d tau / d v) of rnea where external forces may keep the world's axes."""

    def run(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> tuple[Matrix, Matrix]:
        by_q, by_v = derivatives(tree, v, a)
        if tree.world_forces:
            unrolled = cast(Unrolled, tree)
            (turned,) = unrolled.pairs(start, meet, rise, ENTRIES, unrolled.backward(to_parent, own(unrolled)))
            for row, column, value in turned:
                cast(SparseMatrix, by_q).add(row, column, value)
        return by_q, by_v

    return run
