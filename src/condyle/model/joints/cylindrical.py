"""Cylindrical: a displacement [m] along z and an angle [rad] about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.model.joints.base import ANGULAR, LINEAR, Column, FlatSpace
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Cylindrical(FlatSpace):
    """q = [displacement along z, angle about z]; nq = nv = 2."""

    name: str = "cylindrical"
    axes: int = 1
    spread = (1.0, np.pi)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[2], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return AboutZ(cos(q[1]), sin(q[1])), (number(0.0), number(0.0), q[0])
