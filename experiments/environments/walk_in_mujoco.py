"""The policies that walk, in MuJoCo with all collision shapes of go2, steps of 2 ms and friction cones.

Policies are those of experiments/results/policies; they were not trained there. Straight on, they follow four speeds on
three frictions: the mean speed of the 8 s after the first 2 s, over the command. Then 100 runs of 10 s each: a command
of 0.25 to 1 m/s forward, up to 0.3 m/s to a side and 0.5 rad/s, and a friction of 0.5 to 1. The same again with a push
of 0.5 m/s in a direction of chance every 2 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.environments import trials
from experiments.environments.tasks import Walk
from experiments.environments.walk import ROWS as TRAINED

ROWS = tuple(row.replace("seed", "policy") for row in TRAINED)
QUICK = ROWS[:1]


def measure(row: str, quick: bool) -> dict[str, Any]:
    return trials.measured(Walk(), row, quick)


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {"Straight on: speed over command, less 1, %": trials.speeds(rows), "Commands of chance": trials.falls(rows)}
