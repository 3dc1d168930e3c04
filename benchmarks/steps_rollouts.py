"""Rollouts: with fd and other libraries, with a cost, in float32, by threads, with every state kept, backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.bench import BATCH
from benchmarks.probes import mover
from benchmarks.steps_common import DT, Array, Maker, Plan, Timed, beside, reusing
from condyle.cli import rivals
from condyle.cli.bound import Call
from condyle.cli.rivals.mujoco_c import MujocoRollout
from condyle.cli.rivals.rival import Rival
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat

RIVALS = ("mujoco-batch", "pinocchio")


def rollout(plan: Plan) -> dict[str, Any]:
    """Nanoseconds a step; fd a state, at N = 256, dense."""
    q, v, tau = plan.rolled()
    steps, dynamics = plan.rollouts * plan.steps, plan.dynamics()

    def ours(dynamics: Any = dynamics, *given: Array) -> Call:
        return reusing(plan.rollout(dynamics), *(given or (q, v, tau)), DT)

    def rk4() -> Call:
        return ours(plan.dynamics(integrator="rk4"))

    def single() -> Call:
        return ours(plan.dynamics("float32"), *(np.float32(x) for x in (q, v, tau)))

    makers: dict[str, tuple[Maker, int]] = {
        "fd": (lambda: reusing(dynamics.forward_dynamics, *plan.states()), BATCH),
        "rollout": (ours, steps),
        "with cost": (lambda: _with_cost(plan, q, v, tau), steps),
        "rk4": (rk4, steps),
        "float32": (single, steps),
        "mujoco": (_theirs(plan, lambda: MujocoRollout(plan.robot)), steps),
        **{name: (_theirs(plan, lambda name=name: rivals.opened(name, plan.robot)), steps) for name in RIVALS},
    }
    return {"rollouts": plan.rollouts, "steps": plan.steps, **Timed.of(makers).measured(plan)}


def _with_cost(plan: Plan, q: Array, v: Array, tau: Array) -> Call:
    """A quadratic cost of state and torques, summed over time."""

    def tracked(at: Any, tau: Any, dt: Any) -> dict[str, Any]:
        after = at.step(tau, dt)
        cost = (at.q**2).sum() + 0.1 * (at.v**2).sum() + 1e-3 * (tau**2).sum()
        return {"q": after.q, "v": after.v, "cost": cost}

    nv = plan.robot.nv
    made: Any = plan.robot.function(tracked, inputs={"q": "nq", "v": "nv", "tau": nv, "dt": ()}).compile(threads=1)
    return reusing(made.rollout, q, v, tau, DT, by_time=("tau",), sum=("cost",), last=True)


def _theirs(plan: Plan, opened: Callable[[], Rival]) -> Maker:
    """A rival's rollouts, compared with ours where there are any."""

    def made() -> Call:
        q, v, tau = plan.rolled()
        ours = plan.rollout(plan.dynamics())
        return beside(plan, opened(), "rollout", [q, v, tau, np.full(len(q), DT)], ours)

    return made


def threads(plan: Plan) -> dict[str, Any]:
    """Wall time a step by one thread and by two."""
    q, v, tau = plan.rolled()
    steps = plan.rollouts * plan.steps

    def ours(threads: int) -> Maker:
        return lambda: reusing(plan.rollout(plan.dynamics(threads=threads)), q, v, tau, DT)

    makers = {"1 thread": (ours(1), steps), "2 threads": (ours(2), steps)}
    makers["mujoco, 2 threads"] = (_theirs(plan, lambda: MujocoRollout(plan.robot, threads=2)), steps)
    return Timed.of(makers).measured(plan, "wall")


def few(plan: Plan) -> dict[str, Any]:
    """One state and one rollout, as a node of a controller has them; nanoseconds a call, of the rollout a step."""
    given, rolled, dynamics = plan.states(1), plan.rolled(1), plan.dynamics()
    makers: dict[str, tuple[Maker, int]] = {
        "fd": (lambda: reusing(dynamics.forward_dynamics, *given), 1),
        "step": (lambda: reusing(dynamics.step, *given, DT), 1),
        "dstep": (lambda: reusing(dynamics.step_derivatives, *given, DT), 1),
        "rollout": (lambda: reusing(plan.rollout(dynamics), *rolled, DT), plan.steps),
    }
    return Timed.of(makers).measured(plan)


def kept(plan: Plan) -> dict[str, Any]:
    """Every state kept, beside the last one only and the time that moving these states' bytes takes."""
    q, v, tau = plan.rolled()
    dynamics = plan.dynamics()
    states = [np.zeros((plan.rollouts, plan.steps, width)) for width in (plan.robot.nq, plan.robot.nv)]

    def moved(streaming: bool) -> Maker:
        return lambda: mover([], states, streaming)

    steps = plan.rollouts * plan.steps
    makers: dict[str, tuple[Maker, int]] = {
        "last": (lambda: reusing(plan.rollout(dynamics), q, v, tau, DT), steps),
        "every state": (lambda: reusing(plan.rollout(dynamics, last=False), q, v, tau, DT), steps),
        "moved": (moved(False), steps),
        "moved past the caches": (moved(True), steps),
    }
    return Timed.of(makers).measured(plan)


def gradient(plan: Plan) -> dict[str, Any]:
    """Cotangents of everything that a rollout takes, from cotangents of its last state."""
    q, v, tau = plan.rolled()
    dynamics = plan.dynamics()
    rollout, bar = repeat(FUNCTIONS["step"], plan.steps, ("tau",), last=True), np.ones_like(v)
    steps = plan.rollouts * plan.steps
    makers: dict[str, tuple[Maker, int]] = {
        "rollout": (lambda: reusing(plan.rollout(dynamics), q, v, tau, DT), steps),
        "vjp": (lambda: reusing(dynamics.vjp(rollout), q, v, tau, DT, bar, bar), steps),
    }
    return Timed.of(makers).measured(plan)


def mjx(plan: Plan) -> dict[str, Any]:
    """Wall time a step, MJX's in as many threads as XLA takes; two steps only, for the time that it takes."""
    few = replace(plan, horizon=2)
    q, v, tau = few.rolled()
    ours = few.rollout(plan.dynamics())

    def theirs() -> Call:
        return beside(few, rivals.opened("mjx", plan.robot), "rollout", [q, v, tau, np.full(len(q), DT)], ours)

    steps = few.rollouts * few.steps
    makers = {"rollout": (lambda: reusing(ours, q, v, tau, DT), steps), "mjx": (theirs, steps)}
    return {"rollouts": few.rollouts, "steps": few.steps, **Timed.of(makers).measured(plan, "wall")}
