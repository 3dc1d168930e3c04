"""The closed loop of a robot with legs: a control step each H seconds, feedback at 1 kHz between, and pushes.

A control step is one iteration from the state that the world has; two more where the plan violates its limits by more
than VIOLATED, as after a push. Torques of the new plan begin DELAY later.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl, Plan, Solver
from experiments.whole.world import MS, SLIDES, Ball, World

Array = NDArray[np.floating]

DELAY = 2
"""Milliseconds from a state to torques of the plan that begins there."""
WARM = 20
"""Control steps that are not counted."""
VIOLATED, MOST = 0.1, 3
"""The violation of a plan from which on there is another iteration, and the most iterations of a control step."""
LASTS = 0.1
"""Seconds of a push."""


class Push(NamedTuple):
    """A force [N, world] on the root, from `begin` on."""

    begin: float
    force: tuple[float, float, float]


class Walker(Protocol):
    """A robot with legs: its stance, seconds of a knot, a height [m] below which it has fallen, and references."""

    robot: condyle.Robot
    stance: NDArray[np.float64]
    h: float
    least_height: float

    def problem(self) -> OptimalControl: ...

    def balls(self) -> list[Ball]: ...

    def inputs(self, time: float) -> dict[str, Any]: ...


class OnFeet:
    """A robot that follows references of its state, its feet and its torques, with contacts by schedule."""

    robot: condyle.Robot
    frames: tuple[str, ...]
    kind: str
    knots: int
    h: float

    def contacts(self) -> list[condyle.Contact]:
        """Of a kind of `condyle.Contact`. A foot that lands stops within a step: kd = 1 / h."""
        return [condyle.Contact(foot, self.kind, gains=(0.0, 1.0 / self.h)) for foot in self.frames]

    @cached_property
    def held(self) -> condyle.Dynamics:
        return self.robot.compile(threads=1, contacts=self.contacts())

    @cached_property
    def exact(self) -> condyle.Dynamics:
        return self.robot.compile(threads=1, frames=self.frames)

    def points(self, q: Array) -> Array:
        """Where the feet are [m]."""
        return self.exact.frame_placements(q).translation

    def follows(self, running: Callable[..., Any], last: Callable[..., Any]) -> OptimalControl:
        """The problem with these costs, which take the references by name."""
        sizes = {"active": "n_contacts", "q_wanted": "nq", "v_wanted": "nv", "feet": 3 * len(self.frames)}
        return OptimalControl(
            self.robot,
            running,
            last,
            knots=self.knots,
            dt=self.h,
            inputs={**sizes, "u_wanted": self.robot.nv - 6},
            by_knot=tuple(sizes),
            contacts=self.contacts(),
            impacts=False,
        )


class Loop:
    """The robot stands at first."""

    def __init__(self, walker: Walker, solver: Solver, pushes: Sequence[Push] = ()) -> None:
        self.walker, self.solver, self.pushes = walker, solver, pushes
        self.world = World(walker.robot, walker.balls(), walker.stance, np.zeros(walker.robot.nv))
        self.time = 0.0
        self.limit = walker.robot.effort[6:]
        self.plan = solver.solve(self.world.q, self.world.v, **walker.inputs(0.0))
        if not bool(self.plan.solved):
            raise FloatingPointError(f"the first plan: {self.plan}")
        self.held = Held(self.plan, walker)
        self.seconds, self.processor, self.iterations = list[float](), list[float](), list[int]()
        self.misses, self.ratios, self.largest = list[Array](), list[float](), 0.0

    def until(self, end: float) -> None:
        """FloatingPointError where the robot falls."""
        gc.disable()
        try:
            while self.time < end - 1e-9:
                self.period()
        finally:
            gc.enable()

    def period(self) -> None:
        """A control step, and the world until the next one."""
        world, walker, before = self.world, self.walker, self.held
        inputs, steps = walker.inputs(self.time), round(walker.h / MS)
        self.improve(inputs)
        for k in range(steps):
            held, part = (before, steps + k) if k < DELAY and self.time > 0.0 else (self.held, k)
            u = np.clip(held.torques(world.q, world.v, part * MS / walker.h), -self.limit, self.limit)
            self.largest = max(self.largest, float(np.abs(u / self.limit).max()))
            world.advance(u, self.push(self.time + k * MS))
            self.ratios.append(world.friction())
        self.time += walker.h
        q = world.q
        self.misses.append(q[:3] - inputs["q_wanted"][1, :3])
        if not q[2] > walker.least_height:
            raise FloatingPointError("the robot fell")

    def improve(self, inputs: Mapping[str, Any]) -> None:
        """The next plan."""
        q, v, first, iterations = self.world.q.copy(), self.world.v.copy(), not self.seconds, 1
        start, busy = time.perf_counter(), time.thread_time()
        plan = self.solver.step(self.plan, q, v, shift=0 if first else 1, **inputs)
        while float(plan.violation) > VIOLATED and iterations < MOST:
            plan = self.solver.step(plan, q, v, shift=0, **inputs)
            iterations += 1
        self.seconds.append(time.perf_counter() - start)
        self.processor.append(time.thread_time() - busy)
        self.iterations.append(iterations)
        self.plan, self.held = plan, Held(plan, self.walker)

    def push(self, t: float) -> Array | None:
        forces = [push.force for push in self.pushes if push.begin <= t < push.begin + LASTS]
        return np.sum(forces, axis=0) if forces else None

    def answer(self) -> dict[str, Any]:
        """What was measured, in microseconds, mm and parts."""
        us, busy = 1e6 * np.array(self.seconds[WARM:]), 1e6 * np.array(self.processor[WARM:])
        miss, ratios = 1e3 * np.array(self.misses), np.array(self.ratios)
        base = np.linalg.norm(miss[:, :2], axis=1)
        return {
            "control_steps": len(us),
            "period_us": 1e6 * self.walker.h,
            "step_us": {f"p{p}": float(np.percentile(us, p)) for p in (1, 50, 99)} | {"max": float(us.max())},
            "step_processor_us": {f"p{p}": float(np.percentile(busy, p)) for p in (1, 50, 99)},
            "late": float((us > 1e6 * self.walker.h).mean()),
            "iterations": {str(k): float(np.mean(np.array(self.iterations) == k)) for k in range(1, MOST + 1)},
            "base_mm": {"mean": float(base.mean()), "max": float(base.max())},
            "height_mm": {"mean": float(np.abs(miss[:, 2]).mean()), "max": float(np.abs(miss[:, 2]).max())},
            "friction": {"p99": float(np.percentile(ratios, 99)), "slides": float((ratios > SLIDES).mean())},
            "torque": self.largest,
            "forward_m": float(self.world.q[0]),
        }


def walked(walker: Walker, seconds: float, pushes: Sequence[Push] = ()) -> dict[str, Any]:
    """A loop measured; with "fell" where it fell, at that time."""
    solver = walker.problem().compile(threads=1)
    loop = Loop(walker, solver, pushes)
    first = {"first_iterations": int(loop.plan.iterations), "pushes": [[p.begin, *p.force] for p in pushes]}
    try:
        loop.until(seconds)
    except FloatingPointError as error:
        return {**first, "fell": f"{error}, at {loop.time:.2f} s", **loop.answer()}
    return {**first, **loop.answer(), "iteration_us": alone(loop)}


def alone(loop: Loop) -> dict[str, float]:
    """Of one iteration, called again and again from one plan."""
    inputs, times = loop.walker.inputs(loop.time), list[float]()
    q, v = loop.world.q.copy(), loop.world.v.copy()
    for _ in range(200):
        start = time.perf_counter()
        loop.solver.step(loop.plan, q, v, **inputs)
        times.append(1e6 * (time.perf_counter() - start))
    return {f"p{p}": float(np.percentile(times, p)) for p in (0, 50, 99)}


def largest_push(walker: Walker, begin: float, forces: Sequence[float], seconds: float) -> dict[str, float]:
    """By direction, the largest of these forces [N] after which the robot still walks, all smaller ones too."""
    solver, answers = walker.problem().compile(threads=1), dict[str, float]()
    for name, x, y in (("forward", 1.0, 0.0), ("back", -1.0, 0.0), ("left", 0.0, 1.0), ("right", 0.0, -1.0)):
        answers[name] = 0.0
        for force in forces:
            try:
                Loop(walker, solver, [Push(begin, (x * force, y * force, 0.0))]).until(begin + seconds)
            except FloatingPointError:
                break
            answers[name] = force
    return answers


class Held:
    """The first two steps of a plan, with its feedback."""

    def __init__(self, plan: Plan, walker: Walker) -> None:
        self.robot = walker.robot
        self.q, self.v, self.u = plan.q[:3], plan.v[:3], plan.u[:2]
        self.K = plan.K[:2]
        self.dq = [self.robot.difference(self.q[k], self.q[k + 1]) for k in range(2)]

    def torques(self, q: Array, v: Array, part: float) -> Array:
        """u at a state; part: how many steps are over."""
        k = min(int(part), 1)
        part = min(part - k, 1.0)
        dq = self.robot.difference(self.robot.integrate(self.q[k], part * self.dq[k]), q)
        dv = v - self.v[k] - part * (self.v[k + 1] - self.v[k])
        return self.u[k] + self.K[k] @ np.concatenate([dq, dv])


def tables_of(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[list[str]]]:
    """Of rows that `walked` made."""
    head = ["row", "iteration alone, p50, us", "control step, p50, us", "p99", "of the processor, p50", "p99"]
    times = [[*head, "steps of 2 or 3 iterations", "longer than the period"]]
    kept = [["row", "walks", "base off by, mean, mm", "largest", "friction, p99", "slides", "largest torque / limit"]]
    for name in names:
        row = rows.get(name)
        if row is None:
            times.append([name, "not measured"])
            continue
        step, busy = row["step_us"], row["step_processor_us"]
        own = f"{row['iteration_us']['p50']:.0f}" if "iteration_us" in row else "-"
        numbers = [f"{x:.0f}" for x in (step["p50"], step["p99"], busy["p50"], busy["p99"])]
        times.append([name, own, *numbers, f"{1.0 - row['iterations']['1']:.1%}", f"{row['late']:.1%}"])
        base, friction = row["base_mm"], row["friction"]
        said = row.get("fell", f"{row['forward_m']:.2f} m")
        numbers = [f"{base['mean']:.0f}", f"{base['max']:.0f}", f"{friction['p99']:.2f}", f"{friction['slides']:.2%}"]
        kept.append([name, said, *numbers, f"{row['torque']:.2f}"])
    return {"A control step": times, "What is kept": kept}


def push_table(row: Mapping[str, Any] | None) -> list[list[str]]:
    """Of a row that `largest_push` made."""
    head = ["", "forward", "back", "left", "right"]
    if row is None:
        return [head, ["largest push", "not measured"]]
    return [head, [f"N, for {LASTS} s", *(f"{row['largest'][name]:.0f}" for name in head[1:])]]
