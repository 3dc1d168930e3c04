"""What is run beside the timing of a GPU: the tools of CUDA that look for wrong accesses, and GRiD.

Each answers with what it found, or with a sentence that says why it was not measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from condyle.functions import function_of

SECONDS = 150
FUNCTIONS = {"id": "inverse_dynamics", "fd": "forward_dynamics", "dfd": "forward_dynamics_gradient"}


def sanitized(tool: str) -> dict[str, str]:
    """compute-sanitizer over every function of an arm, both dtypes."""
    program = shutil.which("compute-sanitizer")
    if program is None:
        return {"unmeasured": "compute-sanitizer is not on the PATH; it comes with the CUDA toolkit"}
    command = [program, "--tool", tool, "--error-exitcode", "9", sys.executable, "-m", "benchmarks.gpu_beside", "work"]
    return _ran(command, {0: "clean"})


def _ran(command: list[str], verdicts: dict[int, str]) -> dict[str, str]:
    root = Path(__file__).resolve().parent.parent
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"unmeasured": f"took more than {SECONDS} s"}
    except OSError as error:
        return {"unmeasured": str(error)}
    tail = (done.stdout + done.stderr)[-2000:]
    if done.returncode in verdicts:
        return {"verdict": verdicts[done.returncode], "log": tail[-200:]}
    return {"verdict": f"exit status {done.returncode}", "log": tail}


def work() -> None:
    """Every function once, with few states, from the processor's memory."""
    import numpy as np

    import condyle
    from condyle.cli.states import draw

    robot = condyle.load("iiwa14")
    for dtype in ("float32", "float64"):
        states = draw(robot, 70, dtype)
        dyn = robot.compile(target="cuda", dtype=dtype)
        for name in dyn.signature:
            answers = dyn.call(name, states.arguments(function_of(name)))
            assert all(np.isfinite(answer).all() for answer in answers), name


def grid(batches: tuple[int, ...]) -> dict[str, Any]:
    """GRiD's whole calls with its own pinned arrays, in a process of its own: {function: {n: microseconds}}."""
    if shutil.which("nvcc") is None:
        return {"unmeasured": "GRiD compiles with nvcc, which is not on the PATH"}
    command = [sys.executable, "-m", "benchmarks.gpu_beside", "grid", *map(str, batches)]
    found = _ran(command, {0: "ran"})
    if "verdict" not in found or found["verdict"] != "ran":
        return {"unmeasured": f"pip install grid-rbd; {found.get('unmeasured') or found['log'][-300:]}"}
    return json.loads(found["log"].strip().splitlines()[-1])


def grid_work(batches: tuple[int, ...]) -> None:
    import grid_rbd  # type: ignore[import-not-found]

    import condyle
    from benchmarks.gpu_time import on_host
    from condyle.cli.states import draw

    path = Path(condyle.__file__).parent / "robots" / "iiwa14.urdf"
    handle = grid_rbd.register_robot("iiwa14", urdf_path=os.fspath(path), max_batch_size=max(batches))
    times: dict[str, Any] = {"version": grid_rbd.__version__}
    for name, method in FUNCTIONS.items():
        times[name] = {}
        for n in batches:
            pinned = []
            for array in draw(condyle.load("iiwa14"), n, "float32", (function_of(name),)).arguments(function_of(name)):
                pinned.append(handle.pinned_empty(array.shape))
                pinned[-1][:] = array
            call = getattr(handle, method)
            times[name][n] = round(on_host(lambda call=call, pinned=pinned: call(*pinned), 50), 2)
    print(json.dumps(times))


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work()
    else:
        grid_work(tuple(map(int, sys.argv[2:])))
