"""A link's numbers as scalars: what products of exact quarter turns leave instead of zero is zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from condyle.model.array import Array
from condyle.model.parts import Body
from condyle.model.placement import alignment
from condyle.scalar import number
from condyle.spatial.vector import Matrix, Symmetric, Vector, three

DUST = 1e-14  # what a few products of exact quarter turns leave instead of zero


def aligned(axis: Sequence[float] | Array | None) -> Array:
    """A rotation whose third column is the axis: exact for the coordinate axes, the identity for z or none."""
    return np.eye(3) if axis is None else alignment(np.asarray(axis, dtype=np.float64))


def clean(x: float, scale: float = 1.0) -> float:
    if abs(x) <= DUST * scale:
        return 0.0
    if abs(abs(x) - 1.0) <= DUST and scale == 1.0:
        return float(np.sign(x))
    return float(x)


def matrix(m: Array) -> Matrix:
    rows = [tuple(number(clean(float(x))) for x in row) for row in m]
    return three(rows[0]), three(rows[1]), three(rows[2])


def vector(v: Array) -> Vector:
    scale = float(np.max(np.abs(v))) or 1.0
    return three(tuple(number(0.0 if abs(x) <= DUST * scale else float(x)) for x in v))


def symmetric(s: Array) -> Symmetric:
    scale = float(np.max(np.abs(s))) or 1.0
    xx, xy, xz, yy, yz, zz = (
        number(0.0 if abs(s[i, j]) <= DUST * scale else float(s[i, j])) for i in range(3) for j in range(i, 3)
    )
    return xx, xy, xz, yy, yz, zz


def floats3(values: Sequence[float] | Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def reach(body: Body, point: Array) -> float:
    """The root mean square distance of a body's mass from a point of it; infinite without mass."""
    if not body.mass > 0.0:
        return math.inf
    arm = point - body.com
    return math.sqrt(max(float(np.trace(body.inertia)) / (2.0 * body.mass) + float(arm @ arm), 0.0))
