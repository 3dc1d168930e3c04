"""A step of first order as its equations say it, with matrices: what the library's steps are compared with."""

from __future__ import annotations

import numpy as np

from condyle import Robot
from condyle.specification.integrators import METHODS

Array = np.ndarray


def stepped(
    robot: Robot, q: Array, v: Array, a: Array, h: float | Array, integrator: str = "semi_implicit_euler"
) -> tuple[Array, Array]:
    """(q', v') of states (n, ...) with the acceleration a; h: one number, or (n,)."""
    moves_last, h = METHODS[integrator].moves_last, np.broadcast_to(np.asarray(h, float), len(q))[:, None]
    after = v + h * a
    q_after = robot.integrate(q, h * (after if moves_last else v))  # orientations and plain vectors
    for joint in robot.joints:
        if joint.mimic is not None or joint.type not in ("free", "planar"):
            continue
        at, is_free = joint.v_index, joint.type == "free"
        line = slice(at, at + 3 if is_free else at + 2)
        w, old = _turning(v, at, is_free), _padded(v[:, line])
        place = slice(joint.q_index, joint.q_index + (3 if is_free else 2))
        R, E = _axes(q, joint.q_index, is_free), rotation(h * (_turning(after, at, is_free) if moves_last else w))
        fixed = _padded(after[:, line]) + h * np.cross(w, old)
        way = np.einsum("nij,nj->ni", R, h * (fixed if moves_last else old))
        q_after[:, place] = q[:, place] + way[:, : 3 if is_free else 2]
        after[:, line] = np.einsum("nji,nj->ni", E, fixed)[:, : 3 if is_free else 2]
    return q_after, after


def rotation(w: Array) -> Array:
    """exp of the rotation vectors (n, 3), by Rodrigues."""
    angle = np.linalg.norm(w, axis=1)[:, None, None]
    k = np.zeros((len(w), 3, 3))
    k[:, 2, 1], k[:, 0, 2], k[:, 1, 0] = w.T
    k -= np.swapaxes(k, 1, 2)
    return np.eye(3) + np.sinc(angle / np.pi) * k + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * (k @ k)


def _turning(v: Array, at: int, is_free: bool) -> Array:
    """The angular velocity (n, 3) of a joint."""
    if is_free:
        return v[:, at + 3 : at + 6]
    return np.pad(v[:, at + 2 : at + 3], ((0, 0), (2, 0)))


def _padded(x: Array) -> Array:
    return np.pad(x, ((0, 0), (0, 3 - x.shape[1])))


def _axes(q: Array, at: int, is_free: bool) -> Array:
    """The rotation of a joint (n, 3, 3)."""
    if not is_free:
        return rotation(np.pad(q[:, at + 2 : at + 3], ((0, 0), (2, 0))))
    x, y, z, w = q[:, at + 3 : at + 7].T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
