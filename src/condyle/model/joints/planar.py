"""Planar: two displacements [m] in the xy plane and an angle [rad] about z; velocities are local."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, LINEAR, Column, JointType
from condyle.model.joints.series import Moved, series
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Transform


class Planar(JointType):
    """q = [x y theta] in the joint frame, v = [vx vy omega] in child axes.

    integrate is the exponential of SE(2); theta is never wrapped, so difference inverts integrate for turns < 2π.
    """

    name, urdf = "planar", "planar"
    nq, nv, axes = 3, 3, 1
    angles = (2,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[0], LINEAR[1], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[2]), sin(q[2])), (q[0], q[1], number(0.0)))

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        (x, y, theta), (vx, vy, w) = q, dv
        _, half, cosine = lie.half_angle(w * w)
        a, b = half * cosine, 0.5 * w * half * half  # sin w / w, (1 - cos w) / w
        right, left = a * vx - b * vy, b * vx + a * vy
        c, s = cos(theta), sin(theta)
        return [x + c * right - s * left, y + s * right + c * left, theta + w]

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], velocity: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        (x, y, theta), (vx, vy, _), w = q, shift, turn[2]
        c, s = cos(theta), sin(theta)
        right, left = cos(w), sin(w)
        after = [right * velocity[0] + left * velocity[1], right * velocity[1] - left * velocity[0], number(0.0)]
        return [x + (c * vx - s * vy), y + (s * vx + c * vy), theta + w], after

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, theta), (x1, y1, end) = q0, q1
        w, dx, dy = end - theta, x1 - x0, y1 - y0
        c, s = cos(theta), sin(theta)
        x, y = c * dx + s * dy, c * dy - s * dx
        _, half, cosine = lie.half_angle(w * w)
        a, b = cosine / half, 0.5 * w
        return [a * x + b * y, a * y - b * x, w]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, theta), (x1, y1, end) = q0, q1
        w, dx, dy = end - theta, x1 - x0, y1 - y0
        c, s = cos(theta), sin(theta)
        x, y = c * dx + s * dy, c * dy - s * dx
        return [x + 0.5 * w * y, y - 0.5 * w * x, w]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> Moved:
        z = u[2] * u[2]
        a, b = series(1, z, count), u[2] * series(2, z, count)
        x, y = a * u[0] - b * u[1], b * u[0] + a * u[1]
        c, s = cos(q[2]), sin(q[2])
        return Moved([q[0] + (c * x - s * y), q[1] + (s * x + c * y), q[2] + u[2]])
