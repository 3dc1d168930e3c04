"""Pictures of docs/how-to (viewer, drives): bundled robots, an arm on its way, an open and a closed four-bar.

python -m benchmarks.robot_figures     writes docs/figures/robot-*.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import condyle
from benchmarks.results import ROOT
from condyle.ground import Plane
from condyle.model.placement import Placement

FOLDER = ROOT / "docs" / "figures"
REACH = np.array([0.3, 0.6, 0.0, -1.2, 0.2, 0.9, 0.0])
LEGS = ("lf", "lh", "rf", "rh")
BARS = {"crank": 0.2, "coupler": 0.55, "rocker": 0.4}
"""Lengths [m]."""
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
    """It stands on level ground, a quarter of the weight on each foot."""
    robot = condyle.load("hyq", floating_base=True)
    q = robot.neutral()
    for k, leg in enumerate(LEGS):
        sign = 1.0 if leg.endswith("f") else -1.0
        q[7 + 3 * k : 10 + 3 * k] = -0.15, 0.75 * sign, -1.5 * sign
    q[2] = -lowest_foot(robot, q)
    forces = np.tile(-0.25 * robot.mass * robot.gravity, (len(LEGS), 1))
    layers = ("bodies", "links", "com", "contacts", "ground", "forces")
    file = folder / "robot-hyq.svg"
    robot.show(q, contacts=feet(), contact_forces=forces, ground=Plane(), layers=layers, file=file)


def feet() -> list[condyle.Contact]:
    """HyQ's, held as points."""
    return [condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy(FOOT)) for leg in LEGS]


def lowest_foot(robot: condyle.Robot, q: np.ndarray) -> float:
    """The height of the lowest foot at q [m]."""
    at = robot.compile("numpy", frames=[f"{leg}_lowerleg" for leg in LEGS]).frame_placements(q)
    return float((at.translation + at.rotation @ np.array(FOOT))[:, 2].min())


def four_bar() -> condyle.Robot:
    """A crank, a coupler and a rocker; the coupler's tip is held at a point of the rocker."""
    build = condyle.Builder("four-bar")
    for name, length in BARS.items():
        moments = np.diag((1e-4, length**3 / 6.0, length**3 / 6.0))
        build.body(name, mass=2.0 * length, com=(0.5 * length, 0.0, 0.0), inertia=moments)
    for name, parent, child, x in (
        ("a", "world", "crank", 0.0),
        ("b", "crank", "coupler", 0.2),
        ("c", "world", "rocker", 0.5),
    ):
        build.joint(name, parent=parent, child=child, type="revolute", axis=(0.0, -1.0, 0.0), xyz=(x, 0.0, 0.0))
    tip, end = (Placement.from_rpy((BARS[name], 0.0, 0.0)) for name in ("coupler", "rocker"))
    return build.contact("coupler", "point", other="rocker", placement=tip, anchor=end).build()


def linkage(folder: Path) -> None:
    """A guess, and behind it the state that `close` finds from it."""
    robot = four_bar()
    guess = np.array((1.0, -0.5, 1.2))
    states = np.stack([guess, robot.close(guess, fixed=["a"])])
    layers = ("links", "axes", "names", "contacts")
    robot.show(states, layers=layers, frames=(), spacing=0.4, file=folder / "robot-linkage.svg")


def atlas(folder: Path) -> None:
    robot = condyle.load("atlas", floating_base=True)
    robot.show(layers=("bodies", "links", "axes", "com"), file=folder / "robot-atlas.svg")


def limits(folder: Path) -> None:
    """HyQ's joints in the middle of their ranges."""
    robot = condyle.load("hyq")
    middle = 0.5 * (robot.lower + robot.upper)
    robot.show(middle, layers=("bodies", "links", "limits"), file=folder / "robot-limits.svg")


def main(folder: Path = FOLDER) -> None:
    for draw in (iiwa14, trajectory, hyq, linkage, atlas, limits):
        draw(folder)


if __name__ == "__main__":
    main()
