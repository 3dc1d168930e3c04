"""Vectors and matrices of six, as plain tuples of scalars, for linear maps that are not rigid transforms.

A vector is (*linear, *angular); a matrix is a tuple of rows; a symmetric matrix is its upper triangle, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from condyle.scalar import Scalar, number, total
from condyle.spatial.twist import Pair

Six: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Rows: TypeAlias = tuple[Six, Six, Six, Six, Six, Six]
Upper: TypeAlias = tuple[Scalar, ...]
"""21 scalars: entries (0, 0) ... (0, 5), (1, 1) ... (5, 5)."""

ZERO: Six = (number(0.0), number(0.0), number(0.0), number(0.0), number(0.0), number(0.0))
IDENTITY_MATRIX: Rows = cast(Rows, tuple(tuple(number(float(i == j)) for j in range(6)) for i in range(6)))
ZERO_UPPER: Upper = (number(0.0),) * 21


def six(values: Iterable[Scalar]) -> Six:
    """A vector of six scalars."""
    return cast(Six, tuple(values))


def six_rows(rows: Iterable[Six]) -> Rows:
    """A matrix of six rows."""
    return cast(Rows, tuple(rows))


def joined(pair: Pair) -> Six:
    return (*pair[0], *pair[1])


def halves(a: Six) -> Pair:
    return (a[0], a[1], a[2]), (a[3], a[4], a[5])


def add(a: Six, b: Six) -> Six:
    return six(x + y for x, y in zip(a, b, strict=True))


def scale(k: Scalar, a: Six) -> Six:
    return six(k * x for x in a)


def minus_scaled(a: Six, k: Scalar, b: Six) -> Six:
    """a - k b."""
    return six(x - k * y for x, y in zip(a, b, strict=True))


def dot(a: Six, b: Six) -> Scalar:
    return total([x * y for x, y in zip(a, b, strict=True)])


def times(m: Rows, v: Six) -> Six:
    """m v."""
    return six(dot(row, v) for row in m)


def transpose(m: Rows) -> Rows:
    return cast(Rows, tuple(zip(*m, strict=True)))


def product(a: Rows, b: Rows) -> Rows:
    """a b."""
    columns = transpose(b)
    return six_rows(times(columns, row) for row in a)


def upper_index(i: int, j: int) -> int:
    """The index of entry (i, j), i <= j, of a symmetric matrix in its upper triangle."""
    return 6 * i - i * (i + 1) // 2 + j


def congruence(a: Rows, s: Rows) -> Upper:
    """aᵀ s a for a symmetric s."""
    half, columns = transpose(product(s, a)), transpose(a)
    return tuple(dot(columns[i], half[j]) for i in range(6) for j in range(i, 6))


def add_outer(s: Upper, k: Scalar, a: Six) -> Upper:
    """s + k a aᵀ."""
    scaled = scale(k, a)
    return tuple(s[upper_index(i, j)] + scaled[i] * a[j] for i in range(6) for j in range(i, 6))
