"""Where a body stands when its joint has a given value, in numbers."""

from __future__ import annotations

import numpy as np

from condyle.model.array import Array, transpose
from condyle.model.parts import Joint
from condyle.model.placement import Placement, about, alignment
from condyle.scalar import number
from condyle.spatial.vector import IDENTITY_MATRIX


def pose(joint: Joint, q: Array) -> Placement:
    """Placement of the joint's body in its parent body (or the world) at q (kind.nq,)."""
    return joint.placement.compose(motion(joint, q)).compose(joint.after)


def motion(joint: Joint, q: Array) -> Placement:
    """Placement of the moved joint frame in the joint frame at q (kind.nq,)."""
    if joint.second_axis is not None:
        turned = about(joint.axis, float(q[0])) @ about(joint.second_axis, float(q[1]))
        return Placement(turned, np.zeros(3))
    values = [number(x) for x in q.tolist()]
    rotation, origin = joint.kind.transform(values, joint.pitch)
    turn = np.array([rotation.into(axis) for axis in IDENTITY_MATRIX], dtype=np.float64)
    aligned = alignment(joint.axis)
    return Placement(aligned @ turn @ transpose(aligned), aligned @ np.array(origin, dtype=np.float64))
