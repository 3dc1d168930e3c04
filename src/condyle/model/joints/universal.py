"""Universal: two angles [rad] about two axes, the second carried by the first."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.errors import UnsupportedError
from condyle.model.joints.base import Column, JointType
from condyle.model.joints.revolute import Revolute
from condyle.scalar import Scalar
from condyle.spatial.rotation import Transform


class Universal(JointType):
    """q = [angle about the axis, angle about the second axis].

    Its motion subspace depends on q, so it has neither `subspace` nor `transform`: an algorithm sees two revolute
    joints in sequence, with a massless body between, the second without placement of its own:
    child in parent = placement · turn(axis, q[0]) · turn(second_axis, q[1]) · after.
    """

    name = "universal"
    nq, nv, axes = 2, 2, 2
    angles = (0, 1)
    parts = (Revolute(), Revolute())

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        raise UnsupportedError(_SPLIT)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        raise UnsupportedError(_SPLIT)


_SPLIT = "a universal joint has no constant motion subspace: split it into two revolute joints in sequence"
