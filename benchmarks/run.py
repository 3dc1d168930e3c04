"""Condyle (targets `c` and `cpu`) beside Pinocchio's C++ and Python bindings, interleaved in one process, one thread.

    python -m benchmarks.run [--python] [ROBOT ...]

Ours: NumPy arrays in and out, a call for 256 states, out= reused, the call's own overhead included. Pinocchio: a C++
loop over the same states, answers left in its Data. Clock: CPU time of the process. Both answers are compared first.
"""

from __future__ import annotations

import argparse
import ctypes
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.rivals.pinocchio_python import PinocchioPython
from benchmarks.robots import Case, chosen
from condyle import Dynamics
from condyle.cli.bench import measure
from condyle.cli.check import answers, relative
from condyle.cli.rivals.build import Toolchain, find_toolchain, library
from condyle.cli.rivals.pinocchio_cpp import ALGORITHMS, Pinocchio
from condyle.cli.states import draw
from condyle.cli.timing import Row, Sampling
from condyle.signature import FUNCTIONS

BATCH = 256
TARGETS = {"c": "rows", "cpu": "cpu_rows"}
SAMPLING = Sampling("cpu", samples=41, sample_s=0.005)
AGREEMENT = 1e-8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", metavar="ROBOT")
    parser.add_argument("--python", action="store_true", help="also Pinocchio's Python bindings, state by state")
    options = parser.parse_args()
    toolchain = find_toolchain()
    print("compiling Pinocchio (one to four minutes the first time) ...", flush=True)
    built = library(toolchain)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, Any] = {**results.certificate(), "pinocchio": _about(toolchain), "batch": BATCH}
    found["machine"]["cores"] = os.cpu_count()
    found["sampling"] = asdict(SAMPLING)
    found["robots"] = {case.name: run(case, built, options.python) for case in chosen(options.robots)}
    print(f"wrote {results.write(found).relative_to(results.ROOT)}")


def run(case: Case, built: ctypes.CDLL, python: bool) -> dict[str, Any]:
    """One robot: agreement, then times."""
    robot = case.robot
    rival = Pinocchio(robot, built)
    about: dict[str, Any] = {"nv": robot.nv, "fingerprint": robot.fingerprint}
    for target, key in TARGETS.items():
        dynamics = robot.compile(target=target, threads=1)
        about[f"{target}_agreement"] = {name: agreement(case, dynamics, rival, name) for name in FUNCTIONS}
        about[key] = [asdict(row) for row in timed(case, target, dynamics, rival)]
    if python:
        about["python_rows"] = [asdict(row) for row in PinocchioPython(robot).measure(SAMPLING)]
    return about


def timed(case: Case, target: str, dynamics: Dynamics, rival: Pinocchio) -> list[Row]:
    """One target's times, each followed by the rival's."""
    rows = measure(case.robot, dynamics, rival, tuple(FUNCTIONS), (BATCH,), SAMPLING)
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        pair = f"{ours.ns.median:9.1f}{theirs.ns.median:9.1f}  x{theirs.ns.median / ours.ns.median:.2f}"
        print(f"{case.name:16s}{target:4s}{ours.function:5s}{pair}", flush=True)
    return rows


def agreement(case: Case, dynamics: Any, rival: Pinocchio, name: str) -> float:
    """The worst relative difference of the two answers; timing two different things would say nothing."""
    states = draw(case.robot, 16, "float64", (name,), rng=1)
    theirs = states.outputs(name)
    rival.run(name, states.arguments(name), theirs)
    worst = max(relative(a, b) for a, b in zip(answers(dynamics, name, states), theirs, strict=True))
    if not worst < AGREEMENT:
        raise SystemExit(f"{case.name} {name}: the answers differ by {worst:.1e}; nothing was timed")
    return float(np.round(worst, 17))


def _about(toolchain: Toolchain) -> dict[str, Any]:
    return {
        "version": toolchain.pinocchio,
        "eigen": toolchain.eigen,
        "compiler": toolchain.compiler_version,
        "flags": toolchain.flags,
        "algorithms": ALGORITHMS,
    }


if __name__ == "__main__":
    main()
