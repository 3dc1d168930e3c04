"""How bodies are turned at many states at once."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import Array, transpose
from condyle.model.joints.lie import components
from condyle.model.parts import Joint, RobotData
from condyle.model.placement import alignment
from condyle.spatial.vector import IDENTITY_MATRIX


def orientation(robot: RobotData, body: int, q: Array) -> Array:
    """The axes of a body in the world, as columns, (..., 3, 3), at q (..., nq)."""
    turned: Array = np.eye(3)
    while body >= 0:
        joint = robot.joints[body]
        turned = joint.placement.rotation @ _turn(joint, _joint_q(joint, q)) @ joint.after.rotation @ turned
        body = joint.parent
    return np.broadcast_to(turned, (*q.shape[:-1], 3, 3))


def _joint_q(joint: Joint, q: Array) -> Array:
    """The joint's own configuration, (..., kind.nq)."""
    if joint.mimic is None:
        return q[..., joint.q_slice]
    return joint.mimic.multiplier * q[..., joint.q_index : joint.q_index + 1] + joint.mimic.offset


def _turn(joint: Joint, q: Array) -> NDArray[np.float64]:
    """The axes of the moved joint frame in the joint frame, (..., 3, 3)."""
    parts, axes, turned = joint.kind.parts or (joint.kind,), (joint.axis, joint.second_axis), np.eye(3)
    entries = components(q)
    for part, axis in zip(parts, axes, strict=False):
        own, entries = entries[: part.nq], entries[part.nq :]
        rotation = part.transform(own, joint.pitch).rotation
        columns = [[np.broadcast_to(cast(Array, x), q.shape[:-1]) for x in rotation.into(e)] for e in IDENTITY_MATRIX]
        aligned = alignment(np.eye(3)[2] if axis is None else axis)
        turned = turned @ aligned @ np.moveaxis(np.array(columns, np.float64), (0, 1), (-2, -1)) @ transpose(aligned)
    return turned
