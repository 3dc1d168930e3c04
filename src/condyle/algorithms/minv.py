"""The inverse of the mass matrix directly, without the mass matrix.

After Carpentier 2018 ("analytical inverse of the joint space inertia matrix"): column c is the acceleration
under a unit force at coordinate c, and the articulated inertias serve all columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.aba import eliminations, solve
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import Wrench
from condyle.algorithms.sweeps import Matrix, Sweeps
from condyle.scalar import Scalar
from condyle.spatial import vector as vec


def no_force(joint: Joint) -> Wrench:
    return Wrench(vec.ZERO, vec.ZERO)


def minv(tree: Sweeps) -> Matrix:
    """M(q)^-1, both triangles."""
    eliminated = eliminations(tree)
    still = tree.each(no_force)

    def column(unit: Sequence[Sequence[Scalar]]) -> Sequence[Sequence[Scalar]]:
        return solve(tree, eliminated, still, unit)

    return tree.unit_columns(column)
