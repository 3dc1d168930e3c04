"""Motion with contacts compared with Pinocchio's C++: writes results/contacts.json and CONTACTS.md.

    python -m benchmarks.contacts [--quick] [ROBOT ...]
    python -m benchmarks.contacts --table          CONTACTS.md alone; with --check exit status 1 if it is out of date

N = 256, float64 unless said otherwise, one thread, one core, calls in turn: `cfd` and `dcfd` with `fd` and
`dfd`, and aba, constraintDynamics and computeConstraintDynamicsDerivatives of Pinocchio, whose answers are compared
first; every pattern of flags; a step with contacts and one without; a closed four-bar over 10 s.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import BATCH, pinned
from benchmarks.contacts_closure import closure
from benchmarks.contacts_table import PATH, SOURCE, page
from benchmarks.robots import TALOS, Case
from benchmarks.run import FULL, QUICK
from benchmarks.steps_common import DT, Array, reusing
from condyle import Contact, Dynamics
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.cli.check import relative
from condyle.cli.rivals.pinocchio_cpp import PinocchioCpp
from condyle.errors import BuildError
from condyle.functions import function_of

RIVAL = Path(__file__).parent / "rivals" / "pinocchio_contacts.cpp"
MOTION, SLOPES, COMPARED = 1e-9, 1e-7, 16


@dataclass(frozen=True)
class Subject:
    """A robot that stands on these frames."""

    case: Case
    kind: str
    frames: tuple[str, ...]

    @cached_property
    def robot(self) -> condyle.Robot:
        return self.case.load()

    def dynamics(self, dtype: str = "float64", held: bool = True) -> Dynamics:
        contacts = [Contact(frame, self.kind) for frame in self.frames] if held else ()
        return self.robot.compile(dtype=dtype, threads=1, contacts=contacts)

    @cached_property
    def states(self) -> tuple[Array, Array, Array]:
        """q, v, tau at random."""
        rng = np.random.default_rng(0)
        q, v = self.robot.random_state(BATCH, rng)
        return q, v, rng.normal(size=v.shape)

    @property
    def on(self) -> Array:
        return np.ones((BATCH, len(self.frames)))


def _feet(ending: str) -> tuple[str, ...]:
    return tuple(f"{leg}_{ending}" for leg in ("lf", "rf", "lh", "rh"))


HYQ = Case("hyq-floating", "hyq_description/robots/hyq_no_sensors.urdf", floating=True)
ANYMAL = Case("anymal-floating", "anymal_c_simple_description/urdf/anymal.urdf", floating=True)
SOLES = ("left_sole_link", "right_sole_link")
SUBJECTS = {
    "hyq-floating": Subject(HYQ, "point", _feet("foot")),
    "anymal-floating": Subject(ANYMAL, "point", tuple(name.upper() for name in _feet("foot"))),
    "talos-reduced-floating": Subject(Case("talos-reduced-floating", TALOS, floating=True), "plane", SOLES),
}


class Theirs:
    """Pinocchio's constrained dynamics of a subject, as calls."""

    def __init__(self, subject: Subject) -> None:
        self.rival = PinocchioCpp(subject.robot, frames=subject.frames)
        self.built, self.kind = self.rival.build(RIVAL), subject.kind

    def calls(self, states: tuple[Array, Array, Array]) -> dict[str, Call]:
        names = {"aba": "fd", **{word: f"{self.kind} {word}" for word in ("motion", "slopes", "both")}}
        return {f"pinocchio {word}": self.built.call(name, states) for word, name in names.items()}

    def differences(self, subject: Subject) -> dict[str, float]:
        """Of answers, relative to the largest; BuildError where they are not the same."""
        dyn, states = subject.dynamics(), tuple(x[:COMPARED] for x in subject.states)
        given = (*states, subject.on[:COMPARED])
        rows = list(Contact(subject.frames[0], subject.kind).rows)
        found = dict[str, float]()
        for function, word, most in (("cfd", "motion", MOTION), ("dcfd", "both", SLOPES)):
            ours = [x if x.shape[1] == subject.robot.nv else x[:, :, rows] for x in dyn.function(function)(*given)]
            ours = [np.ascontiguousarray(x) for x in ours]
            theirs = [np.zeros_like(x) for x in ours]
            self.built.call(f"{self.kind} {word}", states, theirs)()
            found[function] = max(relative(one, other) for one, other in zip(theirs, ours, strict=True))
            if not found[function] < most:
                raise BuildError(f"Pinocchio and condyle differ by {found[function]:.1e} in {function}")
        return found


def measure(subject: Subject, sampling: Sampling) -> dict[str, Any]:
    theirs = Theirs(subject)
    differences = theirs.differences(subject)
    dyn, free, single = subject.dynamics(), subject.dynamics(held=False), subject.dynamics("float32")
    q, v, tau = subject.states
    given, h = (q, v, tau), np.full(BATCH, DT)
    small = [x.astype(np.float32) for x in (*given, subject.on)]
    calls = {
        "fd": reusing(free.forward_dynamics, *given),
        "cfd": reusing(dyn.constrained_forward_dynamics, *given, subject.on),
        "dfd": reusing(free.forward_dynamics_derivatives, *given),
        "dcfd": reusing(dyn.constrained_forward_dynamics_derivatives, *given, subject.on),
        "fd, float32": reusing(subject.dynamics("float32", False).forward_dynamics, *small[:3]),
        "cfd, float32": reusing(single.constrained_forward_dynamics, *small),
        "dcfd, float32": reusing(single.constrained_forward_dynamics_derivatives, *small),
        "impact": reusing(dyn.impulse_dynamics, q, v, subject.on, 0.5 * subject.on),
        "step": reusing(free.step, *given, h),
        "step, contacts": reusing(dyn.step, *given, h),
        **theirs.calls(given),
    }
    about = dyn._compiler  # pyright: ignore[reportPrivateUsage]
    found = {
        "nv": subject.robot.nv,
        "kind": subject.kind,
        "contacts": len(subject.frames),
        "rival": dict(theirs.rival.about),
        "differences": differences,
        "violation": violation(subject, dyn),
        "ns": timed(calls, sampling),
        "flags": patterns(subject, dyn, sampling),
        "operations": {name: about.counts(function_of(name)) for name in ("fd", "cfd", "dfd", "dcfd")},
    }
    print(f"{subject.case.name:24s}", {k: round(x["minimum"]) for k, x in found["ns"].items()}, flush=True)
    return found


def timed(calls: Mapping[str, Call], sampling: Sampling) -> dict[str, Any]:
    """Nanoseconds a state, in turn."""
    with pinned():
        found = interleaved(calls, Sampling("cpu", sampling.samples, sampling.sample_s, sampling.longest_s))
    return {name: asdict(ns.per(BATCH)) for name, ns in found.items()}


def patterns(subject: Subject, dyn: Dynamics, sampling: Sampling) -> dict[str, Any]:
    """cfd with every pattern of flags, the same in all states, and with flags at random."""
    made = {
        "".join(map(str, flags)): np.tile(flags, (BATCH, 1)) for flags in product((0, 1), repeat=subject.on.shape[1])
    }
    made["random"] = np.random.default_rng(1).integers(0, 2, subject.on.shape)
    call = dyn.constrained_forward_dynamics
    calls = {name: reusing(call, *subject.states, np.array(flags, np.float64)) for name, flags in made.items()}
    return timed(calls, sampling)


def violation(subject: Subject, dyn: Dynamics) -> float:
    """The largest J a + gamma, relative to the largest acceleration."""
    a, force = dyn.constrained_forward_dynamics(*subject.states, subject.on)
    _, left = dyn.call("cres", [*subject.states[:2], a, force])
    return float(np.abs(left).max() / np.abs(a).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", metavar="ROBOT", help=", ".join(SUBJECTS))
    parser.add_argument("--quick", action="store_true", help="short samples, nothing is written")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return int(not PATH.exists() or PATH.read_text() != page())
    if not options.table:
        run(options.robots or [*SUBJECTS, "closure"], options.quick)
    if not options.quick:
        PATH.write_text(page())
    return 0


def run(names: list[str], quick: bool) -> None:
    for name in names:
        if name == "closure":
            found = closure(1000 if quick else 10_000)
            print(found)
        else:
            found = measure(SUBJECTS[name], QUICK if quick else FULL)
        if not quick:
            results.merge("closure" if name == "closure" else "contacts", name, found, SOURCE)


if __name__ == "__main__":
    sys.exit(main())
