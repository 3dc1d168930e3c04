"""Revolute and continuous: one angle [rad] about z, the second without limits."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints.base import ANGULAR, Column, JointType
from condyle.scalar import Scalar, cos, sin
from condyle.spatial.rotation import AboutZ, Transform
from condyle.spatial.vector import ZERO


class Revolute(JointType):
    """q = [angle about z, rad]."""

    name, urdf, mjcf = "revolute", "revolute", "hinge"
    nq, nv, axes = 1, 1, 1
    angles = (0,)
    is_periodic = is_bounded = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (ANGULAR[2],)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[0]), sin(q[0])), ZERO)


class Continuous(Revolute):
    """The same without limits."""

    name, urdf, mjcf = "continuous", "continuous", None
    is_bounded = False
