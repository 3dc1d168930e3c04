"""Dense linear systems of a few rows on any scalar: straight code, without what is zero in every state.

Golub, Van Loan 2013, sections 4.2 (Cholesky), 3.4 (row pivots), 5.1 and 5.2 (reflections).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from typing import TypeAlias

from condyle.errors import UnsupportedError
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total

Vector: TypeAlias = "Sequence[Scalar]"
Rows: TypeAlias = "Sequence[Sequence[Scalar]]"


def dot(left: Sequence[Scalar], right: Sequence[Scalar]) -> Scalar:
    """The sum of products, without those with a zero."""
    pairs = zip(left, right, strict=True)
    return total([x * y for x, y in pairs if not (is_zero(x) or is_zero(y))] or [number(0.0)])


def _less(start: Scalar, left: Iterable[Scalar], right: Iterable[Scalar]) -> Scalar:
    """start - left · right."""
    for x, y in zip(left, right, strict=True):
        if not (is_zero(x) or is_zero(y)):
            start = start - x * y
    return start


# Symmetric positive definite matrices.


class Cholesky:
    """S = L D Lᵀ, of the lower triangle of S; NaN where S is not positive definite. No root is waited for.

    lower: rows of L before the diagonal, which is 1. pivots: D. inverse: 1 / D. least: pivots are at least so many
    times the diagonal's entries.
    """

    def __init__(self, S: Rows, least: Scalar | None = None) -> None:
        self.lower, self.pivots, self.inverse = list[list[Scalar]](), list[Scalar](), list[Scalar]()
        self._is_checked = least is None
        for i, entries in enumerate(S):
            scaled, row = list[Scalar](), list[Scalar]()
            for j in range(i):
                scaled.append(_less(entries[j], scaled, self.lower[j]))
                row.append(scaled[j] * self.inverse[j])
            pivot = _less(entries[i], scaled, row)
            pivot = pivot if least is None else maximum(pivot, least * entries[i])
            if isinstance(pivot, float) and not pivot > 0.0:
                raise UnsupportedError(
                    f"cholesky, solve_symmetric: the matrix is positive definite in no state: pivot {i} is {pivot:g}; "
                    "add a small number to its diagonal, or use np.linalg.solve"
                )
            self.lower.append(row)
            self.pivots.append(pivot)
            self.inverse.append(reciprocal(pivot))

    @property
    def L(self) -> list[list[Scalar]]:
        """L D^1/2, all entries of its rows: Cholesky's factor."""
        roots = [sqrt(pivot) for pivot in self.pivots]
        rows = [[*row, number(1.0)] for row in self.lower]
        scaled = [[x if is_zero(x) else x * root for x, root in zip(row, roots, strict=False)] for row in rows]
        return [[*row, *[number(0.0)] * (len(rows) - len(row))] for row in scaled]

    def solve(self, b: Vector) -> list[Scalar]:
        """x of S x = b."""
        x = list[Scalar]()
        for start, row in zip(b, self.lower, strict=True):
            x.append(_less(start, row, x))
        x = [value * inverse for value, inverse in zip(x, self.inverse, strict=True)]
        for i in reversed(range(len(x))):
            x[i] = _less(x[i], [row[i] for row in self.lower[i + 1 :]], x[i + 1 :])
        return [value + self._doubt for value in x] if self._is_checked else x

    @cached_property
    def _doubt(self) -> Scalar:
        """0; NaN where some pivot is below zero."""
        root = sqrt(reduce(minimum, self.pivots))
        return maximum(root, 0.0) - root


# General matrices.


def singular() -> UnsupportedError:
    return UnsupportedError(
        "np.linalg.solve, inv: the matrix is singular in every state; see which of its rows or columns are zero (those "
        "of a Jacobian are for joints that do not move the frame), or add a small number to its diagonal"
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
        ahead = number(-1.0) if is_zero(upper[k]) else absolute(upper[k]) - absolute(lower[k])
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
        for k in reversed(range(len(x))):
            x[k] = _less(x[k], self.U[k][k + 1 :], x[k + 1 :]) * self._inverse(k)
        return x

    def solve_transposed(self, b: Vector) -> list[Scalar]:
        x = list[Scalar]()
        for k, start in enumerate(b):
            x.append(_less(start, [row[k] for row in self.U[:k]], x) * self._inverse(k))
        for exchanges, k, i, by in reversed(self.steps):
            if exchanges:
                x[k], x[i] = _exchanged(by, x[k], x[i])
            else:
                x[k] = _less(x[k], [by], [x[i]])
        return x

    def _inverse(self, k: int) -> Scalar:
        if is_zero(self.U[k][k]):
            raise singular()
        return reciprocal(self.U[k][k])


def _exchanged(ahead: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """x and y, or y and x where ahead < 0."""
    if isinstance(ahead, float):
        return (x, y) if ahead >= 0.0 else (y, x)
    return select(ahead, x, y), select(ahead, y, x)


# The same by reflections, some columns at a time: most of it is products of matrices, and nothing is chosen.


class Panel:
    """A few columns of A as Q R, R upper triangular above zeros. V: a vector of each reflection x - beta v (v . x).

    products: rows of (v_i . v_j), j < i. R: its rows; inverse: 1 / R_kk.
    """

    def __init__(self, columns: Rows) -> None:
        self.V, self.betas, self.products = list[list[Scalar]](), list[Scalar](), list[list[Scalar]]()
        self.columns, self.inverse = [list(column) for column in columns], list[Scalar]()
        for k, x in enumerate(self.columns):
            length = sqrt(_dot(x[k:], x[k:]))
            if isinstance(length, float) and length == 0.0:
                raise singular()
            length = select(x[k], length, -length) if not is_zero(x[k]) else length
            v = [number(0.0)] * k + [x[k] + length, *x[k + 1 :]]
            beta = reciprocal(length * v[k])
            self.inverse.append(-(beta * v[k]))
            self.products.append([_dot(v[k:], other[k:]) for other in self.V])
            self.V.append(v)
            self.betas.append(beta)
            x[k:] = [-length, *[number(0.0)] * (len(x) - k - 1)]
            for other in self.columns[k + 1 :]:
                by = _dot(v[k:], other[k:]) * beta
                other[k:] = [_less(y, [by], [z]) for y, z in zip(other[k:], v[k:], strict=True)]

    def weights(self, products: Vector, backwards: bool) -> list[Scalar]:
        """z with x - V z the reflections of x, first to last or backwards, given the products v . x."""
        n = len(self.V)
        z = list(products)
        for i in reversed(range(n)) if backwards else range(n):
            others = range(i + 1, n) if backwards else range(i)
            met = [self.products[max(i, j)][min(i, j)] for j in others]
            z[i] = _less(z[i], met, [z[j] for j in others]) * self.betas[i]
        return z


def _dot(x: Vector, y: Vector) -> Scalar:
    terms = [a * b for a, b in zip(x, y, strict=True) if not (is_zero(a) or is_zero(b))]
    return total(terms) if terms else number(0.0)


def scales(A: Rows) -> list[Scalar]:
    """By which rows are multiplied before they are reflected, since they may differ in size."""
    sizes = [[absolute(x) for x in row if not is_zero(x)] for row in A]
    if not all(sizes):
        raise singular()
    return [reciprocal(total(row)) for row in sizes]
