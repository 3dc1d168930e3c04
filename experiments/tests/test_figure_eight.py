"""The planner comes to the solution; the curve is the paper's; the closed loop keeps near it."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.plancher2021 import figure_eight
from experiments.plancher2021.figure_eight import START, H, Planner


@pytest.fixture(scope="module")
def planner():
    return Planner("float64", 8, 1)


def test_a_plan_in_still_time_comes_to_the_solution(planner):
    goal, v = figure_eight.figure_eight(planner.times), np.zeros(7)
    best = planner.solver.solve(START, v, goal=goal)
    assert best.solved
    planner.plan, planner.shift = planner.solver.solve(START, v, goal=np.tile(goal[30], (64, 1)), most=3), 0
    for _ in range(25):
        torques = planner(START, v, goal)
    assert np.isclose(planner.plan.cost, best.cost, rtol=1e-7)
    assert np.allclose(planner.plan.u, best.u, atol=1e-2)
    assert torques.shape == (8, 7) and np.array_equal(torques[0], planner.plan.u[0]) and planner.seconds > 0.0


def test_torques_of_a_period_are_read_between_knots(planner):
    assert Planner("float64", 20, 6).shift == 3 and Planner("float64", 1, 1).shift == 0
    long = Planner("float64", 20, 1)
    assert np.allclose(H * (long.before + long.part[:, 0]), 1e-3 * np.arange(20))


def test_a_plan_that_is_no_number_is_told(planner):
    planner.begin(START, np.zeros(7), figure_eight.figure_eight(planner.times))
    with pytest.raises(FloatingPointError, match="the plan is not finite"):
        planner(np.full(7, np.nan), np.zeros(7), np.zeros((64, 3)))


def test_the_curve_is_that_of_the_papers_code():
    """Points 0, 1 and 199 of 200 in plancherb1/parallel-DDP, LCM_fig8_examples.cu [m]."""
    points = {0: (0.136869, 0.317568), 1: (0.128118, 0.327486), 199: (0.130758, 0.322170)}
    for i, (y, z) in points.items():
        assert np.allclose(figure_eight.figure_eight(np.array(i / 199 * 10.0)), [0.6556285, y, z], atol=8e-3)


def test_the_closed_loop_follows_the_curve():
    found = figure_eight.measure("float64 1 ms", quick=True)
    assert found["tracking_error_m"]["mean"] < 0.06
    assert found["control_steps"] == 300 and 0.0 < found["dynamics_share"] < 1.0
    loop = figure_eight.tables({"float64 1 ms": found})["The loop"]
    assert loop[1][0] == "float64 1 ms" and len(loop[1]) == len(loop[0]) and loop[2] == ["float32 1 ms", "not measured"]
    assert loop[-1][1] == "60" and len(loop[-1]) == len(loop[0])
