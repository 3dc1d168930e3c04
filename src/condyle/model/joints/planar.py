"""Planar: two displacements [m] in the xy plane and an angle [rad] about z; velocities are local."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.model.joints.base import ANGULAR, LINEAR, Column, FlatSpace
from condyle.model.joints.lie import half_cotangent, versine
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
        w = dv[..., 2]
        a, b = np.sinc(w / np.pi), w * versine(w)  # sin w / w, (1 - cos w) / w
        x, y = a * dv[..., 0] - b * dv[..., 1], b * dv[..., 0] + a * dv[..., 1]
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        return np.stack((q[..., 0] + c * x - s * y, q[..., 1] + s * x + c * y, q[..., 2] + w), axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        w = q1[..., 2] - q0[..., 2]
        dx, dy = q1[..., 0] - q0[..., 0], q1[..., 1] - q0[..., 1]
        c, s = np.cos(q0[..., 2]), np.sin(q0[..., 2])
        x, y = c * dx + s * dy, c * dy - s * dx
        a, b = half_cotangent(w), 0.5 * w
        return np.stack((a * x + b * y, a * y - b * x, w), axis=-1)
