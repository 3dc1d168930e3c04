"""Prismatic: one displacement [m] along z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from condyle.model.joints.base import LINEAR, Column, FlatSpace
from condyle.scalar import Scalar, number
from condyle.spatial.rotation import Identity, Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Prismatic(FlatSpace):
    """q = [displacement along z, m]; nq = nv = 1."""

    name: str = "prismatic"
    axes: int = 1
    spread = (1.0,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (LINEAR[2],)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return Identity(), (number(0.0), number(0.0), q[0])
