"""Controllers with limits, to use, to read and to change: each is a user's function of one state.

    f = robot.function(partial(operational_space, frame="tool0", effort=robot.effort), OPERATIONAL_SPACE, **AXES)
    tau = f.compile()(q, v, rotation, translation).tau

What a controller wants is a sum of squares, what must hold are limits, and `condyle.qp` solves that. Copy one into your
program where it does not fit: it needs nothing else of this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike

from condyle.symbolic.linear import solve_symmetric
from condyle.user.quadratic_program import qp

np: Any = numpy  # of symbols, which NumPy's types do not know
AXES: dict[str, Any] = {"reference_frame": "local_world_aligned"}
"""Velocities, accelerations and forces are in the axes of the world."""
OPERATIONAL_SPACE = {"q": "nq", "v": "nv", "rotation": (3, 3), "translation": 3}
WHOLE_BODY = {"q": "nq", "v": "nv", "base": 6, "feet": ("n_feet", 3), "active": "n_feet"}
"""Inputs of the controllers; n_feet: sizes={"n_feet": 4} of a quadruped."""
PYRAMID = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def operational_space(
    state: Any,
    rotation: Any,
    translation: Any,
    frame: str,
    effort: ArrayLike,
    stiffness: float = 100.0,
    damping: float = 20.0,
    posture: ArrayLike | None = None,
    share: float = 1e-2,
) -> dict[str, Any]:
    """Torques that bring a frame of an arm to a pose, as near as their limits allow.

    With M a = tau - h the frame accelerates by J a + J' v, to be w = stiffness (goal - pose) - damping velocity;
    where J leaves it free, tau is to be t = h + M (stiffness (posture - q) - damping v):

        min |J a + J' v - w|^2 by (J M^-1 J^T)^-1  +  share |tau - t|^2 by M^-1,    |tau| <= effort.

    By these matrices each direction of the task counts 1 / share times as much as it does in the posture.
    rotation (3, 3), translation (3) [m]: the goal. frame: which one. effort (nv) [N m, N]: limits of tau. stiffness
    [1/s^2], damping [1/s]. posture (nq) [rad, m]: of joints whose q is a plain vector; None: no motion beside the task.
    It answers tau (nv), residual and status of `condyle.qp`. Source: Khatib 1987.
    """
    tip, Minv, h, limit = state.frame(frame), state.mass_matrix_inverse(), state.nonlinear_effects(), np.asarray(effort)
    turn = rotation @ tip.rotation.T
    sine = 0.5 * np.stack([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    error = np.concatenate([translation - tip.translation, sine])
    wanted = stiffness * error - damping * tip.velocity - tip.jacobian_time_derivative @ state.v
    way = 0.0 if posture is None else np.asarray(posture) - state.q
    task = tip.jacobian @ Minv
    inertia = task @ tip.jacobian.T
    inertia = inertia + 1e-5 * np.trace(inertia) * np.eye(6)  # where the arm is singular
    by = solve_symmetric(inertia, np.column_stack([task, wanted + task @ h]))
    H = task.T @ by[:, :-1] + share * Minv
    pull = task.T @ by[:, -1] + share * (Minv @ h + stiffness * way - damping * state.v)
    best = qp(H * np.outer(limit, limit), -pull * limit, box=(-np.ones(len(limit)), np.ones(len(limit))))
    return {"tau": best.x * limit, "residual": best.residual, "status": best.status}


def whole_body(
    state: Any,
    base: Any,
    feet: Any,
    active: Any,
    frames: Sequence[str],
    effort: ArrayLike,
    friction: float = 0.6,
    largest: float = 600.0,
    little: float = 3e-7,
) -> dict[str, Any]:
    """Torques of a legged robot on a floating base, whose feet of three joints each push within friction pyramids.

    Feet accelerate as told, so that the joints of each leg follow from the base, and the base from the forces f by the
    first six rows of M a + h = S^T tau + J^T f; a = A f + c. The program is in f alone:

        min |a_base - base|^2 + little |f|^2,   |f_x|, |f_y| <= friction f_z,   0 <= f_z <= largest,   |tau| <= effort.

    base (6) [m/s^2, rad/s^2]: acceleration, in the entries of v. feet (n, 3) [m/s^2]: of each foot, 0 of one that
    stands. active (n): 1 for a foot that may push, 0 for one in the air, which pushes with 1 N at the most. frames: the
    feet. effort (nv) [N m]: limits of tau, those of the base left out. largest [N]. The ground is level.
    It answers tau (nv), 0 for the base, force (n, 3) [N] of the ground on each foot, acceleration (nv), residual and
    status of `condyle.qp`. It is not finite where a leg is stretched: no joint moves its foot outwards then.
    Source: Righetti, Buchli, Mistry, Kalakrishnan, Schaal 2013; the elimination is written for three joints a foot.
    """
    M, h, n = state.mass_matrix(), state.nonlinear_effects(), 3 * len(frames)
    root, force = M[:6, :6], -h[:6]
    legs, pushes = list[Any](), list[Any]()
    for k, name in enumerate(frames):
        foot, own = state.frame(name), leg_of(state.robot, name)
        J = foot.jacobian[:3]
        free = feet[k] - foot.jacobian_time_derivative[:3] @ state.v
        X = np.linalg.solve(J[:, own], np.column_stack([-J[:, :6], free]))  # a of the leg: X [a of the base; 1]
        root, force = root + M[:6, own] @ X[:, :6], force - M[:6, own] @ X[:, 6]
        legs.append((own, X))
        pushes.append(J)
    push = np.concatenate(pushes)
    solved = np.linalg.solve(root, np.column_stack([push[:, :6].T, force]))  # a of the base by [f; 1]
    rows: dict[int, Any] = {k: solved[k] for k in range(6)}
    for own, by in legs:
        rows |= zip(own, by[:, :6] @ solved + np.column_stack([np.zeros((3, n)), by[:, 6]]), strict=True)
    a = np.stack([rows[k] for k in range(len(h))])
    torque = M[6:] @ a + np.column_stack([-push[:, 6:].T, h[6:]])  # tau of the legs by [f; 1]
    limit, pyramid = np.asarray(effort, np.float64)[6:], np.zeros((4 * len(frames), n))
    for k in range(len(frames)):
        pyramid[4 * k : 4 * k + 4, 3 * k : 3 * k + 3] = np.column_stack([PYRAMID, -friction * np.ones(4)])
    up = np.concatenate([np.stack([np.inf, np.inf, 1.0 + (largest - 1.0) * active[k]]) for k in range(len(frames))])
    best = qp(
        solved[:, :n].T @ solved[:, :n] + little * np.eye(n),
        solved[:, :n].T @ (solved[:, n] - base),
        np.concatenate([torque[:, :n], pyramid]),
        np.concatenate([-limit - torque[:, n], np.full(len(pyramid), -np.inf)]),
        np.concatenate([limit - torque[:, n], np.zeros(len(pyramid))]),
        box=(np.tile([-np.inf, -np.inf, 0.0], len(frames)), up),
    )
    return {
        "tau": np.concatenate([np.zeros(6), torque[:, :n] @ best.x + torque[:, n]]),
        "force": best.x.reshape(-1, 3),
        "acceleration": a[:, :n] @ best.x + a[:, n],
        "residual": best.residual,
        "status": best.status,
    }


def leg_of(robot: Any, frame: str) -> list[int]:
    """The entries of v that move a frame against the root link."""
    body, own = robot.frames[frame].body, list[int]()
    while body > 0:
        joint = robot.joints[body]
        body, own = joint.parent, [*range(joint.v_slice.start, joint.v_slice.stop), *own]
    return own
