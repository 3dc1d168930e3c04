"""Vectors and matrices of three, as plain tuples of scalars.

A spatial vector is a pair (linear, angular) of 3-vectors; a symmetric matrix is (xx, xy, xz, yy, yz, zz).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from condyle.scalar import Scalar, number

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]  # rows
Symmetric: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

ZERO: Vector = (number(0.0), number(0.0), number(0.0))
ZERO_SYMMETRIC: Symmetric = (*ZERO, *ZERO)
ZERO_MATRIX: Matrix = (ZERO, ZERO, ZERO)
IDENTITY_MATRIX: Matrix = (
    (number(1.0), number(0.0), number(0.0)),
    (number(0.0), number(1.0), number(0.0)),
    (number(0.0), number(0.0), number(1.0)),
)


def three(values: Sequence[Scalar], first: int = 0) -> Vector:
    """Three of these scalars, from number `first` on."""
    return values[first], values[first + 1], values[first + 2]


def add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def sub(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(k: Scalar | float, a: Vector) -> Vector:
    return a[0] * k, a[1] * k, a[2] * k


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def times(m: Matrix, v: Vector) -> Vector:
    """m v."""
    return dot(m[0], v), dot(m[1], v), dot(m[2], v)


def transposed_times(m: Matrix, v: Vector) -> Vector:
    """mᵀ v."""
    return times(transpose(m), v)


def transpose(m: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = m
    return (a, d, g), (b, e, h), (c, f, i)


def symmetric_times(s: Symmetric, v: Vector) -> Vector:
    xx, xy, xz, yy, yz, zz = s
    return dot((xx, xy, xz), v), dot((xy, yy, yz), v), dot((xz, yz, zz), v)


def symmetric_rows(s: Symmetric) -> Matrix:
    xx, xy, xz, yy, yz, zz = s
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def map_columns(f: Callable[[Vector], Vector], s: Symmetric) -> Matrix:
    """The matrix whose columns are f of the columns of S."""
    x, y, z = symmetric_rows(s)
    return transpose((f(x), f(y), f(z)))


def cross_symmetric(a: Vector, s: Symmetric) -> Matrix:
    """[a]x S."""
    return map_columns(lambda column: cross(a, column), s)


def add_symmetric(a: Symmetric, b: Symmetric) -> Symmetric:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


def add_matrix(a: Matrix, b: Matrix) -> Matrix:
    return add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


def outer_symmetric(a: Vector, b: Vector) -> Symmetric:
    """a bᵀ + b aᵀ."""
    return (
        2.0 * (a[0] * b[0]),
        a[0] * b[1] + a[1] * b[0],
        a[0] * b[2] + a[2] * b[0],
        2.0 * (a[1] * b[1]),
        a[1] * b[2] + a[2] * b[1],
        2.0 * (a[2] * b[2]),
    )
