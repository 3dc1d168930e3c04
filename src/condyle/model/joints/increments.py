"""Derivatives of exp and log of a joint's Lie algebra, accurate for all angles, and so are derivatives of them.

With x = t², t the angle of u, and C_n(x) = sum (-x)^k / (2k + n)!, which is sin t / t for n = 1:

    exp(-ad u)             = 1 - C_1 ad + C_2 ad²
    (1 - exp(-ad u)) / ad  = 1 - C_2 ad + C_3 ad²
    its inverse            = 1 + ad / 2 + (C_3 - 2 C_4) / (2 C_2) ad²

for rotations, ad = w x. For rigid motions all numbers are dual ones, w + ε v, ε² = 0: a coefficient f(x) is
f + ε f' 2 w·v, and C_n' = (n C_(n+2) - C_(n+1)) / 2. Solà, Deray, Atchuthan 2018; Study's duality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.model.joints.lie import series
from condyle.scalar import Scalar, cos, maximum, number, select, sin, sqrt
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, add, cross_motion

Rows: TypeAlias = "list[list[Scalar]]"

FAR, TERMS = 4.0, 10
"""Up to which x series serve, which have an error of less than a rounding there."""


class Dual(NamedTuple):
    """f + ε slope."""

    f: Scalar
    slope: Scalar

    def times(self, x: Pair) -> Pair:
        return vec.add(vec.scale(self.f, x[0]), vec.scale(self.slope, x[1])), vec.scale(self.f, x[1])


def fractions(x: Scalar) -> list[Scalar]:
    """C_0 to C_6, without a division by zero anywhere."""
    large, z = maximum(x, FAR), number(0.0) + x
    t = sqrt(large)
    far = [cos(t), sin(t) / t]
    near = [number(0.0)] * 5 + [series(5, z, TERMS), series(6, z, TERMS)]
    factorial = 1.0
    for n in range(2, 7):
        far.append((1.0 / factorial - far[n - 2]) / large)
        factorial *= n - 1
    for n, one in reversed(list(enumerate((1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0)))):
        near[n] = one - z * near[n + 2]
    return [select(x - FAR, a, b) for a, b in zip(far, near, strict=True)]


def transport(u: Pair, units: Sequence[Pair]) -> tuple[Rows, Rows]:
    """exp(-ad u) and (1 - exp(-ad u)) / ad u: how an increment before a motion, or of it, comes out behind it.

    units: the algebra's basis as (linear, angular); u lies in it.
    """
    x, twice = _square(u)
    c = fractions(x)
    by = [Dual(-c[1], -twice * _slope(c, 1)), Dual(c[2], twice * _slope(c, 2))]
    of = [Dual(-c[2], -twice * _slope(c, 2)), Dual(c[3], twice * _slope(c, 3))]
    return _rows(u, units, *by), _rows(u, units, *of)


def inverse(u: Pair, units: Sequence[Pair]) -> Rows:
    """The inverse of the second one."""
    x, twice = _square(u)
    c = fractions(x)
    one = 0.5 / c[2]
    f = one * (c[3] - 2.0 * c[4])
    slope = one * (_slope(c, 3) - 2.0 * _slope(c, 4) - 2.0 * f * _slope(c, 2))
    return _rows(u, units, Dual(number(0.5), number(0.0)), Dual(f, twice * slope))


def _square(u: Pair) -> tuple[Scalar, Scalar]:
    """w·w, and the dual part of its dual number."""
    return vec.dot(u[1], u[1]), 2.0 * vec.dot(u[1], u[0])


def _slope(c: Sequence[Scalar], n: int) -> Scalar:
    return 0.5 * (n * c[n + 2] - c[n + 1])


def _rows(u: Pair, units: Sequence[Pair], first: Dual, second: Dual) -> Rows:
    """1 + first ad + second ad²."""
    columns: list[Pair] = []
    for unit in units:
        once = cross_motion(u, unit)
        columns.append(add(unit, add(first.times(once), second.times(cross_motion(u, once)))))
    return [[vec.dot(line, x) + vec.dot(turn, y) for x, y in columns] for line, turn in units]
