"""An Allegro hand in MuJoCo: the tips of four fingers draw circles, and must not come near each other.

16 joints with limits of torque, position and speed; 50 knots of 10 ms. The circles of neighbours overlap, so that tips
on them would meet: distances of tips are rows of "below". The loop is that of `fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl
from experiments.whole.fixed import Run, error_mm, table_of

Array = NDArray[np.floating]

TIPS = tuple(f"link_{k}.0_tip" for k in (3, 7, 11, 15))
POSTURE = np.array([0.0, 0.8, 0.6, 0.5] * 3 + [0.9, 0.4, 0.5, 0.5])
KNOTS, H = 50, 0.01
RADIUS, ROUND = 0.02, 1.0
"""Of a circle [m], and seconds in which a tip draws it."""
APART = 0.03
"""Of the centres of two tips, at least [m]."""
SECONDS = 5.0
ROWS = ("fingertips",)
QUICK = ROWS


def hand() -> condyle.Robot:
    """With the motors' armatures; the file's damping and friction of joints are not a model's."""
    robot = condyle.load("allegro")
    return robot.with_drives(
        dict.fromkeys(robot.joint_names, condyle.Drive(rotor_inertia=1e-3, effort=0.7, velocity=7.0))
    )


def problem(robot: condyle.Robot) -> OptimalControl:
    def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [*state(at, goal), 0.05 * (u - at.generalized_gravity())], "below": near(at)}

    def last(at: Any, goal: Any) -> dict[str, Any]:
        return {"residual": state(at, goal), "below": near(at)}

    def tips(at: Any) -> list[Any]:
        return [at.frame(name).translation for name in TIPS]

    def state(at: Any, goal: Any) -> list[Any]:
        misses = [30.0 * (tip - goal[3 * k : 3 * k + 3]) for k, tip in enumerate(tips(at))]
        return [*misses, 0.1 * (at.q - POSTURE), 0.05 * at.v]

    def near(at: Any) -> Any:
        return np.stack([(APART - np.linalg.norm(x - y)) / APART for x, y in combinations(tips(at), 2)])

    bounds = {"u": True, "q": True, "v": True}
    return OptimalControl(
        robot, running, last, knots=KNOTS, dt=H, inputs={"goal": 12}, by_knot=("goal",), bounds=bounds
    )


def measure(row: str, quick: bool) -> dict[str, Any]:
    """The approach first, then five circles (0.3 s where quick)."""
    robot = hand()
    dynamics = robot.compile(threads=1, frames=TIPS)
    middle = dynamics.frame_placements(POSTURE).translation

    def circles(t: Array) -> Array:
        """In the plane of y and z, neighbours against each other."""
        angle = 2.0 * np.pi * np.asarray(t)[..., None] / ROUND
        turn = np.array([1.0, -1.0, 1.0, -1.0])
        across = np.stack([0.0 * angle * turn, turn * np.cos(angle), np.sin(angle) * np.ones(4)], axis=-1)
        return (middle + RADIUS * across).reshape(*np.shape(t), 12)

    def near(q: Array, v: Array) -> bool:
        miss = dynamics.frame_placements(q).translation - circles(np.array(0.0)).reshape(4, 3)
        return bool(np.abs(miss).max() < 0.015 and np.abs(v).max() < 0.2)

    run = Run(robot, problem(robot), POSTURE, circles, near)
    answer = run.measured(0.3 if quick else SECONDS)
    places = dynamics.frame_placements(np.array(run.states)).translation
    wanted = circles(np.array(run.courses)).reshape(-1, 4, 3)
    between = [np.linalg.norm(places[:, i] - places[:, j], axis=1).min() for i, j in combinations(range(4), 2)]
    wishes = [np.linalg.norm(wanted[:, i] - wanted[:, j], axis=1).min() for i, j in combinations(range(4), 2)]
    answer |= {"error_mm": error_mm(places, wanted), "least_distance_mm": float(1e3 * min(between))}
    return {**answer, "wanted_distance_mm": float(1e3 * min(wishes))}


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {"The loop": table_of(rows, ROWS)}
