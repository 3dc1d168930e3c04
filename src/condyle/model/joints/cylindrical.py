"""Cylindrical: a displacement [m] along z and an angle [rad] about it."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints.base import ANGULAR, LINEAR, Column, JointType
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Transform


class Cylindrical(JointType):
    """q = [displacement along z, angle about z]."""

    name = "cylindrical"
    nq, nv, axes = 2, 2, 1
    angles = (1,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[2], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[1]), sin(q[1])), (number(0.0), number(0.0), q[0]))
