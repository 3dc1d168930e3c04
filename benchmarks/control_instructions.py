"""Instructions of each step of predictive control: "instructions" of `python -m benchmarks.optimal_control`.

The loop of `steady` under valgrind, whose callgrind counts the instructions of this process. It knows no AVX-512, so
the library takes AVX2 there. A count is of one call of `solver.step` in Python, everything included; garbage collection
is off.
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
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(void) { CALLGRIND_DUMP_STATS; }
"""
WARM = 20
"""Steps before the first one that is counted."""


def measure(quick: bool) -> dict[str, Any] | None:
    """Of each number type, with all limits: least, mean and largest count of a step. None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    steps = {"float64": 20} if quick else {"float64": 10_000, "float32": 2000}
    return {dtype: {"steps": count, **summary(counts(dtype, count))} for dtype, count in steps.items()}


def summary(counts: Any) -> dict[str, float]:
    mean = float(np.mean(counts))
    least, largest = float(np.min(counts)), float(np.max(counts))
    return {"mean": mean, "least": least, "largest": largest, "spread": (largest - least) / mean}


def counts(dtype: str, steps: int) -> Any:
    """Of each step, by a process under valgrind."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "requests.c").write_text(SOURCE)
        library = str(Path(folder, "requests.so"))
        subprocess.run(
            [find_compiler().path, "-O2", "-shared", "-fPIC", str(Path(folder, "requests.c")), "-o", library],
            check=True,
        )
        count = ["valgrind", "-q", "--tool=callgrind", "--dump-line=no", "--callgrind-out-file=dump"]
        run = [sys.executable, "-m", "benchmarks.control_instructions", dtype, str(steps), library]
        here = {**os.environ, "PYTHONPATH": os.pathsep.join((str(results.ROOT), *filter(None, sys.path)))}
        done = subprocess.run([*count, *run], cwd=folder, env=here, check=True, stdout=subprocess.PIPE, text=True)
    return np.array(json.loads(done.stdout.splitlines()[-1]), float)


def here(dtype: str, steps: int, library: str) -> list[int]:
    """The same by this process, which valgrind runs."""
    from benchmarks.optimal_control import Loop

    requests, loop, found = ctypes.CDLL(library), Loop(1, dtype, "all"), list[int]()
    gc.disable()
    for k in range(WARM + steps):
        loop.move()
        requests.zero()
        loop.follow()
        requests.dump()
        file = Path(f"dump.{k + 1}")
        found += [int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith("summary:")]
        file.unlink()
    return found[WARM:]


if __name__ == "__main__":
    print(json.dumps(here(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
