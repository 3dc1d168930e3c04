"""The picture of docs/how-to/loops.md: a leg with rods and a four-bar swing, and how far their loops open.

python -m benchmarks.linkage_figure                    writes docs/figures/linkage.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from benchmarks.figures import pyplot, save
from benchmarks.results import ROOT

Array = NDArray[np.floating]
PATH = ROOT / "docs" / "figures" / "linkage.svg"
H, STEPS, EVERY = 1e-3, 10_000, 10
WAYS: Mapping[str, tuple[str, tuple[float, float]]] = {
    "Euler, no gains": ("semi_implicit_euler", (0.0, 0.0)),
    "Euler, 1e6 and 1e3": ("semi_implicit_euler", (1e6, 1e3)),
    "RK4, no gains": ("rk4", (0.0, 0.0)),
    "RK4, 100 and 20": ("rk4", (100.0, 20.0)),
}
"""Integrator, and kp, kd of every loop."""
MOMENTS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8)
BONES = {
    "thigh": ((0.0, 0.0), (0.2, -0.25)),
    "achilles": ((0.0, 0.0), (-0.13, -0.45)),
    "shin": ((0.0, 0.0), (-0.28, -0.27)),
    "tarsus": ((-0.07, 0.05), (0.21, -0.33)),
    "crank": ((0.0, 0.0), (0.05, 0.02)),
    "plantar": ((0.0, 0.0), (0.19, -0.25)),
    "foot": ((0.07, 0.04), (0.0, 0.0), (-0.08, -0.06), (0.1, -0.06)),
}
"""x and z of the ends of each body of examples/leg.xml, in its own frame [m]."""
RODS = ("achilles", "crank", "plantar")


def leg() -> tuple[condyle.Robot, Array]:
    """The robot, and where it is let go."""
    robot = condyle.load(ROOT / "examples" / "leg.xml")
    return robot, robot.close(robot.neutral() + 0.5 * np.eye(robot.nv)[0])


def swung(robot: condyle.Robot, q: Array, way: str) -> tuple[Array, Array]:
    """q (T, nq) after every 10 steps, and how far the loop that is open most is open [m]."""
    integrator, gains = WAYS[way]
    held = [replace(one, gains=gains) for one in robot.contacts]
    dyn: Any = robot.compile(contacts=held, integrator=integrator)
    path = dyn.rollout(q, np.zeros(robot.nv), np.zeros((STEPS, robot.nv)), H, every=EVERY).q
    errors = np.reshape(dyn.constraint_errors(path), (len(path), len(held), 3))
    return path, np.linalg.norm(errors, axis=-1).max(axis=-1)


def lines(robot: condyle.Robot, q: Array) -> dict[str, Array]:
    """x and z of the ends of each body at q, (k, 2)."""
    turns, places = robot.compile("numpy", frames=tuple(BONES)).frame_placements(q)
    ends = {name: np.array([(x, 0.0, z) for x, z in points]) for name, points in BONES.items()}
    return {name: (places[k] + ends[name] @ turns[k].T)[:, [0, 2]] for k, name in enumerate(BONES)}


def draw(path: Path) -> None:
    plots = pyplot()
    if plots is None:
        return
    robot, start = leg()
    figure, (above, below) = plots.subplots(2, 1, figsize=(8.0, 6.0), layout="constrained", height_ratios=(1.2, 1.0))
    time = H * EVERY * np.arange(1, STEPS // EVERY + 1)
    for way in WAYS:
        moved, opened = swung(robot, start, way)
        below.semilogy(time, np.maximum(opened, 1e-16), linewidth=1, label=way)
    for column, moment in enumerate(MOMENTS):
        q = start if moment == 0.0 else moved[round(moment / (H * EVERY)) - 1]
        for name, points in lines(robot, q).items():
            rod = name in RODS
            colour, width = ("#c8553d", 1.2) if rod else ("#1b6ca8", 2.5)
            above.plot(0.9 * column + points[:, 0], points[:, 1], color=colour, linewidth=width, zorder=2 + rod)
        above.annotate(f"{moment:g} s", (0.9 * column, 0.1), ha="center")
    above.set(aspect="equal", ylim=(-1.1, 0.2))
    above.set_title("a leg whose rods (red) close two loops, let go from rest", fontsize=10)
    above.axis("off")
    below.axhline(1e-6, color="#888888", linewidth=0.8, linestyle="--")
    below.set(xlabel="s", ylabel="open by, m", xlim=(0.0, time[-1]), ylim=(1e-14, 1e3))
    below.set_title("the loop that is open most, steps of 1 ms", fontsize=10)
    below.legend(frameon=False, ncols=4, fontsize=8, loc="upper center")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(plots, figure, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PATH)
    draw(parser.parse_args().out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
