"""The pictures of docs/tutorials/quadruped.md, from the results: learning curves, and a go2 that walks in MuJoCo.

python -m experiments.environments.pictures     writes docs/figures/walk-curves.svg and robot-walk.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.results import ROOT
from experiments import runner
from experiments.environments import walk
from experiments.environments.tasks import PERIOD, Policy, Walk, policy_file
from experiments.environments.trials import Trial
from experiments.figure import svg

FOLDER = ROOT / "docs" / "figures"
SPEED, FROM, TO = 1.0, 4.0, 5.6
"""What the robot follows [m/s], and which part of its way is drawn [s]."""


def curves(folder: Path) -> None:
    """The error of velocities of each seed over the processor time."""
    title, figure = next(iter(walk.figures(runner.kept(runner.path("environments", False))["walk"]).items()))
    (folder / "walk-curves.svg").write_bytes(svg(title, figure))


def strip(folder: Path) -> None:
    """Five moments."""
    task = Walk()
    trial = Trial(task, Policy.read(policy_file(task, walk.ROWS[0])), 0.8, command=np.array([SPEED, 0.0, 0.0]))
    trial.run(TO)
    q = np.array([q for q, _ in trial.states[round(FROM / PERIOD) :]])
    layers = ("bodies", "links", "com")
    task.robot.show(trajectory=q, dt=PERIOD, layers=layers, file=folder / "robot-walk.svg", view="side")


def main(folder: Path = FOLDER) -> None:
    for draw in (curves, strip):
        draw(folder)


if __name__ == "__main__":
    main()
