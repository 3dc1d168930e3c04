"""Where every frame of a robot stands, from `pose` alone."""

from __future__ import annotations

import numpy as np

from condyle.model.change import pose
from condyle.model.parts import RobotData
from condyle.model.placement import IDENTITY, Placement


def joint_values(robot: RobotData, q: np.ndarray) -> list[np.ndarray]:
    """Each joint's own configuration, mimics resolved."""
    values = []
    for joint in robot.joints:
        if joint.mimic is None:
            values.append(q[joint.q_slice])
        else:
            values.append(joint.mimic.multiplier * q[joint.q_index : joint.q_index + 1] + joint.mimic.offset)
    return values


def frames_at(robot: RobotData, q: np.ndarray) -> dict[str, Placement]:
    """The placement of every frame in the world."""
    bodies: dict[int, Placement] = {-1: IDENTITY}
    for i, (joint, value) in enumerate(zip(robot.joints, joint_values(robot, q), strict=True)):
        bodies[i] = bodies[joint.parent].compose(pose(joint, value))
    return {name: bodies[frame.body].compose(frame.placement) for name, frame in robot.frames.items()}


def matrix(placement: Placement) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = placement.rotation, placement.translation
    return out


def relative(frames: dict[str, Placement], base: str) -> dict[str, np.ndarray]:
    """Every frame as seen from one of them."""
    back = np.linalg.inv(matrix(frames[base]))
    return {name: back @ matrix(place) for name, place in frames.items()}


def centre_of_mass(robot: RobotData, q: np.ndarray) -> tuple[float, np.ndarray]:
    """Total mass and its centre in the world, what is fixed to the world included."""
    frames = frames_at(robot, q)
    parts = [(body.mass, frames[body.name].apply(body.com)) for body in robot.bodies]
    if robot.base is not None:
        parts.append((robot.base.mass, robot.base.com))
    mass = sum(m for m, _ in parts)
    return mass, sum(m * c for m, c in parts) / mass
