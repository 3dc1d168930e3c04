"""What compiling costs: wall time of the first call of each function, all seven in a fresh process, and its memory.

Cold: nothing in the cache. Then again in a new process, with what the first one left there. Importing Condyle and
reading the robot are not in it; they have their own entries. Memory: the largest resident size of the process and of
any compiler that it ran, and the resident size before compiling began.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks import results
from benchmarks.bench import Subject

RUNS = 3
FAST_ENOUGH_S = 5.0


def measure(subject: Subject) -> dict[str, Any]:
    """The quickest of some cold runs (others on the machine only ever slow it down), and a run after each."""
    cold: list[dict[str, Any]] = []
    cached: list[dict[str, Any]] = []
    words = [subject.case.name, *subject.functions]
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_apart(folder, words))
            cached.append(_apart(folder, words))
        if cold[0]["all_s"] > FAST_ENOUGH_S:
            break
    best = {"cold": min(cold, key=_all), "cached": min(cached, key=_all), "cold_all_s": [run["all_s"] for run in cold]}
    print(
        f"{subject.case.name:24s}cold {best['cold']['all_s']:.3f} s, again {best['cached']['all_s']:.3f} s", flush=True
    )
    return best


def _all(run: dict[str, Any]) -> float:
    return run["all_s"]


def _apart(folder: str, words: list[str]) -> dict[str, Any]:
    """In a fresh process with this cache."""
    environment = {**os.environ, "CONDYLE_CACHE_DIR": folder}
    command = [sys.executable, "-m", "benchmarks.first_calls", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=results.ROOT)
    return json.loads(done.stdout)
