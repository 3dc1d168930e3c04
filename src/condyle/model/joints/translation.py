"""Translation: three displacements [m] along the axes of the joint frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from condyle.model.joints.base import LINEAR, Column, FlatSpace
from condyle.scalar import Scalar
from condyle.spatial.rotation import Identity, Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Translation(FlatSpace):
    """q = [x y z]; nq = nv = 3; the child never turns."""

    name: str = "translation"
    axes: int = 0
    spread = (1.0, 1.0, 1.0)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return Identity(), (q[0], q[1], q[2])
