"""Errors of the integer model against the reference in float64, over random states of the box.

Of each output the largest absolute error, and the largest as a part of its column's largest entry (of a vector: of each
entry's own) over the states of a chunk. Tasks with a flag are counted, and left out. For fd also as a part of the box's
largest a.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import condyle
from condyle.fpga import Options, answer_of, consistent, planned, sampled
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import errors_of, task_errors, task_of

STATES, CHUNK = 10_000, 1000
SLOW = "v 2, a 5"
WORDS = {"iiwa14": ("27x18", f"27x18 {SLOW}", "32", "q16.16"), "hyq": ("27x18",), "atlas": ("27x18", "27")}
ROWS = tuple(f"{robot} {word}" for robot, words in WORDS.items() for word in words)
"""Robot, word, and a box where it is not that of the model."""


def measure(row: str, states: int = STATES) -> dict[str, Any]:
    name, word, *slow = row.split(maxsplit=2)
    robot = condyle.load(name)
    plan = planned(robot, Options(word=word, box={"v": 2.0, "a": 5.0} if slow else {}))
    functions: dict[str, dict[str, float]] = {function: {"flagged": 0} for function in plan.functions}
    for chunk in range(states // CHUNK):
        print(f"  {row}: {chunk * CHUNK} of {states} states", file=sys.stderr, flush=True)
        given = consistent(robot, sampled(robot, CHUNK, 1 + chunk, plan.box))
        for function, found in functions.items():
            answer = evaluate(plan, function, task_of(plan, function, given))
            truth = answer_of(robot, plan.tasks[function], given, 0.0)
            rows = errors_of(task_errors(plan, function, answer, truth))
            maxima = {name: value for name, value in rows.items() if name.endswith(("absolute", "relative"))}
            found["flagged"] += int(answer.over.sum())
            found.update({key: max(value, found.get(key, 0.0)) for key, value in maxima.items()})
    functions["fd"]["a_of_box"] = functions["fd"]["a_absolute"] / float(np.max(plan.box["a"]))
    return {"word": word, "states": states // CHUNK * CHUNK, "functions": functions}
