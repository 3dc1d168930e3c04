"""g1 learns to stand and to step where it is pushed, by PPO of rsl_rl on one core: 2048 robots.

Every 2 s on average a robot is pushed by up to 0.8 m/s. The 29 joints are position servos: legs and waist of
150 N m/rad, ankles 100, arms 50, wrists 20. The corners of the soles are eight contacts. Frictions, inertias,
networks and times are as for the walk. "Stands after" is when less than one of a hundred robots falls in a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.environments import learner
from experiments.environments.tasks import Stand
from experiments.figure import Figure

SECONDS = 300.0
"""Of a training, processor time."""
FALLS = 0.01
"""In a second, of robots that stand."""
ROWS = tuple(f"g1 seed {seed}" for seed in range(2))
QUICK = ROWS[:1]


def measure(row: str, quick: bool) -> dict[str, Any]:
    return learner.measured(Stand(), row, SECONDS, quick)


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return learner.tables(rows, ROWS, "stands after, s", lambda point: point["falls"] < FALLS)


def figures(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    return learner.figures(rows, ROWS, "falls in a second", "falls")
