"""Prismatic: one displacement [m] along z."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints.base import LINEAR, Column, JointType
from condyle.scalar import Scalar, number
from condyle.spatial.rotation import Identity, Transform


class Prismatic(JointType):
    """q = [displacement along z, m]."""

    name, urdf, mjcf = "prismatic", "prismatic", "slide"
    nq, nv, axes = 1, 1, 1
    is_bounded = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (LINEAR[2],)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(Identity(), (number(0.0), number(0.0), q[0]))
