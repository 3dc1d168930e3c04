"""A screw that also slides: an angle [rad] about z and a displacement [m] along z."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints.base import LINEAR, Column, JointType
from condyle.model.joints.one_axis import Helical
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Transform


class Drill(JointType):
    """q = [angle, displacement]; the origin moves to pitch q_0 + q_1 along z."""

    name = "drill"
    nq, nv, axes = 2, 2, 1
    has_pitch = True
    angles = (0,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return Helical().subspace(pitch)[0], LINEAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[0]), sin(q[0])), (number(0.0), number(0.0), pitch * q[0] + q[1]))
