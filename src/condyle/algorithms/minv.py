"""The inverse of the mass matrix directly, without the mass matrix.

After Carpentier 2018 ("analytical inverse of the joint space inertia matrix"): column c is the joint acceleration for a
unit force at coordinate c, at rest and without gravity. The articulated inertias are computed once for all columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.aba import Elimination, solve
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.sweeps import Field, Matrix, Sweeps
from condyle.scalar import Scalar


def no_force(joint: Joint) -> Wrench:
    return NO_FORCE


def minv(tree: Sweeps, eliminated: Field[tuple[Elimination, ...]]) -> Matrix:
    """M(q)^-1, both triangles, given the tree's `eliminations`."""
    still = tree.each(no_force)

    def column(unit: Sequence[Sequence[Scalar]]) -> Sequence[Sequence[Scalar]]:
        return solve(tree, eliminated, still, unit)

    return tree.unit_columns(column)
