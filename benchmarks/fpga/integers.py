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
from condyle import fpga
from condyle.fpga.functions import tasks
from condyle.fpga.integers import families

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
        states = fpga.consistent(robot, fpga.sampled(robot, BATCH, 5, fpga.box_of(robot, BOX, None)))
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
    """Speed of `condyle.fixed_point` on one core, word 27x18, box v 10, a 100. HyQ has a floating base here. Times are
    the shortest of many calls, on a machine that did other work too.

    * **Million states a second**: in batches of 1024 states.
    * **One state**: the time of a call with one state.
    * **Compiling**: the time until a function is compiled, without the time of planning."""
    text: list[str] = []
    for robot, entry in found.get("integers", {}).items():
        rows = [[name, *_cells(of)] for name, of in entry["functions"].items()]
        text += [
            f"**{robot}**",
            "",
            *table(["function", "million states a second", "one state, µs", "compiling, s"], rows),
        ]
        model = entry["functions"]["difd"]["model_one_us"]
        text += [f"The NumPy model takes {1e-3 * model:.0f} ms for one state of difd.", ""]
    return text


def _cells(entry: Found) -> list[str]:
    return [f"{1e-6 * entry['states_a_second']:.2g}", f"{entry['one_us']:.3g}", f"{entry['compile_s']:.2g}"]
