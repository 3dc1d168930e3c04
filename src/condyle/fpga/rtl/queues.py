"""The queues between arrays: which words wait in each, for which codes, and its depth.

Before a task enters an array it takes a credit of the queue behind it, so no array ever stalls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.tasks import BIAS, COLUMNS, INVERSE, SOLVED, STAGE, STEP, TRIG, Leaf

ROOM = 4
"""Entries of a queue beyond those that a full pipeline fills."""
TURN = 2
"""Cycles from a word's arrival in a queue until its credit can be used again."""
ENTRY, MERGED = 2, 4
"""Depths of the queue of tasks and of the queue of merged results."""
NAMES = {BIAS: "c", COLUMNS: "dtau", INVERSE: "inverse", SOLVED: "back", STAGE: "round"}
"""The queue of a group whose words go on to another array."""


@dataclass(frozen=True)
class Queue:
    """The queue for the words of a group with these codes. is_result: they leave the accelerator. counted: the tasks of
    its loop are counted when they enter, at most as many as its entries, so they take no credit of it."""

    name: str
    leaf: Leaf
    codes: tuple[int, ...]
    is_result: bool = False
    counted: bool = False


def queues(plan: Plan) -> dict[str, list[Queue]]:
    """For each array the queues of its results. Those of a second pass or of a next stage are counted."""
    found: dict[str, list[Queue]] = {}
    for array, path in plan.datapaths.items():
        ways: list[Queue] = []
        for leaf in (Leaf(array, group) for group, _ in path.groups):
            here, steps = plan.leaving(leaf), plan.leaving(STEP) if leaf == SOLVED else []
            on = [code for code in plan.through(leaf) if code not in (*here, *steps)]
            if leaf == TRIG:
                to = {name: tuple(sorted(codes_of(plan, name))) for name in fed_by_trig(plan)}
                ways += [Queue(f"{name}_in", leaf, codes) for name, codes in to.items()]
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


def codes_of(plan: Plan, array: str) -> set[int]:
    """The codes of all words that enter an array."""
    groups = plan.datapaths[array].groups
    return {code for group, _ in groups for code in plan.through(Leaf(array, group))}


def depths(plan: Plan, ii: int, tap: Callable[[Leaf], int]) -> Mapping[str, int]:
    """The depth of each queue by name. tap: the cycle in which a group leaves its array."""
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
