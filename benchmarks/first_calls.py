"""The first call of each function in this process: python -m benchmarks.first_calls ROBOT FUNCTION ... prints JSON.

Nothing of Condyle is imported before the clock runs.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from condyle.functions import function_of


def one(name: str, functions: list[str]) -> dict[str, Any]:
    """First use of each function here, one state."""
    start = time.perf_counter()
    import condyle  # noqa: F401

    imported = time.perf_counter()
    from benchmarks.robots import chosen
    from condyle.cli.states import draw

    (case,) = chosen([name])
    ready = time.perf_counter()
    robot = case.load()
    loaded = time.perf_counter()
    states = draw(robot, 1, "float64", [*map(function_of, ("id", "m") if "difd" not in functions else functions)])
    before = peak_mb()
    dynamics = robot.compile(threads=1)
    times: dict[str, float] = {}
    worked = time.process_time()
    for function in functions:
        at = time.perf_counter()
        dynamics.function(function)(*states.arguments(function_of(function)))
        times[function] = time.perf_counter() - at
    return {
        "import_s": imported - start,
        "load_s": loaded - ready,
        "first_call_s": times,
        "all_s": sum(times.values()),
        "all_cpu_s": time.process_time() - worked,
        "resident_before_mb": before,
        "peak_mb": peak_mb(),
        "compiler_peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


def peak_mb() -> float:
    """Of this process alone: what `resource` says begins with the size of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], sys.argv[2:])))
