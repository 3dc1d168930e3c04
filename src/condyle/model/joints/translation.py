"""Translation: three displacements [m] along the axes of the joint frame."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints.base import LINEAR, Column, JointType
from condyle.scalar import Scalar
from condyle.spatial.rotation import Identity, Transform


class Translation(JointType):
    """q = [x y z]; the child never turns."""

    name = "translation"
    nq, nv = 3, 3

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(Identity(), (q[0], q[1], q[2]))
