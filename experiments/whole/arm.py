"""The figure of eight of an iiwa14 in MuJoCo, one iteration in each millisecond; and the same among spheres.

Curve, horizon and weights are those of plancher2021/figure_eight.py, but the plan has gravity and torque limits; the
loop is that of `fixed`. Three spheres stand in the way, two of them on the curve. Four spheres around links must not
touch them: distances are rows of "below", with 5 mm to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl
from experiments.plancher2021 import figure_eight as figure
from experiments.plancher2021.figure_eight import INTERVALS, LOOP, NEAR, START, WEIGHTS, H, figure_eight
from experiments.whole.fixed import Run, error_mm, table_of

Array = NDArray[np.floating]

LINKS = (("iiwa_link_4", 0.08), ("iiwa_link_5", 0.07), ("iiwa_link_6", 0.07), ("iiwa_link_7", 0.05))
"""Spheres about the origins of frames, and their radii [m]."""
OBSTACLES = ((0.6556, 0.212, 0.288), (0.62, -0.212, 0.684), (0.45, 0.0, 0.82))
RADII = (0.06, 0.06, 0.05)
"""Of the spheres that stand there; the first two are in the way of the tip, the third in that of the links."""
MARGIN, UNIT = 0.005, 0.05
"""What plans keep away [m], and the unit of a distance in limits [m]."""
ROWS = ("figure eight", "figure eight among spheres")
QUICK = (ROWS[0],)


def problem(robot: condyle.Robot, among: bool) -> OptimalControl:
    def limited(at: Any, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | ({"below": near(at)} if among else {})

    def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        effort = WEIGHTS[3] * (u - at.generalized_gravity())
        return limited(at, {"residual": [*figure.last(at, goal)["residual"], effort]})

    def last(at: Any, goal: Any) -> dict[str, Any]:
        return limited(at, figure.last(at, goal))

    def near(at: Any) -> Any:
        rows = list[Any]()
        for name, radius in LINKS:
            for place, size in zip(OBSTACLES, RADII, strict=True):
                distance = np.linalg.norm(at.frame(name).translation - np.array(place))
                rows.append((radius + size + MARGIN - distance) / UNIT)
        return np.stack(rows)

    return OptimalControl(robot, running, last, knots=INTERVALS, dt=H, inputs={"goal": 3}, by_knot=("goal",))


def measure(row: str, quick: bool) -> dict[str, Any]:
    """The approach first, then one figure of eight (0.3 s of it where quick)."""
    among, robot = row == ROWS[1], condyle.load("iiwa14")
    dynamics = robot.compile(threads=1, frames=tuple(name for name, _ in LINKS))

    def near(q: Array, v: Array) -> bool:
        miss = np.linalg.norm(dynamics.frame_placements(q).translation[-1] - figure_eight(np.array(0.0)))
        return bool(miss < NEAR["m"] and np.linalg.norm(v) < NEAR["rad/s"])

    run = Run(robot, problem(robot, among), START, figure_eight, near)
    answer = run.measured(0.3 if quick else LOOP)
    places = dynamics.frame_placements(np.array(run.states)).translation
    answer["error_mm"] = error_mm(places[:, -1], figure_eight(np.array(run.courses)))
    if among:
        gaps = np.linalg.norm(places[:, :, None] - np.array(OBSTACLES), axis=3) - np.array(RADII)
        answer["least_distance_mm"] = float(1e3 * (gaps - np.array([radius for _, radius in LINKS])[:, None]).min())
    return answer


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {"The loop": table_of(rows, ROWS)}
