"""Model predictive control of an iiwa14 whose tip draws a figure of eight: tracking error and time of a control step.

Weights, horizon and curve are those of the paper's own code (plancherb1/parallel-DDP, LCM_fig8_examples.cu, and
rbd-accelerator-harness, simFig8Tests.h): 64 knots in 0.5 s, one loop in 10 s. Their controller runs 6 iterations in
about 20 ms for each control step, and so does the row of 20 ms. The other rows run one iteration in each millisecond.
As in their code, the planner's arm has no gravity, and the robot's own controller adds the torque of gravity. The
simulated arm has gravity. It takes RK4 steps of one millisecond and holds the torque in each of them. The plan's steps
are those of semi-implicit Euler; theirs are of explicit Euler.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.cli.bound import Call, Sampling, interleaved

Array = NDArray[np.floating]

TIP = "iiwa_link_7"
START = np.array([0.0, 0.25, 0.0, -0.25, 0.0, 0.25, 0.0]) * np.pi
WEIGHTS = np.sqrt([300.0, 1.0, 10.0, 0.005])
"""Of the residuals tip - goal, q - START, v and u: roots of the weights of their squares, on the way and at the end."""
INTERVALS, H = 63, 0.5 / 63
MS = 1e-3
LOOP = 10.0
"""Seconds of one figure of eight."""
NEAR = {"m": 0.05, "rad/s": 0.05}
"""The loop starts where the tip is this close to its first point, and the joints this slow; as in the paper's code."""
PUBLISHED = {"mean tracking error": 0.06, "control step": 0.02, "iterations": 6, "loop": 10.0}
"""About, in SI units, by the code of plancherb1/parallel-DDP and its notes; the paper of 2021 has no such loop."""
ROWS = ("float64 1 ms", "float32 1 ms", "float64 20 ms")
QUICK = ("float64 1 ms",)


def figure_eight(t: Array) -> Array:
    """The goal at times t (...) [s], (..., 3): within 8 mm, 5 in the mean, of the 200 points of the paper's code."""
    phase = 0.474 - 2.0 * np.pi * t / LOOP
    return np.stack([np.full_like(t, 0.6556), 0.3 * np.sin(phase), 0.486 - 0.198 * np.sin(2.0 * phase)], axis=-1)


def last(at: Any, goal: Any) -> dict[str, Any]:
    miss = at.frame(TIP).translation - goal
    return {"residual": [WEIGHTS[0] * miss, WEIGHTS[1] * (at.q - START), WEIGHTS[2] * at.v]}


def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [*last(at, goal)["residual"], WEIGHTS[3] * u]}


class Planner:
    """The plan and its steps: iterations for each period, the plan moved on by whole knots first."""

    times = H * np.arange(INTERVALS + 1)

    def __init__(self, dtype: str, milliseconds: int, iterations: int) -> None:
        robot = condyle.load("iiwa14", gravity=(0.0, 0.0, 0.0))
        problem = condyle.OptimalControl(
            robot, running, last, knots=INTERVALS, dt=H, inputs={"goal": 3}, by_knot=("goal",), bounds={}
        )
        self.solver, self.dtype, self.iterations = problem.compile(dtype=dtype, threads=1), np.dtype(dtype), iterations
        self.dynamics = robot.compile(dtype=dtype, threads=1)
        self.shift = round(milliseconds * MS / H)
        place = MS * np.arange(milliseconds) / H
        self.before = place.astype(int)
        self.part = (place - self.before)[:, None]
        self.seconds = 0.0
        """Of the solver in the last control step."""

    def begin(self, q: Array, v: Array, goal: Array) -> None:
        q, v, goal = (x.astype(self.dtype) for x in (q, v, goal))
        self.plan = self.solver.solve(q, v, goal=goal, most=20)

    def __call__(self, q: Array, v: Array, goal: Array) -> Array:
        """Torques for each millisecond of the period that begins at the state (q, v)."""
        q, v, goal = (x.astype(self.dtype) for x in (q, v, goal))
        start = time.perf_counter()
        for k in range(self.iterations):
            self.plan = self.solver.step(self.plan, q, v, shift=0 if k else self.shift, goal=goal)
        self.seconds = time.perf_counter() - start
        u = self.plan.u.astype(np.float64)
        if not np.isfinite(u).all():
            raise FloatingPointError("the plan is not finite: the controller has diverged")
        return u[self.before] + self.part * (u[self.before + 1] - u[self.before])


class Arm:
    """The simulated robot, which carries its own weight: torque is added to that of gravity."""

    def __init__(self) -> None:
        self.dynamics = condyle.load("iiwa14").compile(integrator="rk4", threads=1, frames=(TIP,))

    def after(self, q: Array, v: Array, torques: Array) -> tuple[Array, Array]:
        """The state after some milliseconds, a torque in each."""
        for u in torques:
            q, v = self.dynamics.step(q, v, u + self.dynamics.generalized_gravity(q), MS)
        return q, v

    def tip(self, q: Array) -> Array:
        return self.dynamics.frame_placements(q).translation[0]


def measure(row: str, quick: bool) -> dict[str, Any]:
    """The loop closed on one core: approach first, then one figure of eight (0.3 s of it where quick)."""
    dtype, period, _ = row.split()
    run = Run(dtype, int(period), 1 if period == "1" else 6)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    gc.disable()
    try:
        approach = run.until(lambda run: run.near(), 0.0, 5.0)
        run.begin_counting()
        start = run.time
        run.until(lambda run: run.time - start >= (0.3 if quick else LOOP) - 1e-9, 1.0, 2.0 * LOOP)
        alone = dynamics_alone(run.planner)
    finally:
        gc.enable()
        os.sched_setaffinity(0, cores)
    found = run.answer()
    share = run.planner.iterations * sum(alone.values()) / found["step_us"]["p50"]
    return {"approach_s": approach, **found, "dynamics_us": alone, "dynamics_share": share}


class Run:
    """The closed loop. A plan is made in the period before the one that it is for, from the state predicted there."""

    def __init__(self, dtype: str, milliseconds: int, iterations: int) -> None:
        self.arm, self.period = Arm(), milliseconds * MS
        self.planner = Planner(dtype, milliseconds, iterations)
        self.q, self.v, self.torques = START.copy(), np.zeros(7), np.zeros((milliseconds, 7))
        self.planner.begin(self.q, self.v, figure_eight(0.0 * self.planner.times))
        self.time, self.course = 0.0, 0.0
        self.begin_counting()

    def begin_counting(self) -> None:
        self.errors, self.steps = list[float](), list[float]()
        self.solver, self.processor = list[float](), list[float]()

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
        start, busy = time.perf_counter(), time.thread_time()
        ahead = self.arm.after(self.q, self.v, self.torques)
        torques = self.planner(*ahead, figure_eight(self.course + speed * (self.period + self.planner.times)))
        self.steps.append(time.perf_counter() - start)
        self.processor.append(time.thread_time() - busy)
        self.solver.append(self.planner.seconds)
        for u in self.torques:
            self.q, self.v = self.arm.after(self.q, self.v, u[None])
            self.time, self.course = self.time + MS, self.course + speed * MS
            self.errors.append(float(np.linalg.norm(self.arm.tip(self.q) - figure_eight(np.array(self.course)))))
        self.torques = torques

    def answer(self) -> dict[str, Any]:
        """Times on the wall, and of the processor: their difference is what else ran on the core."""
        error, step, busy, solver = (np.array(x) for x in (self.errors, self.steps, self.processor, self.solver))
        step, busy, solver = 1e6 * step, 1e6 * busy, 1e6 * solver
        return {
            "control_steps": len(step),
            "tracking_error_m": {"mean": error.mean(), "rms": np.sqrt((error**2).mean()), "max": error.max()},
            "step_us": {f"p{p}": float(np.percentile(step, p)) for p in (1, 50, 90, 99, 99.9)} | {"max": step.max()},
            "step_processor_us": {f"p{p}": float(np.percentile(busy, p)) for p in (50, 99, 99.9)},
            "solver_us": {f"p{p}": float(np.percentile(solver, p)) for p in (50, 99)},
            "late": float((step > self.period * 1e6).mean()),
        }


def dynamics_alone(planner: Planner) -> dict[str, float]:
    """Microseconds of the dynamics in an iteration, called alone: the least of many times. Trials are two: one before
    the step, one with it."""
    dynamics = planner.dynamics
    q, v, a = (np.tile(x, (INTERVALS, 1)).astype(planner.dtype) for x in (START, 0.1 * np.ones(7), np.ones(7)))
    calls: dict[str, Call] = {
        "did of all knots": lambda: dynamics.inverse_dynamics_derivatives(q, v, a),
        "m of all knots": lambda: dynamics.mass_matrix(q),
        "id of all knots": lambda: dynamics.inverse_dynamics(q, v, a),
        "id of all knots again": lambda: dynamics.inverse_dynamics(q, v, a),
    }
    return {name: spread.minimum / 1e3 for name, spread in interleaved(calls, Sampling()).items()}


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    """Heading to table, its head first, from measured rows alone."""
    head = [
        "control step",
        "mean error, mm",
        "largest error, mm",
        "p50, us",
        "of it the solver, us",
        "p99, us",
        "p99 of processor time, us",
        "steps longer than the period",
        "share of the dynamics",
    ]
    loop = [head]
    for name in ROWS:
        row = rows.get(name)
        if row is None:
            loop.append([name, "not measured"])
            continue
        error, step = row["tracking_error_m"], row["step_us"]
        numbers = [
            f"{1e3 * error['mean']:.1f}",
            f"{1e3 * error['max']:.1f}",
            f"{step['p50']:.0f}",
            f"{row['solver_us']['p50']:.0f}",
            f"{step['p99']:.0f}",
            f"{row['step_processor_us']['p99']:.0f}",
        ]
        loop.append([name, *numbers, f"{row['late']:.2%}", f"{row['dynamics_share']:.0%}"])
    published = [f"{1e3 * PUBLISHED['mean tracking error']:.0f}", *["-"] * (len(head) - 2)]
    loop.append(["published, approximately, 20 ms", *published])
    return {"The loop": loop}
