"""Rotations of segments: the group SO(3), alone and with angular velocity."""

from __future__ import annotations

from typing import NamedTuple

from condyle.spatial import vector as vec
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Vector


class Rotations:
    """R = R_base R_tip, with R the axes of a segment's tip in the axes of its base, as columns."""

    def identity(self) -> Matrix:
        return IDENTITY_MATRIX

    def combine(self, base: Matrix, tip: Matrix) -> Matrix:
        columns = vec.transpose(tip)
        x, y, z = (vec.times(columns, row) for row in base)
        return x, y, z


class Turning(NamedTuple):
    """Of a segment: E from base axes to tip axes, and the tip's angular velocity relative to its base, in tip axes."""

    axes: Matrix
    w: Vector


class Turnings:
    """w_tip = axes w_base + w: the composition of these affine maps."""

    def identity(self) -> Turning:
        return Turning(IDENTITY_MATRIX, vec.ZERO)

    def combine(self, base: Turning, tip: Turning) -> Turning:
        return Turning(Rotations().combine(tip.axes, base.axes), vec.add(vec.times(tip.axes, base.w), tip.w))
