"""Kinematics, momentum, energy and regressors, with Pinocchio: writes results/functions.json and FUNCTIONS.md.

    python -m benchmarks.functions [--functions fk,jac] [--quick] [ROBOT ...]
    python -m benchmarks.functions --table         FUNCTIONS.md alone; with --check exit status 1 if it is out of date

N = 256, float64, one thread, one core, interleaved: dense NumPy arrays with out=, packed arrays, and a loop over
Pinocchio's C++, whose answers are compared first. One frame, at the tip. Then one state from Python, beside Pinocchio's
Python calls.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import condyle
from benchmarks import results
from benchmarks.bench import BATCH, Subject, bytes_of, fresh, pinned, reused
from benchmarks.functions_table import PATH, SOURCE, page
from benchmarks.measurements import parts
from benchmarks.measurements.packed import packed
from benchmarks.rivals.pinocchio_python import PinocchioPython
from benchmarks.robots import chosen
from benchmarks.run import FULL, QUICK
from condyle.cli import rivals
from condyle.cli.rivals.numbers import agreement
from condyle.cli.rivals.rival import Rival
from condyle.cli.states import States, draw
from condyle.compile.options import bound_of
from condyle.functions import function_of
from condyle.specification import Bound

TIPS = {"panda": "panda_hand_tcp", "hyq-floating": "rh_lowerleg"}
NAMES = (
    *("fk", "fv", "fa", "jac", "djac", "integrate", "difference", "com", "jcom", "h", "dh", "cmm", "ke", "pe"),
    *("g", "nle", "cor", "reg"),
)
"""Steps, contacts and joint forces have benchmarks of their own."""
RIVAL = "pinocchio"
ONE = ("fk", "jac")


@dataclass(frozen=True)
class Framed(Subject):
    """A robot that is compiled for the frame at its tip."""

    @property
    def frames(self) -> tuple[str, ...]:
        return (TIPS[self.case.name],)

    @property
    def bound(self) -> Bound:
        return bound_of(self.robot, self.frames)

    def dynamics(self, target: str = "cpu", dtype: str = "float64", threads: int = 1) -> condyle.Dynamics:
        return self.robot.compile(target=target, dtype=dtype, threads=threads, frames=self.frames)

    def states(self, n: int, dtype: str = "float64") -> States:
        return draw(self.robot, n, dtype, [*map(function_of, self.functions)], frames=1)


def measure(subject: Framed) -> dict[str, Any]:
    """A batch of every function, and one state of some."""
    dynamics, states = subject.dynamics(), subject.states(BATCH)
    rival = rivals.opened(RIVAL, subject.robot, subject.frames)
    functions = {name: batch(subject, dynamics, rival, states, name) for name in subject.functions}
    for name, found in parts.measure(subject).get("functions", {}).items():
        functions[name]["parts"] = {part: found[part] for part in ("rows", "kernel", "arithmetic")}
    return {
        "nv": subject.robot.nv,
        "frame": subject.frames[0],
        "batch": BATCH,
        "rival": {**rival.about, "algorithms": {name: rival.algorithms[name] for name in functions}},
        "functions": functions,
        "one": one(subject, dynamics, states.first(1)),
    }


def batch(subject: Framed, dynamics: condyle.Dynamics, rival: Rival, states: States, name: str) -> dict[str, Any]:
    agreed = agreement(subject.robot, dynamics, rival, function_of(name))
    calls = {
        "dense": reused(dynamics, name, states),
        "packed": packed(dynamics, name, states),
        RIVAL: rival.call(name, states.arguments(function_of(name))),
    }
    with pinned():
        ns = subject.times(calls, BATCH)
    least = {engine: spread["minimum"] for engine, spread in ns.items()}
    ratio = least[RIVAL] / least["dense"]
    print(
        f"{subject.case.name:14s}{name:11s}{ratio:6.1f}x  " + str({k: round(x, 1) for k, x in least.items()}),
        flush=True,
    )
    return {"ns": ns, "agreement": agreed, "bytes": [size // BATCH for size in bytes_of(name, states)]}


def one(subject: Framed, dynamics: condyle.Dynamics, state: States) -> dict[str, Any]:
    """One state from Python."""
    rival, found = PinocchioPython(subject.robot, subject.frames), dict[str, Any]()
    for name in (name for name in ONE if name in subject.functions):
        answer = dynamics.function(name)(*(array[0] for array in state.arguments(function_of(name))))
        outputs = answer if isinstance(answer, tuple) else (answer,)
        single = States({key: array[0] for key, array in state.quantities.items()}, state.sizes, state.dtype)
        calls = {
            "out": reused(dynamics, name, single, outputs),
            "fresh": fresh(dynamics, name, single),
            rival.name: rival.single(name, single.arguments(function_of(name))),
        }
        with pinned():
            found[name] = subject.times(calls, 1)
        least = {engine: round(spread["minimum"]) for engine, spread in found[name].items()}
        print(f"{subject.case.name:14s}{name:11s}one state  {least}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=list(TIPS), help=", ".join(TIPS))
    parser.add_argument("--functions", default="", metavar="fk,jac")
    parser.add_argument("--quick", action="store_true", help="short samples, nothing is written")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return int(not PATH.exists() or PATH.read_text() != page())
    if not options.table:
        run(options.robots, tuple(filter(None, options.functions.split(","))), options.quick)
    if not options.quick:
        PATH.write_text(page())
    return 0


def run(robots: list[str], functions: tuple[str, ...], quick: bool) -> None:
    for case in chosen(robots):
        found = measure(Framed(case, functions or NAMES, QUICK if quick else FULL))
        if quick:
            continue
        before = results.read(SOURCE).get("functions", {}).get(case.name, {}) if SOURCE.exists() else {}
        for key in ("functions", "one"):
            found[key] = {**before.get(key, {}), **found[key]}
        results.merge("functions", case.name, found, SOURCE)


if __name__ == "__main__":
    sys.exit(main())
