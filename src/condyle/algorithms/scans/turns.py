"""Rotations: the group SO(3), an element the axes of a segment's tip in the axes of its base, as a matrix."""

from __future__ import annotations

from condyle.spatial import vector as vec
from condyle.spatial.vector import ONE, Matrix


class Turns:
    """R = R_base R_tip."""

    def identity(self) -> Matrix:
        return ONE

    def combine(self, base: Matrix, tip: Matrix) -> Matrix:
        columns = vec.transpose(tip)
        x, y, z = (vec.times(columns, row) for row in base)
        return x, y, z

    def inverse(self, a: Matrix) -> Matrix:
        return vec.transpose(a)
