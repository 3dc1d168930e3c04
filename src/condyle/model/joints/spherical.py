"""Spherical: an orientation as a unit quaternion; velocities are local angular velocities."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints import lie, series
from condyle.model.joints.base import ANGULAR, Column, JointType
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform, from_quaternion
from condyle.spatial.vector import ZERO


class Spherical(JointType):
    """q = [qx qy qz qw], v = angular velocity in child axes; integrate is the exponential of SO(3)."""

    name, mjcf = "spherical", "ball"
    nq, nv = 4, 3
    has_quaternion = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return ANGULAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(from_quaternion(q), ZERO)

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        x, y, z = dv
        new, w = lie.made_unit(lie.product(lie.quaternion(q), lie.exp3((x, y, z))))
        return [*new, w]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        back = lie.conjugate(lie.quaternion(q0))
        return [*lie.log3(lie.product(back, lie.quaternion(q1)))]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        turn = lie.product(lie.conjugate(lie.quaternion(q0)), lie.quaternion(q1))
        return [*vec.scale(2.0, turn[0])]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> series.Moved:
        return series.turned(q, self.twist(u)[1], count)
