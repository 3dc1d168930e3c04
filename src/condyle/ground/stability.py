"""How long a step of semi-implicit Euler may be on a spring-damper ground.

Small motions x of M x'' + B x' + K x = 0, K and B symmetric and not negative, step by step v' = v - h M^-1 (K x + B v),
x' = x + h v'. Along any mode with masses m, b, k the step is stable where h^2 k + 2 h b < 4 m (Jury's conditions of
z^2 - (2 - h^2 k/m - h b/m) z + 1 - h b/m), so it is where all eigenvalues of L (h^2 K + 2 h B) are below 4, with
L = J M^-1 J^T, what forces at the feet accelerate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from condyle.errors import ShapeError
from condyle.ground.feet import Foot
from condyle.model.change import carrier
from condyle.model.unapplied import without_notes
from condyle.symbolic.entries import numpy as np

if TYPE_CHECKING:
    from condyle.api import Robot

NEVER = 1e6
"""Seconds: a step that is this long has no limit."""


def longest_step(
    robot: Robot, feet: Sequence[Foot], q: ArrayLike, stiffness: float, damping: tuple[float, float, float]
) -> float:
    """The largest h [s]; stiffness [N/m] upwards, damping [N s/m] along the world's axes, of each foot.

    Infinite where the ground cannot move the robot: no foot goes up and down, and none is damped.
    """
    if np.shape(q) != (robot.nq,):
        raise ShapeError(f"longest_step: q has shape {np.shape(q)}, expected {(robot.nq,)}: one state")
    for foot in feet:
        carrier(robot, foot.frame, "no ground can push it; name a frame of a moving body")
    names = tuple(dict.fromkeys(foot.frame for foot in feet))
    dynamics = without_notes(robot).compile("numpy", frames=names, reference_frame="local_world_aligned")
    jacobians: Any = dynamics.frame_jacobians(q)
    turns = dynamics.frame_placements(q).rotation
    rows: list[Any] = []
    for foot in feet:
        k = names.index(foot.frame)
        arm = turns[k] @ np.asarray(foot.point)
        rows.append(jacobians[k, :3] + np.cross(jacobians[k, 3:].T, arm).T)
    J: Any = np.concatenate(rows)
    L = J @ dynamics.mass_matrix_inverse(q) @ J.T
    b = np.tile(np.asarray(damping, np.float64), len(feet))
    k = np.tile((0.0, 0.0, float(stiffness)), len(feet))
    low, high = 0.0, 1.0
    while _largest(L, k, b, high) < 4.0:
        low, high = high, 2.0 * high
        if high > NEVER:
            return float("inf")
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _largest(L, k, b, middle) < 4.0 else (low, middle)
    return low


def _largest(L: Any, k: Any, b: Any, h: float) -> float:
    """The largest eigenvalue of L D, D diagonal, as that of a symmetric matrix."""
    root = np.sqrt(h * h * k + 2.0 * h * b)
    return float(np.linalg.eigvalsh(root[:, None] * L * root)[-1])
