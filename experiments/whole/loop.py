"""The closed loop of a robot with legs: a control step each H seconds, feedback at 1 kHz between, and pushes."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import Plan, Solver
from experiments.whole.world import MS, World

Array = NDArray[np.floating]

DELAY = 2
"""Milliseconds from a state to torques of the plan that begins there."""
WARM = 20
"""Control steps that are not counted."""


class Push(NamedTuple):
    """A force [N, world] on the root, from `begin` for `seconds`."""

    begin: float
    seconds: float
    force: tuple[float, float, float]


class Walker(Protocol):
    """What a robot with legs is here."""

    robot: condyle.Robot
    stance: Array
    h: float
    least_height: float

    def inputs(self, time: float) -> dict[str, Array]: ...


class Loop:
    """walker: robot, stance, inputs(time). pushes: forces on the root."""

    def __init__(self, walker: Walker, solver: Solver, world: World, pushes: Sequence[Push] = ()) -> None:
        self.walker, self.solver, self.world, self.pushes = walker, solver, world, pushes
        self.time = 0.0
        self.limit = walker.robot.effort[-solver.problem.nu :]
        self.plan = solver.solve(world.q, world.v, **walker.inputs(0.0))
        if not bool(self.plan.solved):
            raise FloatingPointError(f"the first plan: {self.plan}")
        self.held = Held(self.plan, walker)
        self.seconds, self.gain_seconds = list[float](), list[float]()
        self.misses, self.ratios, self.largest = list[Array](), list[float](), 0.0
        self.states = list[Array]()

    def until(self, end: float) -> None:
        """FloatingPointError where the robot falls."""
        gc.disable()
        try:
            while self.time < end - 1e-9:
                self.period()
        finally:
            gc.enable()

    def period(self) -> None:
        world, walker = self.world, self.walker
        before, inputs = self.held, walker.inputs(self.time)
        q, v = world.q.copy(), world.v.copy()
        start = time.perf_counter()
        self.plan = self.solver.step(self.plan, q, v, shift=1 if self.seconds else 0, **inputs)
        middle = time.perf_counter()
        self.held = Held(self.plan, walker)
        self.seconds.append(middle - start)
        self.gain_seconds.append(time.perf_counter() - middle)
        steps = round(walker.h / MS)
        for k in range(steps):
            held, part = (before, steps + k) if k < DELAY and len(self.seconds) > 1 else (self.held, k)
            u = np.clip(held.torques(world.q, world.v, part * MS / walker.h), -self.limit, self.limit)
            world.advance(u, self.push(self.time + k * MS))
            self.ratios.append(world.friction())
        self.largest = max(self.largest, float(np.abs(u / self.limit).max()))
        self.time += walker.h
        self.look(inputs)

    def push(self, t: float) -> Array | None:
        forces = [p.force for p in self.pushes if p.begin <= t < p.begin + p.seconds]
        return np.sum(forces, axis=0) if forces else None

    def look(self, inputs: dict[str, Array]) -> None:
        q, wanted = self.world.q, inputs["q_wanted"][1]
        self.states.append(np.concatenate([q, self.world.v]))
        self.misses.append(np.append(q[:2] - wanted[:2], q[2] - wanted[2]))
        if not q[2] > self.walker.least_height:
            raise FloatingPointError("the robot fell")


class Held:
    """The first two steps of a plan, with feedback."""

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
