"""Forward dynamics and its derivatives from inverse dynamics, the mass matrix and its factors.

Plancher 2021, equation 1 and Algorithm 3: a = M^-1 (tau - c), da/du = -M^-1 dtau/du.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.crba import crba
from condyle.algorithms.ltl import Factors, inverse, ltl, solve
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import bias
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, total


def mass_matrix(tree: Unrolled) -> SparseMatrix:
    """M(q)."""
    mass = crba(tree)
    assert isinstance(mass, SparseMatrix)
    return mass


def factors(tree: Unrolled) -> Factors:
    """The sparse factors of M(q)."""
    return ltl(mass_matrix(tree))


def net_force(tree: Unrolled, v: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """tau - c(q, v, f_ext)."""
    c = tree.gathered(bias(tree, tree.dofs(v)))
    return [force - part for force, part in zip(tau, c, strict=True)]


def by_factors(tree: Unrolled, v: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """a from M = Lᵀ D L: the bias, the mass matrix, two triangular solves."""
    return solve(factors(tree), net_force(tree, v, tau))


def by_inverse(tree: Unrolled, v: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """a = M^-1 (tau - c) with M^-1 spelled out, as the papers do."""
    return matrix_times(inverse(factors(tree)), net_force(tree, v, tau))


def matrix_times(matrix: SparseMatrix, x: Sequence[Scalar]) -> list[Scalar]:
    """The product, row by row."""
    rows = (matrix.row(row) for row in range(matrix.size))
    return [total([value * x[column] for column, value in row.items()]) for row in rows]
