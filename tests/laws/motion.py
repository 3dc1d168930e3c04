"""Where bodies are and how they move, by finite differences of their poses: nothing of the algorithms is used."""

from __future__ import annotations

import numpy as np

from condyle.model.robot import Robot
from tests.model.kinematics import frames_at, matrix

Array = np.ndarray
STEP = 1e-5  # central differences: the error is its square, and 1e-16 over it


def body_poses(robot: Robot, q: Array) -> Array:
    """The pose of every body in the world, (n_bodies, 4, 4)."""
    frames = frames_at(robot, q)
    return np.array([matrix(frames[body.name]) for body in robot.bodies])


def twist(before: Array, at: Array, after: Array) -> Array:
    """Local [linear; angular] velocities of frames from their poses (..., 4, 4), two steps apart."""
    rate = np.linalg.inv(at) @ (after - before) / (2.0 * STEP)
    angular = np.stack((rate[..., 2, 1], rate[..., 0, 2], rate[..., 1, 0]), axis=-1)
    return np.concatenate((rate[..., :3, 3], angular), axis=-1)


def body_twists(robot: Robot, q: Array, v: Array) -> Array:
    """Local [linear; angular] velocity of every body's frame, (n_bodies, 6)."""
    ahead, behind = robot.integrate(q, STEP * v), robot.integrate(q, -STEP * v)
    return twist(body_poses(robot, behind), body_poses(robot, q), body_poses(robot, ahead))


def kinetic_energy(robot: Robot, q: Array, v: Array) -> float:
    """Bodies and rotors."""
    total = 0.0
    for body, motion in zip(robot.bodies, body_twists(robot, q, v), strict=True):
        linear, angular = motion[:3], motion[3:]
        speed = linear + np.cross(angular, body.com)
        total += 0.5 * body.mass * speed @ speed + 0.5 * angular @ body.inertia @ angular
    for joint in robot.joints:
        own = v[joint.v_slice] if joint.mimic is None else joint.mimic.multiplier * v[joint.v_index : joint.v_index + 1]
        total += 0.5 * float(joint.armature @ own**2)
    return total


def potential_energy(robot: Robot, q: Array) -> float:
    poses = body_poses(robot, q)
    centres = [pose[:3, :3] @ body.com + pose[:3, 3] for pose, body in zip(poses, robot.bodies, strict=True)]
    return -sum(body.mass * float(robot.gravity @ c) for body, c in zip(robot.bodies, centres, strict=True))
