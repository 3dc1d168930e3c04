"""The algorithms for the derivatives of inverse dynamics by q and v, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

from condyle.algorithms import rnea
from condyle.algorithms.drives import is_resisted
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench, along
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea_adjoint import rnea_adjoint
from condyle.algorithms.rnea_columns import rnea_columns, rnea_refactored
from condyle.algorithms.rnea_derivatives import (
    Momentum,
    momentum_to_parent,
    rnea_derivatives,
    times_coriolis,
    trace_less,
)
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, is_zero
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


Dofs: TypeAlias = Field[Sequence[Scalar]]
Derivatives: TypeAlias = Callable[..., tuple[Matrix, Matrix]]
"""(d tau / d q, d tau / d v), given the tree, v and a."""


def _with_rotors(derivatives: Callable[[Unrolled, Dofs, Dofs], tuple[SparseMatrix, SparseMatrix]]) -> Derivatives:
    """The derivatives, with the terms by v of the rotors of free joints (see `rnea`)."""

    def run(tree: Unrolled, v: Dofs, a: Dofs) -> tuple[Matrix, Matrix]:
        by_q, by_v = derivatives(tree, v, a)
        for joint, link, own in zip(tree.joints, tree.tree.links, v, strict=True):
            for k, row in enumerate(link.v if tree.free_rotors and rnea.has_turning_rotors(joint) else ()):
                for column, value in zip(link.v, rnea.by_v(joint, k, own), strict=True):
                    if not is_zero(value):
                        by_v.add(row.entry, column.entry, value)
        return by_q, by_v

    return run


DERIVATIVES: dict[str, Derivatives] = {
    "closed_form": with_world_forces(rnea_derivatives),
    "adjoint": with_world_forces(_with_rotors(rnea_adjoint)),
    "columns": with_world_forces(_with_rotors(rnea_columns)),
    "plancher2021": with_world_forces(_with_rotors(rnea_refactored)),
}


# Columns of da/dq and da/dv of a floating robot that are known without any product of matrices.
#
# The velocity of a free joint is in the body's axes, so only gravity depends on the pose of the base. Moving the base
# changes no acceleration. Rotating it about e changes only the linear acceleration of the base, by g x e, with gravity
# g in the axes of the base. A constant linear velocity u of the base changes no force (Galilean invariance); its
# acceleration in rotating axes has the term -w x u, with the angular velocity w. External forces in the world's axes
# depend on the rotation of the base: with them the columns of rotations are not known.


class Known:
    """The known columns: their numbers in `columns_q` and `columns_v`, their nonzero entries in `by_q` and `by_v`."""

    def __init__(self, tree: Unrolled, v: Field[Sequence[Scalar]]) -> None:
        size = tree.tree.nv
        self.by_q, self.by_v = SparseMatrix(size), SparseMatrix(size)
        self.columns_q: set[int] = set()
        self.columns_v: set[int] = set()
        for joint, link, rates in zip(tree.joints, tree.tree.links, v, strict=True):
            if link.parent < 0 and link.kind.is_free and is_bare(joint):
                self._add(joint, [coordinate.entry for coordinate in link.v], rates, tree)

    def _add(self, joint: Joint, indices: Sequence[int], rates: Sequence[Scalar], tree: Unrolled) -> None:
        _, w = joint.rate(rates)
        g = joint.rotation.into(tree.gravity)
        for column, dof in zip(indices, joint.dofs, strict=True):
            slides = all(is_zero(part) for part in dof.angular)
            if slides or not tree.world_forces:
                self.columns_q.add(column)
                _put(self.by_q, joint, indices, column, vec.cross(g, dof.angular))
            if slides and not is_resisted(tree, column):
                self.columns_v.add(column)
                _put(self.by_v, joint, indices, column, vec.cross(dof.linear, w))

    def left(self, by_q: Matrix, by_v: Matrix) -> tuple[Matrix, Matrix]:
        """The derivatives of inverse dynamics without the known columns."""
        return _without(by_q, self.columns_q), _without(by_v, self.columns_v)

    def joined(self, by_q: Matrix, by_v: Matrix) -> tuple[Matrix, Matrix]:
        """The derivatives of forward dynamics with the known columns."""
        for matrix, known in ((by_q, self.by_q), (by_v, self.by_v)):
            for row, column, value in known:
                cast(SparseMatrix, matrix).put(row, column, value)
        return by_q, by_v


def is_bare(joint: Joint) -> bool:
    """Whether the base itself has no armature: with armature it would not fall with the acceleration g."""
    return all(is_zero(dof.armature) for dof in joint.dofs)


def _put(matrix: SparseMatrix, joint: Joint, indices: Sequence[int], column: int, change: Vector) -> None:
    """Stores a change of the base's linear acceleration in one column."""
    for row, dof in zip(indices, joint.dofs, strict=True):
        value = vec.dot(dof.linear, change)
        if not is_zero(value):
            matrix.put(row, column, value)


def _without(matrix: Matrix, columns: set[int]) -> SparseMatrix:
    given = cast(SparseMatrix, matrix)
    return SparseMatrix.from_entries(given.size, (entry for entry in given if entry[1] not in columns))
