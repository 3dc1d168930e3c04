"""Free: all six motions; position [m] and unit quaternion, velocities are local twists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, LINEAR, Column
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Rotation, from_quaternion
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Free:
    """q = [x y z qx qy qz qw], v = [linear; angular] in child axes; nq = 7, nv = 6; integrate is q exp(dv) on SE(3)."""

    name: str = "free"
    nq: int = 7
    nv: int = 6
    axes: int = 0

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (*LINEAR, *ANGULAR)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return from_quaternion(q[3:7]), (q[0], q[1], q[2])

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Array, dv: Array) -> Array:
        (x, y, z, *r), (vx, vy, vz, wx, wy, wz) = lie.components(q), lie.components(dv)
        shift, turn = lie.exp6((vx, vy, vz), (wx, wy, wz))
        old = lie.quaternion(r)
        new, w = lie.made_unit(lie.product(old, turn))
        return lie.stacked((*vec.add((x, y, z), lie.rotate(old, shift)), *new, w))

    def difference(self, q0: Array, q1: Array) -> Array:
        (x0, y0, z0, *r0), (x1, y1, z1, *r1) = lie.components(q0), lie.components(q1)
        back = lie.conjugate(lie.quaternion(r0))
        angular = lie.log3(lie.product(back, lie.quaternion(r1)))
        moved = lie.rotate(back, vec.sub((x1, y1, z1), (x0, y0, z0)))
        return lie.stacked((*lie.log6_translation(moved, angular), *angular))

    def bracket(self, dv: Array) -> Array:
        ad = np.zeros((*dv.shape, 6))
        ad[..., :3, :3] = ad[..., 3:, 3:] = lie.skew(dv[..., 3:])
        ad[..., :3, 3:] = lie.skew(dv[..., :3])
        return ad

    def normalize(self, q: Array) -> Array:
        return np.concatenate((q[..., :3], lie.unit(q[..., 3:])), axis=-1)

    def defect(self, q: Array) -> Array:
        return np.abs(np.linalg.norm(q[..., 3:], axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return np.concatenate((rng.uniform(-1.0, 1.0, (n, 3)), lie.random_quaternions(rng, n)), axis=-1)
