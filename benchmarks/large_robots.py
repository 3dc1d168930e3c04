"""Compiling large robots: processor time and memory of the first call of each function, each in a fresh process.

    python -m benchmarks.large_robots [ROBOT ...]     writes results/large-robots.json

Nothing is cached. The processor's time counts, of all threads, so that others on the machine matter less; they still
make it up to a fifth longer. Memory: the largest resident size less that before the call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import results
from benchmarks.first_calls import peak_mb
from benchmarks.humanoid import humanoid
from benchmarks.robots import Case
from condyle import Robot
from condyle.functions import DEFAULT, function_of

TIAGO = Case("tiago-dual-floating", "tiago_description/robots/tiago_dual.urdf", floating=True)
ROBOTS: dict[str, Callable[[], Robot]] = {
    "humanoid-60": lambda: humanoid(60),
    "humanoid-85": lambda: humanoid(85),
    "humanoid-107": lambda: humanoid(107),
    "humanoid-60-mimic": lambda: humanoid(60, mimic=True),
    TIAGO.name: TIAGO.load,
}
DTYPES = ("float64", "float32")


def main() -> None:
    found: dict[str, Any] = {}
    chosen = sys.argv[1:] or [name for name in ROBOTS if name != TIAGO.name or TIAGO.path is not None]
    for name in chosen:
        found[name] = {dtype: {f: _apart(name, f, dtype) for f in DEFAULT} for dtype in DTYPES}
    path = results.FOLDER / "large-robots.json"
    results.write(path, {"machine": results.machine(), **results.certificate(), "robots": found})
    print(f"wrote {path.relative_to(results.ROOT)}")


def _apart(*words: str) -> dict[str, Any]:
    environment = {**os.environ, "CONDYLE_NO_CACHE": "1"}
    command = [sys.executable, "-c", f"from benchmarks.large_robots import one; one(*{words!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=results.ROOT)
    row = json.loads(done.stdout)
    print("  ".join([*words, *(f"{key} {value}" for key, value in row.items())]), flush=True)
    return row


def one(name: str, function: str, dtype: str) -> None:
    """The first call of one function in this process; prints JSON."""
    from condyle.cli.states import draw

    robot, needed = ROBOTS[name](), ("id", "m") if function != "difd" else (function,)
    arguments = draw(robot, 1, dtype, [*map(function_of, needed)]).arguments(function_of(function))
    dynamics = robot.compile(dtype=dtype, threads=1)
    before, at = peak_mb(), time.process_time()
    dynamics.function(function)(*arguments)
    taken = time.process_time() - at
    row = {"nv": robot.nv, "cpu_s": round(taken, 3), "mb": round(peak_mb() - before, 1)}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
