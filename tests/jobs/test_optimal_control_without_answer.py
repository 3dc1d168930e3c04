"""Optimal control problems that have no answer end with a word that says so, and harm no other problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import control_problems as problems
from benchmarks.control_problems import Problem

NOT_SOLVED = {"most", "infeasible", "no descent", "not finite"}
ENDS: dict[str, tuple[Callable[[], Problem], set[str]]] = {
    "out of reach": (problems.out_of_reach, {"infeasible", "most"}),
    "contradiction": (problems.contradiction, {"infeasible"}),
    "bottomless": (problems.bottomless, NOT_SOLVED),
    "concave": (problems.concave, NOT_SOLVED),
}


def solved(problem: Problem, **options: Any) -> Any:
    return problem.job().compile(threads=1).solve(problem.q, problem.v, **problem.arguments(), **options)


@pytest.mark.parametrize("name", ENDS)
def test_a_problem_without_an_answer_is_not_solved(name: str) -> None:
    make, words = ENDS[name]
    plan = solved(make())
    assert set(plan.status) <= words
    assert not plan.solved.any()
    assert np.isfinite(plan.q).all() and np.isfinite(plan.u).all()


@pytest.mark.parametrize(("make", "word"), [(problems.too_fast, "infeasible"), (problems.spoilt, "not finite")])
def test_the_others_of_a_batch_are_solved_as_alone(make: Callable[[], Problem], word: str) -> None:
    problem = make()
    plan = solved(problem)
    assert plan.status.tolist() == ["solved", word, "solved"]
    for i in (0, 2):
        alone = solved(problem.some(slice(i, i + 1)))
        for name in ("q", "v", "u", "K", "cost", "iterations"):
            assert np.array_equal(getattr(plan, name)[i], getattr(alone, name)[0]), name


def test_a_state_that_is_no_number_harms_no_other_problem() -> None:
    problem = problems.double_integrator()
    q = problem.q.copy()
    q[1, 0] = np.nan
    plan = solved(replace(problem, q=q))
    assert plan.status.tolist() == ["solved", "not finite", "solved"]


def test_a_horizon_of_one_knot() -> None:
    problem = replace(problems.double_integrator(), knots=1, v=np.zeros((3, 2)))
    plan = solved(problem, tolerance=1e-9)
    assert plan.solved.all()
    dt, mass = problem.dt, np.array([3.0, 2.0])  # the first slider carries the second one
    unlimited = -25.0 * problem.q * (dt * dt / mass) / (0.1**2 + 25.0 * (dt**4 + dt**2) / mass**2)
    assert np.allclose(plan.u[:, 0], np.clip(unlimited, -2.0, 2.0), atol=1e-5)
