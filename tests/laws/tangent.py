"""Small moves on the configuration space in any number type, for complex steps."""

from __future__ import annotations

import numpy as np

from condyle.model.robot import Robot

Array = np.ndarray


def tangent_map(robot: Robot, q: Array) -> Array:
    """T(q) (n, nq, nv): q moves by T(q) dv when the robot moves by a small local dv. Written by hand, type by type."""
    T = np.zeros((len(q), robot.nq, robot.nv))
    for joint in robot.joints:
        if joint.mimic is not None:
            continue
        x = q[:, joint.q_slice]
        block = T[:, joint.q_slice, joint.v_slice]
        if joint.type == "free":
            block[:, :3, :3] = turned(x[:, 3:])
            block[:, 3:, 3:] = quaternion_rate(x[:, 3:])
        elif joint.type == "spherical":
            block[...] = quaternion_rate(x)
        elif joint.type == "planar":
            c, s = np.cos(x[:, 2]), np.sin(x[:, 2])
            block[:, 0, 0], block[:, 0, 1], block[:, 1, 0], block[:, 1, 1] = c, -s, s, c
            block[:, 2, 2] = 1.0
        else:
            block[...] = np.eye(joint.nv)
    return T


def quaternion_rate(x: Array) -> Array:
    """The rate of a quaternion (x, y, z, w) for each local angular velocity: half of x (e, 0), (n, 4, 3)."""
    i, j, k, w = x.T
    rows = ((w, -k, j), (k, w, -i), (-j, i, w), (-i, -j, -k))
    return 0.5 * np.moveaxis(np.array(rows), -1, 0)


def turned(x: Array) -> Array:
    """The rotation matrix of a unit quaternion, child axes -> parent axes, (n, 3, 3)."""
    u, w = x[:, :3], x[:, 3]
    cross = np.zeros((len(x), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -u[:, 2], u[:, 1], -u[:, 0]
    cross -= np.swapaxes(cross, 1, 2)
    return np.eye(3) + 2.0 * w[:, None, None] * cross + 2.0 * cross @ cross
