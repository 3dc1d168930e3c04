"""`condyle.fixed_point`, 27x18, on one core: time to compile a function, and of a call of many states and of one.

Times of calls are the best of REPEATS, through the methods, flags and checks of the input included.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.text import Found
from benchmarks.sections import table
from condyle import hardware
from condyle.hardware.fixed_point import families
from condyle.hardware.functions import tasks

ROWS = ("iiwa14", "hyq", "atlas")
BATCH, REPEATS, SECONDS = 1024, 200, 3.0
BOX = {"v": 10.0, "a": 100.0}


def measure(row: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:  # an empty cache
        os.environ["CONDYLE_CACHE_DIR"] = folder
        robot = condyle.load(row, floating_base=row == "hyq")
        fx = condyle.fixed_point(robot, box=BOX, threads=1)
        planned: dict[str, float] = {}
        for family in families(robot):
            start = time.monotonic()
            fx.formats(family[0])
            planned[family[0]] = time.monotonic() - start
        states = hardware.consistent(robot, hardware.sampled(robot, BATCH, 5, hardware.box_of(robot, BOX, None)))
        functions = {name: _function(fx, robot, name, states) for name in fx.functions}
        return {"box": BOX, "batch": BATCH, "plan_s": planned, "functions": functions}


def _function(fx: condyle.FixedPoint, robot: condyle.Robot, name: str, states: dict[str, np.ndarray]) -> dict[str, Any]:
    sizes = {"nq": robot.nq, "nv": robot.nv}
    ports = tasks()[name].function.inputs
    args = [np.reshape(states[port.name], (BATCH, *port.shape(sizes))) for port in ports]
    one, method = [x[0] for x in args], fx.function(name)
    start = time.monotonic()
    method(*one)
    compiled, method = time.monotonic() - start, fx.function(name)
    model = condyle.fixed_point(robot, box=BOX, target="numpy").function(name)
    model(*one)
    many = best(lambda: method(*args))
    return {
        "compile_s": compiled,
        "states_a_second": BATCH / many,
        "one_us": 1e6 * best(lambda: method(*one)),
        "model_one_us": 1e6 * best(lambda: model(*one)),
    }


def best(call: Callable[[], object]) -> float:
    """Seconds of the quickest of REPEATS calls, or of those that SECONDS allow."""
    found, end = [], time.monotonic() + SECONDS
    while len(found) < REPEATS and time.monotonic() < end:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def integers(found: Found) -> list[str]:
    """`condyle.fixed_point`, 27x18, v 10, a 100, one core: states a second in batches of 1024 / microseconds of a call
    with one state / seconds until a function is compiled, planning apart. Best of many calls, on a machine that did
    other work too. `model` is one state of difd by the NumPy model, in microseconds."""
    rows = found.get("integers", {})
    names = list(dict.fromkeys(name for entry in rows.values() for name in entry["functions"]))
    made = [
        [robot, *(_cell(entry["functions"].get(name)) for name in names), _model(entry)]
        for robot, entry in rows.items()
    ]
    return table(["robot", *names, "model"], made)


def _cell(entry: Found | None) -> str:
    if entry is None:
        return "-"
    return f"{entry['states_a_second']:.2g} / {entry['one_us']:.3g} / {entry['compile_s']:.2g}"


def _model(entry: Found) -> str:
    return f"{entry['functions']['difd']['model_one_us']:.2g}"
