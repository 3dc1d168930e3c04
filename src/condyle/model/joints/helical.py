"""Helical: a screw, one angle [rad] about z that also moves `pitch` metres per radian along z."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.model.joints.base import Column, JointType, Z
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Transform


class Helical(JointType):
    """q = [angle about z, rad]; the origin moves to pitch q along z."""

    name = "helical"
    nq, nv, axes = 1, 1, 1
    has_pitch = True
    angles = (0,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (((number(0.0), number(0.0), cast(Scalar, pitch)), Z),)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[0]), sin(q[0])), (number(0.0), number(0.0), q[0] * pitch))
