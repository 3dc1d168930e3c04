"""STEPS.md from results/steps.json, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import results
from benchmarks.sections import number, table

SOURCE = results.FOLDER / "steps.json"
PATH = results.ROOT / "benchmarks" / "STEPS.md"
TITLE = "# Steps, rollouts and open parameters\n\n"
HEAD = f"""{TITLE}Made by `python -m benchmarks.steps --table` from [steps.json](results/steps.json). Nanoseconds a
state, a step of a rollout, or a knot. The calls of a table were timed alternately in one process, with one thread on
one core unless the table says otherwise. Their least times are compared.
"""
Found = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """The ratio of the least times of two calls, each a sum of some, of these robots."""

    robots: tuple[str, ...]
    over: str
    under: tuple[str, ...]
    wanted: float
    at_least: bool = False

    def met(self, ratio: float) -> bool:
        return ratio >= self.wanted if self.at_least else ratio <= self.wanted


def _most(robots: str, over: str, under: str, wanted: float) -> Goal:
    return Goal(tuple(robots.split()), over, (under,), wanted)


def _least(robots: str, over: str, under: str, wanted: float) -> Goal:
    return Goal(tuple(robots.split()), over, (under,), wanted, True)


ARMS, LEGS = "panda iiwa14", "hyq-floating"
GOALS: dict[str, list[Goal]] = {
    "rollout": [
        _most(ARMS, "rollout", "fd", 1.1),
        _most(LEGS, "rollout", "fd", 1.25),
        _least(ARMS, "mujoco", "rollout", 65),
        _least(LEGS, "mujoco", "rollout", 35),
        _most(f"{ARMS} {LEGS}", "with cost", "rollout", 1.15),
        _most(f"{ARMS} {LEGS}", "rk4", "rollout", 3.8),
        _least(f"{ARMS} {LEGS}", "rollout", "float32", 1.7),
    ],
    "ground": [_most(LEGS, "ground", "rollout", 1.8), _least(LEGS, "mujoco, contacts", "ground", 40)],
    "threads": [_least(ARMS, "1 thread", "2 threads", 1.8)],
    "kept": [Goal(tuple(ARMS.split()), "every state", ("last", "moved"), 1.0)],
    "gradient": [_most("panda", "vjp", "rollout", 6)],
    "derivatives": [
        _most("panda", "dstep", "dfd", 1.5),
        _most(LEGS, "dstep", "dfd", 2),
        _most("panda", "dstep packed", "dfd packed", 1.3),
        _most(LEGS, "dstep packed", "dfd packed", 1.5),
        _most("panda", "dstep rk4", "dfd", 6),
        _most(LEGS, "dstep rk4", "dfd", 8),
    ],
    "linearisation": [
        _least("iiwa14", "numpy", "dstep", 30),
        _least("iiwa14", "numpy, knot by knot", "dstep", 30),
        _least("iiwa14", "crocoddyl", "dstep", 10),
    ],
    "tangent": [_most(LEGS, "integrate", "fd", 0.5), _most(LEGS, "difference", "fd", 0.5)],
    "open": [
        _most("panda", "a set a state", "fd", 1.7),
        _most(f"{LEGS} talos-reduced", "a set a state", "fd", 2),
    ],
}
MEMORY = 1.2
TITLES = {
    "rollout": "Rollouts of semi-implicit Euler that keep the last state, compared with dense fd at N = 256",
    "threads": "Two threads, wall time",
    "few": "One state in each call; and a step of one rollout of 50 steps",
    "kept": "Rollouts that keep every state, compared with the last state only and with moving the bytes of all states",
    "gradient": "The vjp of a rollout by all its inputs",
    "memory": "Memory of many rollouts that keep the last state",
    "mjx": "MJX on the processor, wall time, with as many threads as XLA takes",
    "ground": "A quadruped on the smooth ground, compared with the same in the air and with MuJoCo's contacts, which "
    "solve for Coulomb friction in each step",
    "derivatives": "A and B of a step, compared with the derivatives of fd, N = 256",
    "linearisation": "A trajectory of 64 knots by RK4, compared with NumPy on fd and dfd and with crocoddyl's calcDiff",
    "tangent": "integrate and difference, compared with fd, 4096 states",
    "open": "fd with open inertias, compared with fd with constants, N = 256",
}


def page() -> str:
    if not SOURCE.exists():
        return f"{TITLE}Nothing was measured yet: `python -m benchmarks.steps`.\n"
    whole: Found = json.loads(SOURCE.read_text())
    facts = [f"| {key} | {value} |" for key, value in whole["machine"].items()]
    body = [line for part in TITLES for line in _part(part, whole["measurements"].get(part, {}))]
    return "\n".join([HEAD, "| | |", "|---|---|", *facts, "", *body]).rstrip() + "\n"


def _part(part: str, robots: Found) -> Iterator[str]:
    if not robots:
        return
    yield from (f"## {TITLES[part]}", "")
    for robot, entry in robots.items():
        size = f", {entry['rollouts']} rollouts of {entry['steps']} steps" if "rollouts" in entry else ""
        where = f", {entry['cpu']}" if "cpu" in entry else ""
        yield from (f"{robot}{size}. {entry['date']}, commit {entry['commit'][:10]}, load {entry['load']}{where}.", "")
        ns: Found = entry.get("ns", {})
        if ns:
            yield from table(["", *ns], _times(ns))
        rows = [*ratios(part, robot, ns), *_memory(entry)]
        if rows:
            yield from table(["times compared", "ratio", "goal", "met"], rows)
        for name, why in entry.get("absent", {}).items():
            yield from (f"{name} was not timed: {why}", "")


def _times(ns: Found) -> Iterator[list[str]]:
    for kind, which in (("least", "minimum"), ("median", "median"), ("quartiles", "")):
        yield [kind, *(_cell(spread, which) for spread in ns.values())]


def _cell(spread: Found, which: str) -> str:
    return number(spread[which]) if which else f"{number(spread['low'])} to {number(spread['high'])}"


def ratios(part: str, robot: str, ns: Found) -> Iterator[list[str]]:
    """What, the ratio, its goal, and whether it is met, of every goal whose calls were timed."""
    for goal in _of(GOALS.get(part, ()), robot):
        if {goal.over, *goal.under} <= ns.keys():
            ratio = ns[goal.over]["minimum"] / sum(ns[name]["minimum"] for name in goal.under)
            what = f"{goal.over} over {' + '.join(goal.under)}"
            bound = f"{'at least' if goal.at_least else 'at most'} {goal.wanted:g}"
            yield [what, number(ratio), bound, "yes" if goal.met(ratio) else "no"]


def _of(goals: Iterable[Goal], robot: str) -> Iterator[Goal]:
    return (goal for goal in goals if robot in goal.robots)


def _memory(entry: Found) -> Iterator[list[str]]:
    if "own_bytes" in entry:
        ratio = entry["peak_bytes"] / entry["own_bytes"]
        what = f"{entry['peak_bytes'] >> 20} MiB used, over {entry['own_bytes'] >> 20} MiB of inputs and answers"
        yield [what, number(ratio), f"at most {MEMORY:g}", "yes" if ratio <= MEMORY else "no"]
