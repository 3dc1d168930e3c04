"""Inverse kinematics and controllers: microseconds a target, a query and a state, beside Pinocchio's C++.

    python -m benchmarks.inverse_kinematics

Writes results/inverse_kinematics.json. 4096 targets that can be reached, within limits, done at 1e-5 m and rad; one
thread, one core, in turn, least times. Pinocchio runs the same iteration from the same starts, for one frame of an arm.
An iteration: one of 50 for all targets. A query: one target with 16 attempts side by side, from Python, the mean of
100. Candidates: one target, 1000 attempts of 12 iterations, none of which ends before. Controllers: at 1024 states.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.arms import FLANGES, TIPS, arm, hand
from benchmarks.bench import pinned
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import COMPILERS, FLAGS, FOLDER
from condyle.cli.rivals.rival import MODEL, SHARED, cpp_compiler, library, pinocchio_headers
from condyle.jobs.controllers import AXES, OPERATIONAL_SPACE, WHOLE_BODY, operational_space, whole_body
from condyle.jobs.inverse_kinematics import PATIENCE, InverseKinematics

TARGETS, STATES, QUERIES = 4096, 1024, 100
RIVAL = Path(__file__).parent / "rivals" / "pinocchio_ik.cpp"
SAMPLING = Sampling("cpu", 15, 0.05, 1.0)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
EFFORT = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])
ZERO = np.zeros(())


@dataclass(frozen=True)
class Subject:
    """Frames of a robot, and targets for them."""

    robot: condyle.Robot
    frames: tuple[str, ...]

    @property
    def problem(self) -> InverseKinematics:
        return self.robot.inverse_kinematics(self.frames)

    def targets(self, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotations and translations of the frames at random states."""
        placed = self.robot.compile(frames=self.frames).frame_placements(self.robot.random_state(TARGETS, 7).q)
        return placed.rotation.astype(dtype), placed.translation.astype(dtype)


def subjects() -> dict[str, Subject]:
    arms = {name: Subject(arm(name), (frame,)) for name, frame in FLANGES.items()}
    floating = condyle.load("iiwa14", floating_base=True)
    others = {"hand, five tips": (hand(), TIPS), "iiwa14 on a floating base": (floating, (FLANGES["iiwa14"],))}
    return {**arms, **{name: Subject(*of) for name, of in others.items()}}


class Theirs:
    """The same iteration with Pinocchio's kinematics, of one frame of an arm."""

    def __init__(self, subject: Subject) -> None:
        headers, compiler = pinocchio_headers(), cpp_compiler(COMPILERS["pinocchio"])
        command = [compiler.path, *FLAGS, *headers.flags, *SHARED, "-I", str(FOLDER)]
        self.about = {"pinocchio": headers.pinocchio, "eigen": headers.eigen, "compiler": compiler.version}
        self._library = library(command, RIVAL, (MODEL,), f"Pinocchio {headers.pinocchio}")
        self._numbers = numbers_of(subject.robot, "Pinocchio", subject.frames)
        self._library.rival_new.restype = ctypes.c_void_p
        self._handle = self._library.rival_new(ctypes.byref(self._numbers.struct()))  # as long as the process
        problem, (q, start) = subject.problem, subject.problem.starts(1)
        vectors = (problem.lower, problem.upper, q[0], start[0], problem.low, problem.low + problem.width, problem.move)
        self._vectors = [np.array(vector, np.float64) for vector in vectors]
        rotation, translation = subject.targets("float64")
        self._arrays = [np.ascontiguousarray(rotation), np.ascontiguousarray(translation)]
        self.q, self.iterations = np.empty((TARGETS, subject.robot.nq)), np.empty(TARGETS)
        self._weight, self._most = float(problem.weights[0, 1]), problem.most

    def __call__(self) -> None:
        pointers = (ctypes.c_void_p * len(self._vectors))(*(vector.ctypes.data for vector in self._vectors))
        inputs = [ctypes.c_void_p(array.ctypes.data) for array in self._arrays]
        outputs = [ctypes.c_void_p(array.ctypes.data) for array in (self.q, self.iterations)]
        numbers = [ctypes.c_double(x) for x in (self._weight, 1e-5, PATIENCE)]
        handle, n, most = ctypes.c_void_p(self._handle), ctypes.c_long(TARGETS), ctypes.c_long(self._most)
        self._library.rival_ik(handle, n, *inputs, pointers, *numbers, most, *outputs)


def measured(subject: Subject, dtype: str, theirs: Theirs | None) -> dict[str, Any]:
    ik, (rotation, translation) = subject.problem.compile(dtype=dtype, threads=1), subject.targets(dtype)
    answer = ik(rotation, translation)
    queries = [ik(rotation[k], translation[k]) for k in range(QUERIES)]
    step = subject.problem.iteration(posed=True).compile(dtype=dtype, threads=1)
    home = () if subject.problem.is_flat else (subject.robot.neutral().astype(dtype),)

    def of_starts(seeds: int, goals: Sequence[np.ndarray], steps: int) -> Call:
        q, start = (np.asarray(x, dtype) for x in subject.problem.starts(seeds))
        zero, (R, p) = ZERO.astype(dtype), goals
        return lambda: step.rollout(q, start, zero, zero, p, R, *home, steps=steps, last=True)

    calls: dict[str, Call] = {
        "targets": lambda: ik(rotation, translation),
        "iterations": of_starts(1, (rotation, translation), 50),
        "queries": lambda: [ik(rotation[k], translation[k]) for k in range(QUERIES)],
        "candidates": of_starts(1000, (rotation[0], translation[0]), 12),
        **({} if theirs is None else {"pinocchio": theirs}),
    }
    ns = {name: times.minimum for name, times in interleaved(calls, SAMPLING).items()}
    found: dict[str, Any] = {
        "target_us": ns["targets"] / TARGETS / 1e3,
        "solved": float(answer.solved.mean()),
        "iterations": float(answer.iterations.mean()),
        "iteration_ns": ns["iterations"] / TARGETS / 50,
        "query_us": ns["queries"] / QUERIES / 1e3,
        "queries_solved": float(np.mean([query.solved for query in queries])),
        "candidates_ms": ns["candidates"] / 1e6,
    }
    if theirs is not None:
        solved, count = theirs.iterations > 0.0, np.abs(theirs.iterations)
        found["pinocchio"] = {
            **theirs.about,
            "target_us": ns["pinocchio"] / TARGETS / 1e3,
            "solved": float(solved.mean()),
            "iterations": float(count.mean()),
            "ratio": ns["pinocchio"] / ns["targets"],
            "same_iterations": float((count == answer.iterations).mean()),
        }
    return found


def controllers(dtype: str) -> dict[str, float]:
    """Microseconds a state of the two controllers."""
    rng, panda, dog = np.random.default_rng(0), arm("panda"), condyle.load("hyq", floating_base=True)
    reach = partial(operational_space, frame=FLANGES["panda"], effort=EFFORT)
    walk = partial(whole_body, frames=FEET, effort=np.full(18, 120.0))
    q, v = panda.random_state(STATES, 1)
    standing = dog.neutral()
    standing[7:] = np.ravel([(-0.1, 0.7 * sign, -1.4 * sign) for sign in (1.0, -1.0, 1.0, -1.0)])
    stands = dog.integrate(standing, 0.15 * rng.standard_normal((STATES, 18)))
    base = rng.standard_normal((STATES, 6)) * [2, 2, 2, 3, 3, 3]
    functions = {
        "operational space, panda": (
            panda.function(reach, OPERATIONAL_SPACE, **AXES), (q, 0.3 * v, np.eye(3), np.array([0.4, 0.1, 0.5]))
        ),
        "whole body, hyq": (
            dog.function(walk, WHOLE_BODY, sizes={"n_feet": 4}, **AXES),
            (stands, 0.3 * rng.standard_normal((STATES, 18)), base, np.zeros((4, 3)), np.ones(4)),
        ),
    }  # fmt: skip
    calls, solved = dict[str, Call](), dict[str, float]()
    for name, (function, arguments) in functions.items():
        f, given = function.compile(dtype=dtype, threads=1), [np.asarray(x, dtype) for x in arguments]
        solved[f"{name}, solved"] = float((f(*given).status == 1).mean())
        calls[name] = partial(f, *given)
    times = interleaved(calls, SAMPLING)
    return {**{name: ns.minimum / STATES / 1e3 for name, ns in times.items()}, **solved}


def main() -> None:
    found = dict[str, Any]()
    with pinned():
        for name, subject in subjects().items():
            theirs = Theirs(subject) if name in FLANGES else None
            found[name] = {dtype: measured(subject, dtype, theirs) for dtype in ("float64", "float32")}
            for dtype, row in found[name].items():
                numbers = {key: round(value, 4) for key, value in row.items() if key != "pinocchio"}
                print(name, dtype, numbers, row.get("pinocchio", ""), flush=True)
        found["controllers"] = {dtype: controllers(dtype) for dtype in ("float64", "float32")}
        print(found["controllers"])
    about = {**results.certificate(), "machine": results.machine(), "targets": TARGETS}
    results.write(results.FOLDER / "inverse_kinematics.json", {**about, "robots": found})


if __name__ == "__main__":
    main()
