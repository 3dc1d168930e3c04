"""iiwa14, all seven functions, 27x18, in boxes of several sizes: units, cycles, errors and flags.

Errors are those of `hardware.errors` over STATES states of the box. `free` is fd and dfd of as many states without
torque: how many accelerations stay in the box, how many tasks have a flag, and how many have one though they stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.text import Found, error
from benchmarks.sections import FUNCTIONS, table
from condyle import hardware
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.evaluate import evaluate
from condyle.backends.fpga.vectors import task_of

ROBOT, STATES, CHUNK = "iiwa14", 100_000, 1000
BOXES: dict[str, dict[str, float]] = {
    f"{ROBOT} v {v:g}, a {a:g}": {"v": v, "a": a} for v, a in ((2.0, 5.0), (10.0, 100.0), (10.0, 1000.0))
}
ROWS = tuple(BOXES)


def measure(row: str, states: int = STATES) -> dict[str, Any]:
    robot = condyle.load(ROBOT)
    acc = hardware.accelerator(robot, hardware.Options(box=BOXES[row]))
    return {
        "box": BOXES[row],
        "states": states,
        "dsp": acc.dsp,
        "interval": acc.ii,
        "latency": {function: acc.latency(function) for function in acc.plan.functions},
        "errors": hardware.errors(robot, acc.plan, states),
        "free": _free(robot, acc.plan, states),
    }


def _free(robot: condyle.Robot, plan: Plan, states: int) -> dict[str, int]:
    found = {"inside": 0, "fd": 0, "dfd": 0, "flagged_inside": 0}
    for chunk in range(states // CHUNK):
        given = hardware.consistent(robot, hardware.sampled(robot, CHUNK, 1 + chunk, plan.box))
        given["tau"] = np.zeros_like(given["tau"])
        (a,) = hardware.answer_of(robot, "fd", given, 0.0)
        inside = (np.abs(a) <= plan.box["a"]).all(axis=1)
        found["inside"] += int(inside.sum())
        for function in ("fd", "dfd"):
            flagged = evaluate(plan, function, task_of(plan, function, given)).over
            found[function] += int(flagged.sum())
            found["flagged_inside"] += int((flagged & inside).sum())
    return found


def boxes(found: Found) -> list[str]:
    """All seven functions, 27x18, `--box`, 100 000 random states of each box: relative errors, 99 % of the states / the
    maximum of the samples, which is not a bound; the part of the states with a flag. Behind them as many states with
    tau = 0: the part whose acceleration stays in the box, the parts of fd and dfd with a flag, and how many have one
    though their acceleration stays."""
    heads = [
        "robot, box",
        "DSPs",
        "latency id / difd / fd",
        *FUNCTIONS,
        "flagged",
        "tau = 0: a inside",
        "fd / dfd flagged",
    ]
    return table([*heads, "flagged, a inside"], [_row(*entry) for entry in found.get("boxes", {}).items()])


def _row(row: str, entry: Found) -> list[str]:
    free, states = entry["free"], entry["states"]
    parts = [f"{100 * free[name] / states:.3g} %" for name in ("inside", "fd", "dfd")]
    flagged = max(of["clamped"] for of in entry["errors"].values())
    return [
        row,
        str(entry["dsp"]),
        " / ".join(str(entry["latency"][name]) for name in ("id", "difd", "fd")),
        *(" / ".join(error(_worst(entry["errors"][name], end)) for end in ("_p99", "")) for name in FUNCTIONS),
        f"{100 * flagged:.3g} %",
        parts[0],
        " / ".join(parts[1:]),
        str(free["flagged_inside"]),
    ]


def _worst(errors: Found, end: str) -> float:
    return max(x for name, x in errors.items() if name.endswith(f"relative{end}"))
