"""Model predictive control of an iiwa14 whose tip draws a figure of eight: tracking error, time a control step.

Weights, horizon and the curve are those of the paper's own code (plancherb1/parallel-DDP, LCM_fig8_examples.cu, and
rbd-accelerator-harness, simFig8Tests.h): 64 knots in 0.5 s, a loop of 10 s. Theirs runs 6 iterations in some 20 ms a
control step; ours one iteration in each millisecond. As there, the planner's arm is weightless: the robot's own
controller adds the torque of gravity. The simulated arm has gravity, takes steps of RK4 of a millisecond, and holds the
torque in each of them.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments.problems import Functions, Problem, Weights
from experiments.tracking import LENGTHS, PARTS, Controller

Array = NDArray[np.floating]

TIP = "iiwa_link_7"
START = np.array([0.0, 0.25, 0.0, -0.25, 0.0, 0.25, 0.0]) * np.pi
WEIGHTS = Weights(300.0, 1.0, 10.0, 0.005)
PERIOD = 1e-3
LOOP = 10.0
"""Seconds of one figure of eight."""
NEAR = {"m": 0.05, "rad/s": 0.05}
"""The loop starts where the tip is this close to its first point, and the joints this slow; as in the paper's code."""
ROWS = ("iiwa14 float64", "iiwa14 float32")
QUICK = ("iiwa14 float64",)


def figure_eight(t: Array) -> Array:
    """The goal at times t (...) [s], (..., 3): within 8 mm, 5 in the mean, of the 200 points of the paper's code."""
    phase = 0.474 - 2.0 * np.pi * t / LOOP
    return np.stack([np.full_like(t, 0.6556), 0.3 * np.sin(phase), 0.486 - 0.198 * np.sin(2.0 * phase)], axis=-1)


def problem() -> Problem:
    robot = condyle.load("iiwa14", gravity=(0.0, 0.0, 0.0))
    return Problem(robot, TIP, 64, 0.5 / 63, WEIGHTS, WEIGHTS, START)


class Arm:
    """The simulated robot, which carries its own weight: torque is added to that of gravity."""

    def __init__(self) -> None:
        self.dynamics = condyle.load("iiwa14").compile(integrator="rk4", threads=1, frames=(TIP,))

    def after(self, q: Array, v: Array, u: Array) -> tuple[Array, Array]:
        return self.dynamics.step(q, v, u + self.dynamics.generalized_gravity(q), PERIOD)

    def tip(self, q: Array) -> Array:
        return self.dynamics.frame_placements(q).translation[0]


def measure(row: str, quick: bool) -> dict[str, Any]:
    """The loop closed on one core: approach first, then one figure of eight (0.3 s of it where quick)."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    functions = Functions(problem(), dtype=row.split()[1], threads=1)
    run = Run(functions)
    approach = run.until(lambda run: run.near(), 0.0, 5.0)
    start = run.time
    run.begin_counting()
    gc.disable()
    run.until(lambda run: run.time - start >= (0.3 if quick else LOOP) - 1e-9, 1.0, 2.0 * LOOP)
    gc.enable()
    return {"approach_s": approach, **run.answer(), "shares": run.shares(), "dynamics_us": dynamics_alone(functions)}


class Run:
    """The closed loop, period by period. A torque is applied one period after the state that it was computed from."""

    def __init__(self, functions: Functions) -> None:
        self.arm, self.horizon = Arm(), functions.problem.h * np.arange(functions.problem.knots)
        self.controller = Controller(functions, PERIOD)
        self.q, self.v, self.u = START.copy(), np.zeros(7), np.zeros(7)
        self.controller.begin(self.q, self.v, self.u)
        self.time, self.course = 0.0, 0.0
        self.begin_counting()

    def begin_counting(self) -> None:
        self.errors, self.steps, self.parts, self.lengths = list[float](), list[float](), list[Array](), list[float]()

    def near(self) -> bool:
        miss = np.linalg.norm(self.arm.tip(self.q) - figure_eight(np.array(0.0)))
        return bool(miss < NEAR["m"] and np.linalg.norm(self.v) < NEAR["rad/s"])

    def until(self, done: Callable[[Run], bool], speed: float, most: float) -> float:
        """Control steps until done, the goal moving at `speed` times its own; the seconds of the arm's time it took."""
        begin = self.time
        while not done(self):
            if self.time - begin > most:
                raise RuntimeError(f"not done after {most} s: the arm's tip is at {self.arm.tip(self.q)}")
            self.step(speed)
        return self.time - begin

    def step(self, speed: float) -> None:
        start = time.perf_counter()
        ahead = self.arm.after(self.q, self.v, self.u)
        goal = figure_eight(self.course + speed * (PERIOD + self.horizon))
        torque = self.controller(*ahead, goal).astype(np.float64)
        self.steps.append(time.perf_counter() - start)
        self.parts.append(self.controller.seconds.copy())
        self.lengths.append(float(self.controller.length))
        self.q, self.v = self.arm.after(self.q, self.v, self.u)
        self.u, self.time, self.course = torque, self.time + PERIOD, self.course + speed * PERIOD
        self.errors.append(float(np.linalg.norm(self.arm.tip(self.q) - figure_eight(np.array(self.course)))))

    def answer(self) -> dict[str, Any]:
        error, step = np.array(self.errors), np.array(self.steps) * 1e6
        return {
            "control_steps": len(error),
            "tracking_error_m": {"mean": error.mean(), "rms": np.sqrt((error**2).mean()), "max": error.max()},
            "step_us": {f"p{p}": float(np.percentile(step, p)) for p in (1, 50, 90, 99, 99.9)} | {"max": step.max()},
            "late": float((step > PERIOD * 1e6).mean()),
            "lengths": {str(s): float((np.array(self.lengths) == s).mean()) for s in np.unique(self.lengths)},
        }

    def shares(self) -> dict[str, float]:
        """Microseconds of the parts of a control step, medians; `rest` is what Python does around them."""
        parts = np.median(np.array(self.parts), axis=0) * 1e6
        rest = float(np.median(self.steps) * 1e6 - parts.sum())
        return {**dict(zip(PARTS, parts.tolist(), strict=True)), "rest": rest}


def dynamics_alone(functions: Functions) -> dict[str, float]:
    """Microseconds of the dynamics in a control step, called alone: the least of many times."""
    knots = functions.problem.knots
    dynamics, dtype = functions.dynamics, functions.dtype
    q, v, u = (np.tile(x, (knots, 1)).astype(dtype) for x in (START, 0.1 * np.ones(7), np.ones(7)))
    steps = np.ones((len(LENGTHS), knots, 7), dtype)
    return {
        "fd of all knots": least(lambda: dynamics.forward_dynamics(q, v, u)),
        "did of all knots": least(lambda: dynamics.inverse_dynamics_derivatives(q, v, u)),
        "m of all knots": least(lambda: dynamics.mass_matrix(q)),
        "rollouts of fd": least(lambda: dynamics.rollout(q[0], v[0], steps, np.asarray(1e-3, dtype), last=True)),
    }


def least(call: Callable[[], Any], times: int = 200) -> float:
    found = np.inf
    for _ in range(times):
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found * 1e6
