"""The policies that stand, in MuJoCo with all collision shapes of g1, steps of 2 ms and friction cones.

100 runs of 10 s each on a friction of 0.5 to 1. The same again with a push of 0.5 m/s in a direction of chance every
2 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.environments import trials
from experiments.environments.stand import ROWS as TRAINED
from experiments.environments.tasks import Stand

ROWS = tuple(row.replace("seed", "policy") for row in TRAINED)
QUICK = ROWS[:1]


def measure(row: str, quick: bool) -> dict[str, Any]:
    return trials.measured(Stand(), row, quick)


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {"Frictions and pushes of chance": trials.falls(rows)}
