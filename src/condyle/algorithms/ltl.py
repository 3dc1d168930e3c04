"""Sparse factors of the mass matrix, M = Lᵀ D L, L unit lower triangular, and solves with them.

Featherstone 2008, section 6.5: the last coordinate is eliminated first, and there is no fill-in, because M_ij is zero
unless one of i and j carries the other. The sparsity is that of the stored entries of M.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, number, reciprocal, total


class Factors(NamedTuple):
    """L without its diagonal of ones, and the reciprocals of D."""

    L: SparseMatrix
    inverse_D: list[Scalar]


def ltl(mass: SparseMatrix) -> Factors:
    """M = Lᵀ D L; not finite where M is singular."""
    n = mass.size
    H = [{j: value for j, value in mass.row(i).items() if j <= i} for i in range(n)]
    L = SparseMatrix(n)
    inverse_D: list[Scalar] = [number(0.0)] * n
    for k in reversed(range(n)):
        inverse_D[k] = reciprocal(H[k].get(k, number(0.0)))
        row = [(i, value) for i, value in H[k].items() if i < k]
        for i, value in row:
            factor = value * inverse_D[k]
            L.put(k, i, factor)
            for j, other in row:
                if j <= i:
                    H[i][j] = H[i][j] - factor * other if j in H[i] else -(factor * other)
    return Factors(L, inverse_D)


def solve(factors: Factors, b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b."""
    y = half_solved(factors, dict(enumerate(b)))
    return rest_solved(factors, [y[k] for k in range(len(b))])


def half_solved(factors: Factors, b: Mapping[int, Scalar]) -> dict[int, Scalar]:
    """y with Lᵀ y = b, both as {coordinate: entry}, without the entries that are zero."""
    y = dict(b)
    for k in reversed(range(len(factors.inverse_D))):
        if k in y:
            for i, value in factors.L.row(k).items():
                part = value * y[k]
                y[i] = y[i] - part if i in y else -part
    return y


def rest_solved(factors: Factors, y: Sequence[Scalar]) -> list[Scalar]:
    """x with D L x = y."""
    x = [value * scale for value, scale in zip(y, factors.inverse_D, strict=True)]
    for k in range(len(x)):
        for i, value in factors.L.row(k).items():
            x[k] = x[k] - value * x[i]
    return x


def inverse_of_lower(L: SparseMatrix) -> SparseMatrix:
    """L^-1 without its diagonal of ones; as sparse as L."""
    inverse = SparseMatrix(L.size)
    for k in range(L.size):
        for i, value in L.row(k).items():
            inverse.add(k, i, -value)
            for j, other in inverse.row(i).items():
                inverse.add(k, j, -(value * other))
    return inverse


def inverse(factors: Factors) -> SparseMatrix:
    """M^-1 = L^-1 D^-1 L^-T, both triangles."""
    n = len(factors.inverse_D)
    W = inverse_of_lower(factors.L)
    result = SparseMatrix(n)
    scaled = [{k: value * factors.inverse_D[k] for k, value in W.row(i).items()} for i in range(n)]
    for i in range(n):
        for j in range(i + 1):
            value = _entry(W, scaled, factors.inverse_D, i, j)
            if value is not None:
                result.put(i, j, value)
                result.put(j, i, value)
    return result


def _entry(
    W: SparseMatrix, scaled: Sequence[dict[int, Scalar]], inverse_D: Sequence[Scalar], i: int, j: int
) -> Scalar | None:
    """(W D^-1 Wᵀ)_ij for j <= i, W = L^-1; W is stored without the ones of its diagonal."""
    terms = [value * scaled[j][k] for k, value in W.row(i).items() if k in scaled[j]]
    if i == j:
        terms.append(inverse_D[i])
    elif j in scaled[i]:
        terms.append(scaled[i][j])
    return total(terms) if terms else None


def halves(factors: Factors) -> tuple[SparseMatrix, SparseMatrix]:
    """(D^-1 L^-T, - L^-1) with their diagonals; M^-1 is minus the second times the first."""
    W = inverse_of_lower(factors.L)
    upper, lower = SparseMatrix(W.size), SparseMatrix(W.size)
    for k, d in enumerate(factors.inverse_D):
        upper.put(k, k, d)
        lower.put(k, k, number(-1.0))
    for row, column, value in W:
        upper.put(column, row, value * factors.inverse_D[column])
        lower.put(row, column, -value)
    return upper, lower


def held(factors: Factors, floats: Scalar, first: int) -> Factors:
    """The factors with D^-1 of the first coordinates times `floats`: 0 holds these coordinates still, 1 changes
    nothing.

    With 0, every term of M^-1 with one of these coordinates is zero. The other factors are those of the mass matrix of
    the other coordinates, so the result is the inverse of that matrix, among zeros.
    """
    return Factors(factors.L, [d * floats if k < first else d for k, d in enumerate(factors.inverse_D)])


def minus_inverse_times(factors: Factors, b: SparseMatrix) -> SparseMatrix:
    """-M^-1 B = -W D^-1 (Wᵀ B), W = L^-1: fewer operations than a product with M^-1 on a branched tree."""
    W = inverse_of_lower(factors.L)
    y = _plus_product(b, W.transposed(), b)  # Wᵀ B
    minus = [-d for d in factors.inverse_D]
    scaled = SparseMatrix.from_entries(b.size, ((row, column, value * minus[row]) for row, column, value in y))
    return _plus_product(scaled, W, scaled)


def _plus_product(first: SparseMatrix, left: SparseMatrix, right: SparseMatrix) -> SparseMatrix:
    """first + left right."""
    result = SparseMatrix.from_entries(first.size, first)
    for row, column, value in left.times(right):
        result.add(row, column, value)
    return result
