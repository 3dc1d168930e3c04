"""Optimal control beside crocoddyl: FDDP and box-FDDP end at the same optima."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("crocoddyl")

from benchmarks import control_optima, control_problems
from benchmarks.control_crocoddyl import Arm

SAME = 1e-6
"""Of the cost."""


def test_fddp_and_ours_draw_the_same_figure_of_eight() -> None:
    problem = control_problems.figure_eight(3)
    arm = Arm(problem, *control_problems.EIGHT)
    plan = problem.job().compile(threads=1).solve(problem.q, problem.v, tolerance=1e-9, **problem.arguments())
    assert plan.solved.all()
    for i in range(len(problem)):
        answer = arm.solve(arm.shooting(i))
        assert answer.is_solved
        assert plan.cost[i] == pytest.approx(answer.cost, rel=SAME)
        assert np.allclose(plan.u[i], answer.us, atol=1e-2 * np.abs(answer.us).max())


def test_box_fddp_and_ours_reach_with_limited_torques() -> None:
    problem = control_optima.GROUPS["iiwa14 reaching, torques"]()
    arm = Arm(problem, *control_problems.REACH)
    plan = problem.job().compile(threads=1).solve(problem.q, problem.v, **problem.arguments())
    limit = problem.bounds["u"][1]
    for i in range(len(problem)):
        answer = arm.solve(arm.shooting(i), 500)
        assert plan.cost[i] == pytest.approx(answer.cost, rel=SAME)
        assert (np.abs(plan.u[i]) <= limit).all()
        assert (np.abs(answer.us) > 0.999 * limit).any()  # limits hold somewhere, or nothing is tested
