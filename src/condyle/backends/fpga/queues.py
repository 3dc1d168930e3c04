"""The queues between arrays: what waits where, for whom, how many words it holds.

A task takes a credit of the queue ahead before it starts towards it, so no array ever has to stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.tasks import BIAS, COLUMNS, INVERSE, SOLVED, STAGE, STEP, TRIG, Leaf

ROOM = 4
"""Places beyond those that a full pipeline fills."""
TURN = 2
"""Cycles from a word's arrival in a queue until the next task can have its place."""
ENTRY, MERGED = 2, 4
"""Depths where tasks come in and where results go out."""
NAMES = {BIAS: "c", COLUMNS: "dtau", INVERSE: "inverse", SOLVED: "back", STAGE: "round"}
"""Where the words of a group wait that go on."""


@dataclass(frozen=True)
class Queue:
    """Where the words of a group wait under these codes; is_result: to leave. counted: as many tasks are in its loop as
    it holds words, so none takes a credit of its own."""

    name: str
    leaf: Leaf
    codes: tuple[int, ...]
    is_result: bool = False
    counted: bool = False


def queues(plan: Plan) -> dict[str, list[Queue]]:
    """Of each array the queues that its results wait in; what a second pass or a next stage needs is counted."""
    found: dict[str, list[Queue]] = {}
    for array, path in plan.datapaths.items():
        ways: list[Queue] = []
        for leaf in (Leaf(array, group) for group, _ in path.groups):
            here, steps = plan.leaving(leaf), plan.leaving(STEP) if leaf == SOLVED else []
            on = [code for code in plan.through(leaf) if code not in (*here, *steps)]
            if leaf == TRIG:
                ways += [_into(plan, name) for name in fed_by_trig(plan)]
                continue
            if here:
                name = array if len(path.groups) == 1 or leaf == STEP else "_".join(leaf)
                ways.append(Queue(f"out_{name}", leaf, tuple(here), is_result=True))
            if on:
                ways.append(Queue(NAMES[leaf], leaf, tuple(on), counted=leaf in (SOLVED, STAGE)))
            if steps:
                ways.append(Queue("solved", leaf, tuple(steps)))
        found[array] = ways
    return found


def fed_by_trig(plan: Plan) -> list[str]:
    return [name for name in ("dynamics", "mass") if name in plan.datapaths]


def _into(plan: Plan, array: str) -> Queue:
    groups = plan.datapaths[array].groups
    codes = {code for group, _ in groups for code in plan.through(Leaf(array, group))}
    return Queue(f"{array}_in", TRIG, tuple(sorted(codes)))


def depths(plan: Plan, ii: int, tap: Callable[[Leaf], int]) -> Mapping[str, int]:
    """Places of each queue by name. tap: when a group leaves its array."""
    trig, c, inverse, dtau, solve = map(tap, (TRIG, BIAS, INVERSE, COLUMNS, SOLVED))
    net = trig + max(c, inverse)
    waits = {"c": inverse - c, "inverse": c - inverse}

    def depth(cycles: int, interval: int = ii) -> int:
        return cycles // interval + ROOM

    found = {
        way.name: depth(tap(way.leaf) + TURN + max(0, waits.get(way.name, 0)))
        for ways in queues(plan).values()
        for way in ways
    }
    again, course = depth(net + trig + solve + dtau + 8, 2 * ii), depth(net + solve + tap(STAGE) + 6)
    found |= dict.fromkeys(("state", "back", "kept"), again) if plan.fed_back else {}
    found |= {"course": course} if "step" in plan.datapaths else {}
    found |= {"round": course} if plan.has_rounds else {}
    found |= {"tau": depth(net + 4)} if "solve" in plan.datapaths else {}
    return found | ({"given": depth(trig + dtau + 4)} if plan.takes("Minv") else {})
