"""Planar: two displacements [m] in the xy plane and an angle [rad] about z; velocities are local."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, LINEAR, Column, FlatSpace
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Planar(FlatSpace):
    """q = [x y theta] in the joint frame, v = [vx vy omega] in child axes; nq = nv = 3.

    integrate is the exponential of SE(2); theta is never wrapped, so difference inverts integrate for turns < 2π.
    """

    name: str = "planar"
    axes: int = 1
    spread = (1.0, 1.0, np.pi)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[0], LINEAR[1], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return AboutZ(cos(q[2]), sin(q[2])), (q[0], q[1], number(0.0))

    def integrate(self, q: Array, dv: Array) -> Array:
        (x, y, theta), (vx, vy, w) = lie.components(q), lie.components(dv)
        _, half, cosine = lie.half_angle(w * w)
        a, b = half * cosine, 0.5 * w * half * half  # sin w / w, (1 - cos w) / w
        right, left = a * vx - b * vy, b * vx + a * vy
        c, s = cos(theta), sin(theta)
        return lie.stacked((x + c * right - s * left, y + s * right + c * left, theta + w))

    def difference(self, q0: Array, q1: Array) -> Array:
        (x0, y0, theta), (x1, y1, end) = lie.components(q0), lie.components(q1)
        w, dx, dy = end - theta, x1 - x0, y1 - y0
        c, s = cos(theta), sin(theta)
        x, y = c * dx + s * dy, c * dy - s * dx
        _, half, cosine = lie.half_angle(w * w)
        a, b = cosine / half, 0.5 * w
        return lie.stacked((a * x + b * y, a * y - b * x, w))

    def bracket(self, dv: Array) -> Array:
        ad = np.zeros((*dv.shape, 3))
        ad[..., 0, 1], ad[..., 1, 0] = -dv[..., 2], dv[..., 2]
        ad[..., 0, 2], ad[..., 1, 2] = dv[..., 1], -dv[..., 0]
        return ad
