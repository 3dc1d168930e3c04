"""A fit by Gauss-Newton, as a user writes it: the zeros of an arm's joints, of measured places of its flange."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from tests.jobs.robots import FLANGES

POSES, ARMS = 12, 100


def test_zeros_of_joints_are_found_of_measured_places() -> None:
    """Of many arms at once, each with its own zeros; exact places give exact zeros, to the last iteration's step."""
    robot, frame = condyle.load("iiwa14"), FLANGES["iiwa14"]

    def fit(at: Any, angles: Any, places: Any) -> dict[str, Any]:
        """One iteration; q: the zeros (nq), angles (POSES, nq): as read, places (POSES, 3) [m]."""
        rows, missing = list[Any](), list[Any]()
        for k in range(POSES):
            tip = at.moved_to(angles[k] + at.q, 0.0 * at.q).frame(frame)
            rows.append(tip.jacobian[:3])
            missing.append(places[k] - tip.translation)
        J, e = np.concatenate(rows), np.concatenate(missing)
        step = condyle.solve_symmetric(J.T @ J + 1e-9 * np.eye(7), J.T @ e)
        return {"q": at.q + step, "done": np.where(np.abs(step).max() < 1e-9, 1.0, 0.0), "error": e @ e}

    inputs = {"q": "nq", "angles": (POSES, "nq"), "places": (POSES, 3)}
    fitting = robot.function(fit, inputs, reference_frame="local_world_aligned").compile(threads=1)
    rng = np.random.default_rng(0)
    angles, zeros = robot.random_state(POSES, 1).q, rng.uniform(-0.1, 0.1, (ARMS, 7))
    zeros[:, 6] = 0.0  # the last joint turns about the flange's own origin
    dyn = robot.compile(frames=(frame,))
    places = dyn.frame_placements(angles + zeros[:, None]).translation[:, :, 0]
    found = fitting.iterate(np.zeros(7), angles, places, most=20)
    assert (found.done > 0.0).all() and found.iterations.max() <= 8
    assert np.abs(found.q - zeros)[:, :6].max() < 1e-8
