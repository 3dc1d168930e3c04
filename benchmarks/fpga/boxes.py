"""iiwa14, all seven functions, 27x18, in boxes of several sizes: DSPs, cycles, errors and flags.

Errors are those of `fpga.errors` over STATES states of the box. `free` is fd and dfd of as many states without
torque: how many accelerations stay in the box, how many tasks have a flag, and how many have one though they stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.cases import SHOWN
from benchmarks.fpga.text import Found, error
from benchmarks.sections import FUNCTIONS, table
from condyle import fpga
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import task_of

ROBOT, STATES, CHUNK = "iiwa14", 100_000, 1000
BOXES: dict[str, dict[str, float]] = {
    f"{ROBOT} v {v:g}, a {a:g}": {"v": v, "a": a} for v, a in ((2.0, 5.0), (10.0, 100.0), (10.0, 1000.0))
}
ROWS = tuple(BOXES)


def measure(row: str, states: int = STATES) -> dict[str, Any]:
    robot = condyle.load(ROBOT)
    acc = fpga.accelerator(robot, fpga.Options(box=BOXES[row]))
    return {
        "box": BOXES[row],
        "states": states,
        "dsp": acc.dsp,
        "interval": acc.ii,
        "latency": {function: acc.latency(function) for function in acc.plan.functions},
        "errors": fpga.errors(robot, acc.plan, states),
        "free": _free(robot, acc.plan, states),
    }


def _free(robot: condyle.Robot, plan: Plan, states: int) -> dict[str, int]:
    found = {"inside": 0, "fd": 0, "dfd": 0, "flagged_inside": 0}
    for chunk in range(states // CHUNK):
        given = fpga.consistent(robot, fpga.sampled(robot, CHUNK, 1 + chunk, plan.box))
        given["tau"] = np.zeros_like(given["tau"])
        (a,) = fpga.answer_of(robot, plan.tasks["fd"], given, 0.0)
        inside = (np.abs(a) <= plan.box["a"]).all(axis=1)
        found["inside"] += int(inside.sum())
        for function in ("fd", "dfd"):
            flagged = evaluate(plan, function, task_of(plan, function, given)).over
            found[function] += int(flagged.sum())
            found["flagged_inside"] += int((flagged & inside).sum())
    return found


FALLING = (
    "fd and dfd of as many states with tau = 0, where the robot falls. A state counts as inside if its acceleration is "
    "within the box. The last column counts flagged tasks of fd and dfd whose state is inside."
)


def boxes(found: Found) -> list[str]:
    """iiwa14 with boxes of several sizes (`--box`). All seven functions, word 27x18, 100 000 random states of each box.
    Relative errors are as in the table of errors, fd too: relative to the largest value of the same entry. The maximum
    is that of the samples and not a bound."""
    rows = found.get("boxes", {})
    of = {row.partition(" ")[2]: entry for row, entry in rows.items()}
    design = [[box, str(e["dsp"]), *(str(e["latency"][name]) for name in SHOWN), _flagged(e)] for box, e in of.items()]
    heads = ["box", "DSPs", *(f"latency: {name}" for name in SHOWN), "flagged states"]
    ends = {"99 % of the states": "_p99", "maximum": ""}
    errors = [
        [name, *(error(_worst(entry["errors"][name], end)) for entry in of.values() for end in ends.values())]
        for name in FUNCTIONS
    ]
    return [
        *table(heads, design),
        "Relative errors of each function:",
        "",
        *table(["function", *(f"{box}: {end}" for box in of for end in ends)], errors),
        FALLING,
        "",
        *table(
            ["box", "states inside", "flagged: fd", "flagged: dfd", "flagged and inside"],
            [[box, *_falling(entry)] for box, entry in of.items()],
        ),
    ]


def _flagged(entry: Found) -> str:
    """The function with most flags."""
    return f"{100 * max(of['clamped'] for of in entry['errors'].values()):.3g} %"


def _falling(entry: Found) -> list[str]:
    free, states = entry["free"], entry["states"]
    return [*(f"{100 * free[name] / states:.3g} %" for name in ("inside", "fd", "dfd")), str(free["flagged_inside"])]


def _worst(errors: Found, end: str) -> float:
    return max(x for name, x in errors.items() if name.endswith(f"relative{end}"))
