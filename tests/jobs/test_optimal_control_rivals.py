"""Optimal control beside Ipopt: the same optima, and plans that satisfy the conditions of an optimum."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks import control_optima, control_problems
from benchmarks.control_problems import Array, Problem
from tests.jobs.kkt import Checker, Residuals

SAME = 1e-6
"""Of the cost, beside Ipopt's."""
AGREEING = (
    "double integrator",
    "iiwa14 reaching",
    "iiwa14 reaching, torques",
    "figure of eight",
    "figure of eight, limits",
    "figure of eight of 2021",
    "panda around a sphere",
    "hopper",
)
"""Groups of which every plan is the best of the local optima that Ipopt saw: 23 problems."""
LIMITS = Residuals(stationarity=1e-3, defect=2e-9, violation=2e-9, sign=0.0, complementarity=2e-9, cost=np.inf)
"""At a tolerance of 1e-9: steps and limits are those of the tolerance, and a slope is about the root of how flat the
cost is there; the largest is 4e-4."""


@cache
def compiled(name: str) -> tuple[Problem, Any]:
    problem = control_optima.GROUPS[name]()
    return problem, problem.job().compile(threads=1)


def solved(name: str, tolerance: float = 1e-6) -> tuple[Problem, Any]:
    problem, solver = compiled(name)
    return problem, solver.solve(problem.q, problem.v, tolerance=tolerance, **problem.arguments())


def test_the_checker_accepts_ipopt_s_answers_and_refuses_others() -> None:
    pytest.importorskip("casadi")
    problem = control_problems.pendulum_swing_up()
    program, check, stored = control_optima.Ipopt(problem), Checker(problem), control_optima.read()
    for i, cost in enumerate(stored["pendulum swing-up"]["cost"]):
        best = program.solve(i)
        assert best.status == control_optima.SOLVED
        assert best.cost == pytest.approx(cost, rel=1e-8)
        right = check(i, best.q, best.v, best.u, best.multipliers)
        assert max(right[:5]) < 1e-8 and right.cost == pytest.approx(cost, rel=1e-8)
        assert check(i, best.q, best.v, best.u + 1e-3, best.multipliers).defect > 1e-5
        flipped = {name: -y for name, y in best.multipliers.items()}
        assert check(i, best.q, best.v, best.u, flipped).stationarity > 1e-2


@pytest.mark.slow
def test_the_checker_s_slope_is_that_of_the_cost_of_a_rollout() -> None:
    hopper = control_problems.hopper()
    problem = replace(hopper, knots=7, flags=hopper.flags[12:19])  # from the air, with the landing
    check, rng = Checker(problem), np.random.default_rng(0)
    u = 0.1 * rng.normal(size=(problem.knots, problem.nu))

    def cost(controls: Array) -> float:
        return check.cost(0, *check.rollout(0, controls), controls)

    slope, _ = check.stationarity(0, *check.rollout(0, u), u, {})
    for _ in range(5):
        along, h = rng.normal(size=u.shape), 1e-5
        by_differences = (cost(u + h * along) - cost(u - h * along)) / (2.0 * h)
        assert np.vdot(slope, along) == pytest.approx(by_differences, rel=1e-6)


@pytest.mark.parametrize("name", AGREEING)
def test_optima_are_those_of_ipopt(name: str) -> None:
    _, plan = solved(name)
    stored = control_optima.read()[name]
    assert np.all(plan.solved), plan.status
    for cost, optima in zip(plan.cost, stored["local_optima"], strict=True):
        assert cost == pytest.approx(optima[0], rel=SAME)


def test_twenty_problems_are_compared() -> None:
    stored = control_optima.read()
    assert sum(len(stored[name]["cost"]) for name in AGREEING) >= 20


@pytest.mark.parametrize("name", AGREEING)
def test_plans_satisfy_the_conditions_of_an_optimum(name: str) -> None:
    problem, plan = solved(name, tolerance=1e-9)
    check = Checker(problem)
    for i in range(len(problem)):
        multipliers = {name: np.asarray(y[i], np.float64) for name, y in plan.multipliers.items()}
        found = check(i, plan.q[i], plan.v[i], plan.u[i], multipliers)
        assert all(a <= b for a, b in zip(found, LIMITS, strict=True)), (i, found)
        assert found.cost == pytest.approx(plan.cost[i], rel=1e-8)  # of torques that are clipped to their bounds


def test_float32_has_the_optima_of_ipopt_within_its_rounding() -> None:
    problem = control_optima.GROUPS["iiwa14 reaching"]()
    solver = problem.job().compile(dtype="float32", threads=1)
    q, v, goal = (np.asarray(x, np.float32) for x in (problem.q, problem.v, problem.values["goal"]))
    plan = solver.solve(q, v, goal=goal, tolerance=1e-4)
    assert plan.solved.all() and np.isfinite(plan.K).all()
    for cost, optima in zip(plan.cost, control_optima.read()["iiwa14 reaching"]["local_optima"], strict=True):
        assert cost == pytest.approx(optima[0], rel=1e-4)
    for name, x in (("u", plan.u), ("v", plan.v)):  # a float32 bound is off by its own rounding
        assert (np.abs(x) <= problem.bounds[name][1] * (1.0 + 1e-4)).all()


@pytest.mark.slow
@pytest.mark.parametrize("hops", [False, True])
def test_plans_of_a_quadruped_satisfy_the_conditions_of_an_optimum(hops: bool) -> None:
    """Which Ipopt does not get: the second derivatives of a HyQ on four feet take the compiler of C minutes."""
    problem = control_problems.quadruped(hops)
    plan = problem.job().compile(threads=1).solve(problem.q, problem.v, tolerance=1e-7, **problem.arguments())
    check = Checker(problem)
    for i in range(len(problem)):
        multipliers = {name: np.asarray(y[i], np.float64) for name, y in plan.multipliers.items()}
        found = check(i, plan.q[i], plan.v[i], plan.u[i], multipliers)
        assert plan.solved[i]
        assert found.stationarity < 1e-3 and max(found.defect, found.violation) < 1e-6
        assert found.complementarity < 1e-6
