"""The pictures of docs/viewer.md: the bundled robots, and an arm on its way.

python -m benchmarks.robot_figures     writes docs/figures/robot-*.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import condyle
from benchmarks.results import ROOT

FOLDER = ROOT / "docs" / "figures"
REACH = np.array([0.3, 0.6, 0.0, -1.2, 0.2, 0.9, 0.0])
LEGS = ("lf", "lh", "rf", "rh")
FOOT = (0.35, 0.0, 0.0)
"""Of HyQ, in the frame of a lower leg [m]."""


def iiwa14(folder: Path) -> None:
    condyle.load("iiwa14").show(REACH, file=folder / "robot-iiwa14.svg")


def trajectory(folder: Path) -> None:
    """Two seconds from the neutral configuration, at rest at both ends."""
    s = np.linspace(0.0, 1.0, 201)[:, None]
    q = REACH * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    layers = ("bodies", "links", "com")
    condyle.load("iiwa14").show(trajectory=q, dt=0.01, layers=layers, file=folder / "robot-trajectory.svg")


def hyq(folder: Path) -> None:
    """It stands, a quarter of the weight on each foot."""
    robot = condyle.load("hyq", floating_base=True)
    q = robot.neutral()
    for k, leg in enumerate(LEGS):
        sign = 1.0 if leg.endswith("f") else -1.0
        q[7 + 3 * k : 10 + 3 * k] = -0.15, 0.75 * sign, -1.5 * sign
    q[2] = -lowest_foot(robot, q)
    share = -0.25 * robot.mass * robot.gravity
    forces = {f"{leg}_lowerleg": share for leg in LEGS}
    points = dict.fromkeys(forces, FOOT)
    layers = ("bodies", "links", "axes", "com", "forces")
    robot.show(q, forces=forces, points=points, layers=layers, file=folder / "robot-hyq.svg")


def lowest_foot(robot: condyle.Robot, q: np.ndarray) -> float:
    """The height of the lowest foot at q [m]."""
    at = robot.compile("numpy", frames=[f"{leg}_lowerleg" for leg in LEGS]).frame_placements(q)
    return float((at.translation + at.rotation @ np.array(FOOT))[:, 2].min())


def atlas(folder: Path) -> None:
    robot = condyle.load("atlas", floating_base=True)
    robot.show(layers=("bodies", "links", "axes", "com"), file=folder / "robot-atlas.svg")


def main(folder: Path = FOLDER) -> None:
    for draw in (iiwa14, trajectory, hyq, atlas):
        draw(folder)


if __name__ == "__main__":
    main()
