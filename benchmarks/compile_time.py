"""What compiling costs: tracing time, compiler time and peak memory of each function, with an empty cache.

    python -m benchmarks.compile_time [ROBOT ...]

Each function is compiled in a process of its own, then all seven in one ("all"). Writes results/compile_time.json.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks import results
from condyle.signature import FUNCTIONS

ROBOTS = ("iiwa14", "atlas")


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        print(json.dumps(one(words[1], words[2])))
        return
    found: dict[str, Any] = results.certificate()
    found["robots"] = {robot: [apart(robot, name) for name in (*FUNCTIONS, "all")] for robot in words or ROBOTS}
    print(f"wrote {results.write(found, 'compile_time.json').relative_to(results.ROOT)}")


def apart(robot: str, function: str) -> dict[str, Any]:
    """`one`, in a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CONDYLE_CACHE_DIR": folder}
        command = [sys.executable, "-m", "benchmarks.compile_time", "--one", robot, function]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=results.ROOT)
    row: dict[str, Any] = json.loads(done.stdout)
    print(robot, *(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def one(name: str, function: str) -> dict[str, Any]:
    """First use of one function here: our own CPU time, the compiler's, and the largest memory of either."""
    import condyle
    from condyle.cli.states import draw

    robot = condyle.load(name)
    names = tuple(FUNCTIONS) if function == "all" else (function,)
    states = draw(robot, 1, "float64", names)
    dynamics = robot.compile(target="c", threads=1)
    own, wall = time.process_time(), time.perf_counter()
    for one_name in names:
        dynamics.function(one_name)(*states.arguments(one_name))
    wall, own = time.perf_counter() - wall, time.process_time() - own
    compiler = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "function": function,
        "wall_s": round(wall, 3),
        "trace_cpu_s": round(own, 3),
        "compiler_cpu_s": round(compiler.ru_utime + compiler.ru_stime, 3),
        "compiler_peak_mb": round(compiler.ru_maxrss / 1024, 1),
        "own_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


if __name__ == "__main__":
    main()
