"""The closed loop of a robot on a fixed base in MuJoCo: one iteration in each millisecond.

A plan begins at the state that is predicted for the end of the millisecond in which it is made; its first torque is
held for the next one.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl
from experiments.whole.world import MS, World

Array = NDArray[np.floating]


BARRIER = 1e-3
"""The least mu: knots are longer than a control step, so that plans are not moved on."""


class Run:
    """goal(t): what is wanted at times t (n), (n, size). near(q, v): whether the approach to goal(0) is over."""

    def __init__(
        self,
        robot: condyle.Robot,
        problem: OptimalControl,
        start: Array,
        goal: Callable[[Array], Array],
        near: Callable[[Array, Array], bool],
    ) -> None:
        self.robot, self.goal, self.near = robot, goal, near
        self.solver, self.dynamics = problem.compile(threads=1), robot.compile(threads=1)
        self.world = World(robot, (), start, np.zeros(robot.nv))
        self.ahead = MS + problem.dt * np.arange(problem.knots + 1)
        self.time, self.course = 0.0, 0.0
        self.torque = self.dynamics.generalized_gravity(start)
        self.plan = self.solver.solve(start, np.zeros(robot.nv), goal=goal(0.0 * self.ahead))
        if not bool(self.plan.solved):
            raise FloatingPointError(f"the first plan: {self.plan}")
        self.begin_counting()

    def begin_counting(self) -> None:
        self.seconds, self.processor, self.states = list[float](), list[float](), list[Array]()
        self.torques, self.courses = list[Array](), list[float]()

    def step(self, speed: float) -> None:
        """A millisecond, the goal moving at `speed` times its own."""
        world, goal = self.world, self.goal(self.course + speed * self.ahead)
        start, busy = time.perf_counter(), time.thread_time()
        after = self.dynamics.step(world.q, world.v, self.torque, MS)
        self.plan = self.solver.step(self.plan, after.q, after.v, shift=0, barrier=BARRIER, goal=goal)
        self.seconds.append(time.perf_counter() - start)
        self.processor.append(time.thread_time() - busy)
        world.advance(self.torque)
        self.torque = self.plan.u[0].copy()
        self.time, self.course = self.time + MS, self.course + speed * MS
        self.states.append(world.q)
        self.torques.append(self.torque)
        self.courses.append(self.course)

    def measured(self, seconds: float) -> dict[str, Any]:
        """The approach first, which is not counted, then `seconds` of the course."""
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cores)})
        gc.disable()
        try:
            while not self.near(self.world.q, self.world.v) and self.time < 5.0:
                self.step(0.0)
            approach = self.time
            self.begin_counting()
            while self.time - approach < seconds - 1e-9:
                self.step(1.0)
        finally:
            gc.enable()
            os.sched_setaffinity(0, cores)
        us, busy = 1e6 * np.array(self.seconds), 1e6 * np.array(self.processor)
        return {
            "approach_s": approach,
            "control_steps": len(us),
            "step_us": {f"p{p}": float(np.percentile(us, p)) for p in (1, 50, 99)} | {"max": float(us.max())},
            "step_processor_us": {f"p{p}": float(np.percentile(busy, p)) for p in (50, 99)},
            "late": float((us > 1e6 * MS).mean()),
            "torque": float(np.abs(np.array(self.torques) / self.robot.effort).max()),
        }


def error_mm(places: Array, wanted: Array) -> dict[str, float]:
    """Of points (..., 3)."""
    miss = 1e3 * np.linalg.norm(places - wanted, axis=-1)
    return {"mean": float(miss.mean()), "max": float(miss.max())}


def table_of(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[list[str]]:
    """Of rows with what `measured` answers, "error_mm", and perhaps "least_distance_mm"."""
    head = ["row", "mean error, mm", "largest, mm", "least distance, mm", "largest torque / limit"]
    table = [[*head, "p50, us", "p99, us", "of the processor, p50", "p99", "longer than 1 ms"]]
    for name in names:
        row = rows.get(name)
        if row is None:
            table.append([name, "not measured"])
            continue
        error, step, busy = row["error_mm"], row["step_us"], row["step_processor_us"]
        gap = f"{row['least_distance_mm']:.1f}" if "least_distance_mm" in row else "-"
        numbers = [f"{error['mean']:.1f}", f"{error['max']:.1f}", gap, f"{row['torque']:.2f}"]
        times = [f"{x:.0f}" for x in (step["p50"], step["p99"], busy["p50"], busy["p99"])]
        table.append([name, *numbers, *times, f"{row['late']:.2%}"])
    return table
