"""Joints with one axis: revolute and continuous (an angle [rad]), prismatic (a displacement [m]), helical (a screw)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.model.joints.base import ANGULAR, LINEAR, Column, JointType, Z
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Identity, Transform
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


class Prismatic(JointType):
    """q = [displacement along z, m]."""

    name, urdf, mjcf = "prismatic", "prismatic", "slide"
    nq, nv, axes = 1, 1, 1
    is_bounded = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (LINEAR[2],)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(Identity(), (number(0.0), number(0.0), q[0]))


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
