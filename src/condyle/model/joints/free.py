"""Free: all six motions; position [m] and unit quaternion, velocities are local twists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, LINEAR, Column
from condyle.scalar import Scalar
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
        position = q[..., :3] + lie.rotate(q[..., 3:], lie.exp6_translation(dv[..., :3], dv[..., 3:]))
        turned = lie.unit(lie.quaternion_product(q[..., 3:], lie.exp3(dv[..., 3:])))
        return np.concatenate((position, turned), axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        inverse = lie.conjugate(q0[..., 3:])
        angular = lie.log3(lie.quaternion_product(inverse, q1[..., 3:]))
        moved = lie.rotate(inverse, q1[..., :3] - q0[..., :3])
        return np.concatenate((lie.log6_translation(moved, angular), angular), axis=-1)

    def normalize(self, q: Array) -> Array:
        return np.concatenate((q[..., :3], lie.unit(q[..., 3:])), axis=-1)

    def defect(self, q: Array) -> Array:
        return np.abs(np.linalg.norm(q[..., 3:], axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return np.concatenate((rng.uniform(-1.0, 1.0, (n, 3)), lie.random_quaternions(rng, n)), axis=-1)
