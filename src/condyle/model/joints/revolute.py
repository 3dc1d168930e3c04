"""Revolute and continuous: one angle [rad] about z, the second without limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.joints.base import ANGULAR, Column, FlatSpace
from condyle.scalar import Scalar, cos, sin
from condyle.spatial.rotation import AboutZ, Rotation
from condyle.spatial.vector import ZERO, Vector


@dataclass(frozen=True, slots=True)
class Revolute(FlatSpace):
    """q = [angle about z, rad]; nq = nv = 1."""

    name: str = "revolute"
    axes: int = 1
    spread = (np.pi,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (ANGULAR[2],)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return AboutZ(cos(q[0]), sin(q[0])), ZERO
