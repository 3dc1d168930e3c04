"""Linear systems with the mass matrix, in three ways: by its factors, by its inverse, by the articulated-body
algorithm.

Plancher 2021, equation 1 and Algorithm 3: a = M^-1 (tau - c), da/du = -M^-1 dtau/du.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, cast

from condyle.algorithms.aba import Elimination, eliminations, solve, still_forces
from condyle.algorithms.crba import crba
from condyle.algorithms.drives import added_mass, with_added_rotors
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench
from condyle.algorithms.ltl import Factors, inverse, minus_inverse_times
from condyle.algorithms.ltl import solve as solve_by
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import bias, left_of
from condyle.algorithms.sweeps import Field, Matrix, Sweeps, Vector
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, total

# The inverse of the mass matrix directly, without the mass matrix.
#
# After Carpentier 2018 ("analytical inverse of the joint space inertia matrix"): column c is the joint acceleration for
# a unit force at coordinate c, at rest and without gravity. The articulated inertias are computed once for all columns.


def no_force(joint: Joint) -> Wrench:
    return NO_FORCE


def minv(tree: Sweeps, eliminated: Field[tuple[Elimination, ...]]) -> Matrix:
    """M(q)^-1, both triangles, given the tree's `eliminations`."""
    still = tree.each(no_force)

    def column(unit: Sequence[Sequence[Scalar]]) -> Sequence[Sequence[Scalar]]:
        return solve(tree, eliminated, still, unit)

    return tree.unit_columns(column)


class Solver(Protocol):
    """Solves with the mass matrix at one state; what two solves share is computed once."""

    def acceleration(self) -> Vector:
        """a = M^-1 (tau - c(q, v, f_ext)), for the tree's inputs v and tau."""
        ...

    def inverse(self) -> Matrix:
        """M^-1, both triangles."""
        ...

    def minus_times(self, matrix: Matrix) -> Matrix:
        """-M^-1 times a matrix."""
        ...


def mass_matrix(tree: Unrolled) -> SparseMatrix:
    """M(q), with h D in a step that takes forces at its end."""
    mass = cast(SparseMatrix, crba(tree))
    for row, column, value in added_mass(tree):
        mass.add(row, column, value)
    return mass


def factors(tree: Unrolled) -> Factors:
    """The sparse factors of M(q)."""
    return tree.factors(mass_matrix(tree))


def net_force(tree: Unrolled) -> list[Scalar]:
    """tau - c(q, v, f_ext)."""
    c = tree.gathered(bias(tree, tree.input("v")))
    return [force - part for force, part in zip(tree.inputs["tau"], c, strict=True)]


class ByFactors:
    """M = Lᵀ D L, and triangular solves."""

    def __init__(self, tree: Unrolled) -> None:
        self.tree = tree

    @cached_property
    def factors(self) -> Factors:
        return factors(self.tree)

    def acceleration(self) -> list[Scalar]:
        return solve_by(self.factors, net_force(self.tree))

    def inverse(self) -> SparseMatrix:
        return inverse(self.factors)

    def minus_times(self, matrix: Matrix) -> SparseMatrix:
        """By L^-1, without M^-1."""
        return minus_inverse_times(self.factors, cast(SparseMatrix, matrix))


class ByInverse:
    """M^-1 with all its entries, as in the papers."""

    def __init__(self, tree: Unrolled) -> None:
        self.tree = tree

    @cached_property
    def _inverse(self) -> SparseMatrix:
        return inverse(factors(self.tree))

    @cached_property
    def _minus(self) -> SparseMatrix:
        return self._inverse.scaled(-1.0)

    def acceleration(self) -> list[Scalar]:
        return matrix_times(self._inverse, net_force(self.tree))

    def inverse(self) -> SparseMatrix:
        return self._inverse

    def minus_times(self, matrix: Matrix) -> SparseMatrix:
        return self._minus.times(cast(SparseMatrix, matrix))


class ByElimination:
    """The articulated-body algorithm: joints are eliminated one after the other, and M is not formed."""

    def __init__(self, tree: Sweeps) -> None:
        self.tree = tree

    @cached_property
    def _eliminated(self) -> Field[tuple[Elimination, ...]]:
        return eliminations(with_added_rotors(self.tree))

    def acceleration(self) -> Vector:
        tree, v = self.tree, self.tree.input("v")
        force, eliminated = still_forces(tree, v), self._eliminated
        return tree.gathered(solve(tree, eliminated, force, left_of(tree, tree.input("tau"), v)))

    def inverse(self) -> Matrix:
        return minv(self.tree, self._eliminated)

    def minus_times(self, matrix: Matrix) -> Matrix:
        tree, eliminated, still = self.tree, self._eliminated, self.tree.each(no_force)

        def column(force: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
            return solve(tree, eliminated, still, tree.each(negated, force))

        return tree.map_columns(column, matrix)


def negated(joint: Joint, values: Sequence[Scalar]) -> Sequence[Scalar]:
    return tuple(-value for value in values)


def matrix_times(matrix: SparseMatrix, x: Sequence[Scalar]) -> list[Scalar]:
    """The product, row by row."""
    rows = (matrix.row(row) for row in range(matrix.size))
    return [total([value * x[column] for column, value in row.items()]) for row in rows]
