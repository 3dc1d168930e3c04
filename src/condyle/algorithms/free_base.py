"""Columns of da/dq and da/dv of a floating robot that are known without any product of matrices.

The velocity of a free joint is in the body's axes, so only gravity depends on the pose of the base. Moving the base
changes no acceleration. Rotating it about e changes only the linear acceleration of the base, by g x e, with gravity g
in the axes of the base. A constant linear velocity u of the base changes no force (Galilean invariance); its
acceleration in rotating axes has the term -w x u, with the angular velocity w. External forces in the world's axes
depend on the rotation of the base: with them the columns of rotations are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.sweeps import Field, Matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, is_zero
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector


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
            if slides and tree.damping is None:
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
