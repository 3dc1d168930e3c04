"""Spatial vectors as pairs (linear, angular): motions and forces, and their cross products.

Featherstone 2008, section 2.9, with the linear part first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector

Pair: TypeAlias = tuple[Vector, Vector]

ZERO: Pair = (vec.ZERO, vec.ZERO)


def add(a: Pair, b: Pair) -> Pair:
    return vec.add(a[0], b[0]), vec.add(a[1], b[1])


def scale(k: Scalar, a: Pair) -> Pair:
    return vec.scale(k, a[0]), vec.scale(k, a[1])


def combined(x: Sequence[Scalar], columns: Sequence[Pair]) -> Pair:
    """The sum of x_k times column k."""
    total = ZERO
    for rate, column in zip(x, columns, strict=True):
        total = add(total, scale(rate, column))
    return total


def dot(a: Pair, b: Pair) -> Scalar:
    """The power of a force on a motion."""
    return vec.dot(a[1], b[1]) + vec.dot(a[0], b[0])


def cross_motion(v: Pair, m: Pair) -> Pair:
    """v x m."""
    return vec.add(vec.cross(v[1], m[0]), vec.cross(v[0], m[1])), vec.cross(v[1], m[1])


def cross_force(v: Pair, f: Pair) -> Pair:
    """v x* f."""
    return vec.cross(v[1], f[0]), vec.add(vec.cross(v[1], f[1]), vec.cross(v[0], f[0]))
