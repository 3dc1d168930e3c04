"""Inverse kinematics of many targets at once: damped least squares on the pose of a flange."""

from __future__ import annotations

import numpy as np

import condyle

N, STEPS = 1000, 60
robot = condyle.load("iiwa14")
dyn = robot.compile(frames=("iiwa_link_7",))
wanted = dyn.frame_placements(robot.random_state(N, 1).q)  # poses that can be reached
R_goal, p_goal = wanted.rotation[:, 0], wanted.translation[:, 0]


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Axis times angle of rotations (N, 3, 3)."""
    sine = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1)
    length = np.linalg.norm(sine, axis=-1)
    angle = np.arctan2(length, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    return sine * (angle / np.maximum(length, 1e-12))[:, None]


def error(q: np.ndarray) -> np.ndarray:
    """What leads from the flange to its goal (N, 6), linear then angular, in the flange's own axes as J is."""
    R, p = (part[:, 0] for part in dyn.frame_placements(q))
    back = R.swapaxes(-1, -2)
    linear = (back @ (p_goal - p)[..., None])[..., 0]
    return np.concatenate((linear, rotation_vector(back @ R_goal)), axis=-1)


def size(miss: np.ndarray) -> np.ndarray:
    return np.linalg.norm(miss, axis=-1)


q = robot.random_state(N, 0).q
damping = np.full(N, 1e-2)
miss = error(q)
for _ in range(STEPS):
    J = dyn.frame_jacobians(q)[:, 0]
    A = J @ J.swapaxes(-1, -2) + damping[:, None, None] * np.eye(6)
    dv = (J.swapaxes(-1, -2) @ np.linalg.solve(A, miss[..., None]))[..., 0]
    ahead = dyn.integrate(q, dv)
    left = error(ahead)
    better = size(left) < size(miss)  # a step that does not reduce the error is made shorter
    q, miss = np.where(better[:, None], ahead, q), np.where(better[:, None], left, miss)
    damping *= np.where(better, 0.3, 4.0)

found = size(miss) < 1e-6
print(f"{found.sum()} of {N} targets reached to 1e-6 (m and rad) from random configurations, joint limits aside")
assert found.mean() > 0.9
