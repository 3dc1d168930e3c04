"""Rotations of segments: the group SO(3), alone and with the angular velocity that a segment adds."""

from __future__ import annotations

from typing import NamedTuple

from condyle.spatial import vector as vec
from condyle.spatial.vector import ONE, Matrix, Vector


class Rotations:
    """R = R_base R_tip: axes of a segment's tip in the axes of its base (columns)."""

    def identity(self) -> Matrix:
        return ONE

    def combine(self, base: Matrix, tip: Matrix) -> Matrix:
        columns = vec.transpose(tip)
        x, y, z = (vec.times(columns, row) for row in base)
        return x, y, z


class Turning(NamedTuple):
    """Of a segment: base axes to tip axes, and the angular velocity of its tip if its base has none."""

    axes: Matrix
    w: Vector


class Turnings:
    """w of the tip = axes w of the base + own."""

    def identity(self) -> Turning:
        return Turning(ONE, vec.ZERO)

    def combine(self, base: Turning, tip: Turning) -> Turning:
        return Turning(Rotations().combine(tip.axes, base.axes), vec.add(vec.times(tip.axes, base.w), tip.w))
