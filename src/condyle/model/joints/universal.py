"""Universal: two angles [rad] about two axes, the second carried by the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.joints.base import Column, FlatSpace
from condyle.scalar import Scalar
from condyle.spatial.rotation import Rotation
from condyle.spatial.vector import Vector


@dataclass(frozen=True, slots=True)
class Universal(FlatSpace):
    """q = [angle about the axis, angle about the second axis]; nq = nv = 2.

    Its motion subspace depends on q, so it has neither `subspace` nor `transform`: an algorithm sees two revolute
    joints in sequence, with a massless body between, the second without placement of its own:
    child in parent = placement · turn(axis, q[0]) · turn(second_axis, q[1]) · after.
    """

    name: str = "universal"
    axes: int = 2
    spread = (np.pi, np.pi)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        raise UnsupportedError(_SPLIT)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        raise UnsupportedError(_SPLIT)


_SPLIT = "a universal joint has no constant motion subspace: split it into two revolute joints in sequence"
