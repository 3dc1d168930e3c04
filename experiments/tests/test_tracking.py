"""The controller comes to the solver's answer; the curve is the paper's; the closed loop keeps near it."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.beyond import batch
from experiments.ilqr import Options, Solver
from experiments.plancher2021 import figure_eight
from experiments.problems import Functions
from experiments.tracking import PARTS, Controller


@pytest.fixture(scope="module")
def functions():
    return Functions(figure_eight.problem(), threads=1)


def test_a_plan_in_still_time_is_the_solvers_answer(functions):
    goal = figure_eight.figure_eight(functions.problem.h * np.arange(64))
    q, v = figure_eight.START, np.zeros(7)
    controller = Controller(functions, period=0.0)
    controller.begin(q, v, np.zeros(7))
    for _ in range(25):
        controller(q, v, goal)
    every = [np.tile(x, (1, 64, 1)) for x in (q, v, np.zeros(7))]
    found = Solver(functions, Options(iterations=25, rho=1e-2)).solve(*every, goal)
    plan = controller.plan
    cost = functions.cost(plan[:, :7], plan[:, 7:14], plan[:, 14:], goal, functions.problem.rest, controller.weights)
    assert np.isclose(cost.cost.sum(), found.cost[0, -1], rtol=1e-7)
    assert np.allclose(plan[:-1, 14:], found.path.u[0, :-1], atol=1e-2)
    assert (controller.seconds > 0.0).all() and len(controller.seconds) == len(PARTS)


def test_a_plan_moves_on_by_the_period(functions):
    controller = Controller(functions, period=functions.problem.h)
    controller.begin(figure_eight.START, np.zeros(7), np.zeros(7))
    controller.plan[:, :7] += np.arange(64)[:, None]
    before = controller.plan.copy()
    with pytest.raises(FloatingPointError, match="no step length gives a finite cost"):
        controller(np.full(7, np.nan), np.zeros(7), np.zeros((64, 3)))
    assert np.allclose(controller.plan[1:-1, :7], before[2:, :7]) and np.allclose(controller.plan[-1], before[-1])


def test_the_curve_is_that_of_the_papers_code():
    """Points 0, 1 and 199 of 200 in plancherb1/parallel-DDP, LCM_fig8_examples.cu [m]."""
    points = {0: (0.136869, 0.317568), 1: (0.128118, 0.327486), 199: (0.130758, 0.322170)}
    for i, (y, z) in points.items():
        assert np.allclose(figure_eight.figure_eight(np.array(i / 199 * 10.0)), [0.6556285, y, z], atol=8e-3)


def test_the_closed_loop_follows_the_curve():
    found = figure_eight.measure("float64 1 ms", quick=True)
    assert found["tracking_error_m"]["mean"] < 0.06
    assert found["control_steps"] == 300 and set(found["parts_us"]) == {*PARTS, "rest"}
    loop = figure_eight.tables({"float64 1 ms": found})["The loop"]
    assert loop[1][0] == "float64 1 ms" and len(loop[1]) == len(loop[0]) and loop[2] == ["float32 1 ms", "not measured"]
    assert loop[-1][1] == "60"


def test_a_batchs_table_has_the_printed_times_beside_it():
    row = {"solve_ms": {"p50": 100.0}, "problems_per_s": 10240.0, "tracking_error_m": {"mean": 0.02}}
    table = batch.tables({"1024 float32": row})["Problems a second"]
    assert ["1024 float32", "100.00", "10240", "20.0"] in table
    assert table[-1] == ["GATO, 512, a GPU, printed", "7.76", "65979 (derived)", "-"]


def test_a_batch_follows_its_curve():
    fleet = batch.Fleet(8, "float32", 1)
    fleet.settle(5)
    far = fleet.advance()
    for _ in range(60):
        fleet.solve()
        near = fleet.advance()
    assert far.mean() > 0.3 > 0.15 > near.mean()
    assert np.allclose(batch.figure_eight(np.array(0.0)), [-0.5 / np.sqrt(2), 0.5 / np.sqrt(2), 0.8])
