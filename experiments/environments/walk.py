"""go2 learns to follow velocities, by PPO of rsl_rl on one core: 2048 robots, five seeds.

Commands are 0 to 1.1 m/s forward, 0.3 m/s to the sides, 0.5 rad/s; of the episodes 10 % stand and 30 % go straight on.
Frictions are 0.4 to 1.2, inertias 10 % off, and every 4 s on average a robot is pushed by up to 1 m/s. Networks of
policy and values have 128 and 128 units. Times are of the processor, on one thread; the machine did other work
beside. "Walks after" is when the error of velocities, of all robots and commands, with the noise of exploration, is
first below 0.15 m/s. The environment's share is that of its steps in the processor time of the training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.environments import learner
from experiments.environments.tasks import Walk
from experiments.figure import Figure

SECONDS = 180.0
"""Of a training, processor time."""
WALKS = 0.15
"""An error of velocities [m/s] of robots that walk."""
ROWS = tuple(f"go2 seed {seed}" for seed in range(5))
QUICK = ROWS[:1]


def measure(row: str, quick: bool) -> dict[str, Any]:
    return learner.measured(Walk(), row, SECONDS, quick)


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return learner.tables(rows, ROWS, "walks after, s", lambda point: point["error"] < WALKS)


def figures(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    return learner.figures(rows, ROWS, "error of velocities, m/s", "error")
