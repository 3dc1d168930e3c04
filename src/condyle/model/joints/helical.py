"""Helical: a screw, one angle [rad] about z that also moves `pitch` metres per radian along z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from condyle.model.joints.base import Column, FlatSpace, Z
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Helical(FlatSpace):
    """q = [angle about z, rad]; the origin moves to pitch q along z; nq = nv = 1."""

    name: str = "helical"
    axes: int = 1
    spread = (np.pi,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (((number(0.0), number(0.0), cast(Scalar, pitch)), Z),)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        return AboutZ(cos(q[0]), sin(q[0])), (number(0.0), number(0.0), q[0] * pitch)
