"""Spherical: an orientation as a unit quaternion; velocities are local angular velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, Column
from condyle.scalar import Scalar
from condyle.spatial.rotation import Rotation, from_quaternion
from condyle.spatial.vector import ZERO, Vector


@dataclass(frozen=True, slots=True)
class Spherical:
    """q = [qx qy qz qw], v = angular velocity in child axes; nq = 4, nv = 3; integrate is the exponential of SO(3)."""

    name: str = "spherical"
    nq: int = 4
    nv: int = 3
    axes: int = 0

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return ANGULAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return from_quaternion(q), ZERO

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Array, dv: Array) -> Array:
        x, y, z = lie.components(dv)
        new, w = lie.made_unit(lie.product(lie.quaternion(lie.components(q)), lie.exp3((x, y, z))))
        return lie.stacked((*new, w))

    def difference(self, q0: Array, q1: Array) -> Array:
        back = lie.conjugate(lie.quaternion(lie.components(q0)))
        return lie.stacked(lie.log3(lie.product(back, lie.quaternion(lie.components(q1)))))

    def bracket(self, dv: Array) -> Array:
        return lie.skew(dv)

    def normalize(self, q: Array) -> Array:
        return lie.unit(q)

    def defect(self, q: Array) -> Array:
        return np.abs(np.linalg.norm(q, axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return lie.random_quaternions(rng, n)
