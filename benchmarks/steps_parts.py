"""Derivatives of steps, linearised trajectories, moves along the tangent, open inertias."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import BATCH
from benchmarks.linearised import rk4
from benchmarks.steps_common import DT, Array, Maker, Plan, Timed, beside, reusing
from condyle.cli.bound import Call
from condyle.cli.rivals.crocoddyl_steps import CrocoddylSteps
from condyle.errors import BuildError

KNOTS, MANY, EXACT = 64, 4096, 1e-8


def derivatives(plan: Plan) -> dict[str, Any]:
    """A and B, compared with the derivatives of fd, N = 256."""
    given = plan.states()
    dynamics = plan.dynamics()

    def packed(function: Any, *more: Any) -> Call:
        return reusing(function, *map(dynamics.pack, given), *more)

    makers: dict[str, tuple[Maker, int]] = {
        "dfd": (lambda: reusing(dynamics.forward_dynamics_derivatives, *given), BATCH),
        "dstep": (lambda: reusing(dynamics.step_derivatives, *given, DT), BATCH),
        "dstep rk4": (lambda: reusing(plan.dynamics(integrator="rk4").step_derivatives, *given, DT), BATCH),
        "dfd packed": (lambda: packed(dynamics.forward_dynamics_derivatives), BATCH),
        "dstep packed": (lambda: packed(dynamics.step_derivatives, DT), BATCH),
    }
    return {"batch": BATCH, **Timed.of(makers).measured(plan)}


def linearisation(plan: Plan) -> dict[str, Any]:
    """A and B at the knots of a trajectory by Runge and Kutta's fourth-order step; nanoseconds a knot."""
    q, v, tau = plan.states(KNOTS)
    dynamics = plan.dynamics(integrator="rk4")

    def by_numpy() -> Call:
        for ours, theirs in zip(dynamics.step_derivatives(q, v, tau, DT), rk4(dynamics, q, v, tau, DT), strict=True):
            off = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(ours)))
            if not off < EXACT:
                raise BuildError(f"NumPy and condyle differ by {off:.1e} in dstep; nothing was timed")
        return lambda: rk4(dynamics, q, v, tau, DT)

    def knot_by_knot() -> Call:
        knots = [(q[k : k + 1], v[k : k + 1], tau[k : k + 1]) for k in range(KNOTS)]
        return lambda: [rk4(dynamics, *knot, DT) for knot in knots]

    def by_crocoddyl() -> Call:
        def ours(q: Array, v: Array, tau: Array, dt: Array) -> tuple[Array, ...]:
            return tuple(dynamics.step_derivatives(q, v, tau, dt))

        return beside(plan, CrocoddylSteps(plan.robot, "rk4"), "dstep", [q, v, tau, np.full(KNOTS, DT)], ours)

    makers: dict[str, tuple[Maker, int]] = {
        "dstep": (lambda: reusing(dynamics.step_derivatives, q, v, tau, DT), KNOTS),
        "numpy": (by_numpy, KNOTS),
        "numpy, knot by knot": (knot_by_knot, KNOTS),
        "crocoddyl": (by_crocoddyl, KNOTS),
    }
    return {"batch": KNOTS, **Timed.of(makers).measured(plan)}


def tangent(plan: Plan) -> dict[str, Any]:
    """integrate and difference, compared with fd, many states."""
    q, v, tau = plan.states(MANY)
    dynamics = plan.dynamics()
    ahead = plan.robot.integrate(q, v)
    makers: dict[str, tuple[Maker, int]] = {
        "fd": (lambda: reusing(dynamics.forward_dynamics, q, v, tau), MANY),
        "integrate": (lambda: reusing(dynamics.integrate, q, v), MANY),
        "difference": (lambda: reusing(dynamics.difference, q, ahead), MANY),
    }
    return {"batch": MANY, **Timed.of(makers).measured(plan)}


def open_inertias(plan: Plan) -> dict[str, Any]:
    """fd whose inertias are an input, one set for all states and one a state, N = 256."""
    given = plan.states()

    def opened(inertias: Array) -> Call:
        dynamics: Any = plan.dynamics(inputs=("inertias",))
        return reusing(dynamics.forward_dynamics, *given, inertias=inertias)

    def each() -> Call:
        one: Any = plan.robot.inertias
        return opened(one * np.random.default_rng(0).uniform(0.9, 1.1, (BATCH, 1, 1)))

    makers: dict[str, tuple[Maker, int]] = {
        "fd": (lambda: reusing(plan.dynamics().forward_dynamics, *given), BATCH),
        "one set": (lambda: opened(plan.robot.inertias), BATCH),
        "a set a state": (each, BATCH),
    }
    return {"batch": BATCH, **Timed.of(makers).measured(plan)}
