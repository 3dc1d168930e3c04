"""Dense linear systems of a few rows on any scalar: straight code, without what is zero in every state.

Golub, Van Loan 2013, sections 4.2 (Cholesky), 3.4 (elimination with row pivots) and 5.2 (reflections).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Protocol, TypeAlias

from condyle.errors import UnsupportedError
from condyle.scalar import Scalar, absolute, is_zero, number, reciprocal, select, sqrt, total

Vector: TypeAlias = "Sequence[Scalar]"
Rows: TypeAlias = "Sequence[Sequence[Scalar]]"

PIVOTED = 8
"""Rows of the largest matrix that is eliminated with pivots; reflections, which choose nothing, are fewer beyond."""


def _less(start: Scalar, left: Iterable[Scalar], right: Iterable[Scalar]) -> Scalar:
    """start - left · right."""
    for x, y in zip(left, right, strict=True):
        if not (is_zero(x) or is_zero(y)):
            start = start - x * y
    return start


# Symmetric positive definite matrices.


class Cholesky:
    """S = L Lᵀ, of the lower triangle of S; not a number where S is not positive definite.

    L: rows up to the diagonal. inverse: 1 / L_ii.
    """

    def __init__(self, S: Rows) -> None:
        self.L, self.inverse = list[list[Scalar]](), list[Scalar]()
        for i, entries in enumerate(S):
            row: list[Scalar] = []
            for j in range(i):
                row.append(_less(entries[j], row, self.L[j][:j]) * self.inverse[j])
            pivot = _less(entries[i], row, row)
            if isinstance(pivot, float) and not pivot > 0.0:
                raise UnsupportedError(
                    f"cholesky, solve_symmetric: the matrix is not positive definite in any state: pivot {i} is "
                    f"{pivot:g}; add a small number to its diagonal, or use np.linalg.solve"
                )
            row.append(sqrt(pivot))
            self.L.append(row)
            self.inverse.append(reciprocal(row[i]))

    def solve(self, b: Vector) -> list[Scalar]:
        """x of S x = b."""
        halfway = list[Scalar]()
        for i, start in enumerate(b):
            halfway.append(_less(start, self.L[i][:i], halfway) * self.inverse[i])
        x = halfway
        for i in reversed(range(len(x))):
            x[i] = _less(x[i], [row[i] for row in self.L[i + 1 :]], x[i + 1 :]) * self.inverse[i]
        return x


# General matrices.


class Factors(Protocol):
    """What a square matrix A was made of."""

    def solve(self, b: Vector) -> list[Scalar]:
        """x of A x = b."""
        ...

    def solve_transposed(self, b: Vector) -> list[Scalar]:
        """x of Aᵀ x = b."""
        ...


def factors(A: Rows) -> Factors:
    """Those of a matrix, by its size; UnsupportedError where it is singular in every state."""
    check_rank(A)
    return Eliminated(A) if len(A) <= PIVOTED else Reflected(A)


def check_rank(A: Rows) -> None:
    """UnsupportedError where entries that are zero in every state make it singular: some rows share too few columns."""
    row_of: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        """Gives the row a column of its own; others may move."""
        for column, x in enumerate(A[row]):
            if column not in tried and not is_zero(x):
                tried.add(column)
                if column not in row_of or place(row_of[column], tried):
                    row_of[column] = row
                    return True
        return False

    if not all([place(row, set()) for row in range(len(A))]):
        raise singular()


def singular() -> UnsupportedError:
    return UnsupportedError(
        "np.linalg.solve, inv: the matrix is singular in every state; check its rows and columns, such as those of a "
        "Jacobian that are zero for this frame, or add a small number to its diagonal"
    )


class Eliminated:
    """U, and the steps that make it of A: (1, k, i, x) exchanges rows k and i where x < 0, (0, k, i, x) takes x times
    row k from row i. sign: of all exchanges.
    """

    def __init__(self, A: Rows) -> None:
        self.U, self.sign = [list(row) for row in A], number(1.0)
        self.steps: list[tuple[int, int, int, Scalar]] = []
        U, n = self.U, len(A)
        for k in range(n):
            for i in range(k + 1, n):
                self._compare(k, i)
            if is_zero(U[k][k]):
                continue  # zeros below too
            inverse = reciprocal(U[k][k])
            for i in range(k + 1, n):
                factor = U[i][k] * inverse
                if not is_zero(factor):
                    U[i][k + 1 :] = [x - factor * y for x, y in zip(U[i][k + 1 :], U[k][k + 1 :], strict=True)]
                    self.steps.append((0, k, i, factor))

    def _compare(self, k: int, i: int) -> None:
        """Puts the row with the larger entry of column k into place k."""
        upper, lower = self.U[k], self.U[i]
        if is_zero(lower[k]):
            return
        ahead = number(-1.0) if is_zero(upper[k]) else _magnitude(upper[k]) - _magnitude(lower[k])
        if isinstance(ahead, float) and ahead >= 0.0:
            return
        for column in range(k, len(upper)):
            upper[column], lower[column] = _exchanged(ahead, upper[column], lower[column])
        self.sign, _ = _exchanged(ahead, self.sign, -self.sign)
        self.steps.append((1, k, i, ahead))

    @property
    def determinant(self) -> Scalar:
        return reduce(operator.mul, (row[k] for k, row in enumerate(self.U)), self.sign)

    def solve(self, b: Vector) -> list[Scalar]:
        x = list(b)
        for exchanges, k, i, by in self.steps:
            if exchanges:
                x[k], x[i] = _exchanged(by, x[k], x[i])
            else:
                x[i] = _less(x[i], [by], [x[k]])
        return _upwards(self.U, [_inverse(row[k]) for k, row in enumerate(self.U)], x)

    def solve_transposed(self, b: Vector) -> list[Scalar]:
        x = _downwards(self.U, [_inverse(row[k]) for k, row in enumerate(self.U)], b)
        for exchanges, k, i, by in reversed(self.steps):
            if exchanges:
                x[k], x[i] = _exchanged(by, x[k], x[i])
            else:
                x[k] = _less(x[k], [by], [x[i]])
        return x


class Reflected:
    """D A = Q R by Householder's reflections. D divides rows by the sum of their magnitudes: rows may differ in size.

    A reflection of entries k .. n - 1 is (v, beta): x - beta v (v · x).
    """

    def __init__(self, A: Rows) -> None:
        self.D = [reciprocal(total([_magnitude(x) for x in row if not is_zero(x)])) for row in A]
        self.R = [[x * scale for x in row] for row, scale in zip(A, self.D, strict=True)]
        self.inverse, self.reflections = list[Scalar](), list[tuple[list[Scalar], Scalar]]()
        for k in range(len(A)):
            v = [row[k] for row in self.R[k:]]
            if all(map(is_zero, v)):
                raise singular()
            length = sqrt(total([x * x for x in v if not is_zero(x)]))
            length = -length if is_zero(v[0]) else select(v[0], length, -length)
            v[0] = v[0] + length
            beta = reciprocal(length * v[0])
            self.inverse.append(-(beta * v[0]))
            self.reflections.append((v, beta))
            for column in range(k + 1, len(A)):
                reflected = _reflection(k, v, beta, [row[column] for row in self.R])
                for row, x in zip(self.R, reflected, strict=True):
                    row[column] = x

    def solve(self, b: Vector) -> list[Scalar]:
        x = [scale * entry for scale, entry in zip(self.D, b, strict=True)]
        for k, (v, beta) in enumerate(self.reflections):
            x = _reflection(k, v, beta, x)
        return _upwards(self.R, self.inverse, x)

    def solve_transposed(self, b: Vector) -> list[Scalar]:
        x = _downwards(self.R, self.inverse, b)
        for k, (v, beta) in reversed(list(enumerate(self.reflections))):
            x = _reflection(k, v, beta, x)
        return [scale * entry for scale, entry in zip(self.D, x, strict=True)]


def _upwards(U: Rows, inverse: Vector, b: Vector) -> list[Scalar]:
    """x of U x = b; U: the right upper triangle of it is read. inverse: 1 / U_kk."""
    x = list(b)
    for k in reversed(range(len(x))):
        x[k] = _less(x[k], U[k][k + 1 :], x[k + 1 :]) * inverse[k]
    return x


def _downwards(U: Rows, inverse: Vector, b: Vector) -> list[Scalar]:
    """x of Uᵀ x = b."""
    x = list[Scalar]()
    for k, start in enumerate(b):
        x.append(_less(start, [U[j][k] for j in range(k)], x) * inverse[k])
    return x


def _reflection(k: int, v: Vector, beta: Scalar, x: Vector) -> list[Scalar]:
    terms = [y * z for y, z in zip(v, x[k:], strict=True) if not (is_zero(y) or is_zero(z))]
    by = total(terms) * beta if terms else number(0.0)
    return [*x[:k], *(_less(z, [by], [y]) for y, z in zip(v, x[k:], strict=True))]


def _exchanged(ahead: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """x and y, or y and x where ahead < 0."""
    if isinstance(ahead, float):
        return (x, y) if ahead >= 0.0 else (y, x)
    return select(ahead, x, y), select(ahead, y, x)


def _inverse(pivot: Scalar) -> Scalar:
    if is_zero(pivot):
        raise singular()
    return reciprocal(pivot)


def _magnitude(x: Scalar) -> Scalar:
    return number(abs(x)) if isinstance(x, float) else absolute(x)
