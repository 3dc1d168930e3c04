"""Instructions of each step of predictive control: "instructions" of `python -m benchmarks.optimal_control`.

The loop of `steady` under valgrind, whose callgrind counts the instructions of this process. It knows no AVX-512, so
the library takes AVX2 there. A count is of one call of `solver.step` in Python, everything included; garbage collection
is off. Counting makes a step many times slower, so runs of steps are counted, spread over all of them.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from condyle.runtime.toolchain import find_compiler

SOURCE = """#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
void stop(void) { CALLGRIND_STOP_INSTRUMENTATION; }
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(void) { CALLGRIND_DUMP_STATS; }
"""
EVERY, RUN = 500, 10
"""In so many steps a run of so many is counted, behind one that is not."""


def measure(quick: bool) -> dict[str, Any] | None:
    """Of each number type, with all limits: least, mean and largest count of a step. None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    steps, dtypes = (30, ("float64",)) if quick else (10_000, ("float64", "float32"))
    return {"steps": steps, **{dtype: summary(counts(dtype, steps)) for dtype in dtypes}}


def summary(counts: Any) -> dict[str, float]:
    mean = float(np.mean(counts))
    least, largest = float(np.min(counts)), float(np.max(counts))
    return {
        "counted": len(counts),
        "mean": mean,
        "least": least,
        "largest": largest,
        "spread": (largest - least) / mean,
    }


def counts(dtype: str, steps: int) -> Any:
    """Of each step, by a process under valgrind."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "requests.c").write_text(SOURCE)
        library = str(Path(folder, "requests.so"))
        subprocess.run(
            [find_compiler().path, "-O2", "-shared", "-fPIC", str(Path(folder, "requests.c")), "-o", library],
            check=True,
        )
        count = [
            "valgrind",
            "-q",
            "--tool=callgrind",
            "--dump-line=no",
            "--instr-atstart=no",
            "--callgrind-out-file=dump",
        ]
        run = [sys.executable, "-m", "benchmarks.control_instructions", dtype, str(steps), library]
        here = {**os.environ, "PYTHONPATH": os.pathsep.join((str(results.ROOT), *filter(None, sys.path)))}
        done = subprocess.run([*count, *run], cwd=folder, env=here, check=True, stdout=subprocess.PIPE, text=True)
    return np.array(json.loads(done.stdout.splitlines()[-1]), float)


def here(dtype: str, steps: int, library: str) -> list[int]:
    """The same by this process, which valgrind runs."""
    from benchmarks.optimal_control import Loop

    requests, loop, found = ctypes.CDLL(library), Loop(1, dtype, "all"), list[int]()
    gc.disable()
    for k in range(steps):
        place = k % EVERY - EVERY // 100  # the first steps of all are left out
        if place == 0:
            requests.start()
        loop.move()
        requests.zero()
        loop.follow()
        if 0 < place <= RUN:
            requests.dump()
            (file,) = Path().glob("dump.*")
            found += [int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith("summary:")]
            file.unlink()
        if place == RUN:
            requests.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(here(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
