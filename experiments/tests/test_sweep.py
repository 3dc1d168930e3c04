"""The sweep: which words converge at small size, and what its gradients are."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from experiments.plancher2021 import sweep


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(0)
    return rng.uniform(-1.5, 1.5, (2, 5, 7)), rng.normal(size=(2, 5, 7)), rng.normal(0.0, 20.0, (2, 5, 7))


def test_a_word_converges_as_float_does_and_another_does_not():
    found = sweep.measure("tip q16.16", quick=True)
    assert found["converged"] == 1.0 and found["flagged"] == 0.0 and found["diverged"] == 0
    assert 60.0 < found["cost_median"][0] < 90.0 and found["final_cost"]["max"] < 20.0
    assert found["largest_v"] < found["box"]["v"] and found["largest_a"] < found["box"]["a"]
    assert found["largest_defect"] < 1e-6
    short = sweep.measure("joint q27.5", quick=True)
    assert short["converged"] == 0.0 and short["flagged"] > 0.0 and short["iterations_needed"] is None


def test_derivatives_that_are_given_lead_to_the_optimum_of_the_robots_own():
    """The same problem with explicit Euler's own derivatives; a wrong derivative does not converge there."""
    problem = sweep.reach("tip", 0.0)
    own = condyle.OptimalControl(
        problem.robot,
        *sweep.costs("tip"),
        knots=sweep.INTERVALS,
        dt=sweep.H,
        bounds={},
        integrator="euler",
    ).compile()
    q, v, u = sweep.first(2)
    best = own.solve(q[:, 0], v[:, 0], start=(q, v, u), tolerance=1e-9)
    exact = sweep.of_slope(sweep.gradient_of("float64", "tip", "", 0.0))
    found = sweep.solved("tip", exact, 0.0, 2, 12)
    assert best.solved.all() and np.allclose(found.cost[:, -1], best.cost, rtol=1e-8)
    assert np.allclose(found.plan.q, best.q, atol=1e-6) and found.violation[:, -1].max() < 1e-8
    wrong = sweep.solved("tip", lambda q, v, a: 2.0 * exact(q, v, a), 0.0, 2, 12)
    assert wrong.violation[:, -1].max() > 1e-8


def test_solve_comes_to_the_goal():
    found = sweep.measure("joint solve float64", quick=True)
    assert found["solved"] == 1.0 and found["joint_error_rad"]["max"] < 0.02 and found["us"]["one"] > 0.0


@pytest.mark.parametrize(
    ("word", "trap", "near"), [("float32", "", 1e-5), ("27x18", "", 1e-3), ("27x18", "difd", 1e-2)]
)
def test_gradients_are_those_of_the_inverse_dynamics(states, word, trap, near):
    by = condyle.load("iiwa14").compile().inverse_dynamics_derivatives(*states)
    exact = np.concatenate([by.dtau_dq, by.dtau_dv], axis=-1)
    slope, flag = sweep.gradient_of(word, "tip", trap, 0.0)(*states)
    assert np.abs(slope - exact).max() < near * np.abs(exact).max() and not flag.any()


def test_damping_is_in_the_gradient_and_gravity_may_be_left_out(states):
    plain, damped, weightless = (
        sweep.gradient_of("float64", "tip", trap, damping)(*states)[0]
        for trap, damping in (("", 0.0), ("damping", 0.5), ("gravity 0", 0.0))
    )
    assert np.allclose(damped - plain, np.concatenate([np.zeros((7, 7)), 0.5 * np.eye(7)], axis=1))
    assert np.abs(weightless - plain)[..., :7].max() > 10.0 and np.allclose(weightless[..., 7:], plain[..., 7:])


def test_the_box_is_what_the_word_holds():
    assert sweep.box_of("q16.16", "joint") == sweep.BOX["joint"] == sweep.box_of("27", "joint")
    assert sweep.box_of("q8.24", "joint") == {"v": 20.0, "a": 0.99 * 128}


def test_rows():
    assert set(sweep.QUICK) <= set(sweep.ROWS) and len(set(sweep.ROWS)) == len(sweep.ROWS)
    assert [row for row in sweep.ROWS if row.startswith("tip q")][:2] == ["tip q27.5", "tip q26.6"]
    seeds = sweep.first(2)[1][:, 0]
    assert not np.array_equal(*seeds) and np.allclose(seeds, 0.01, atol=5e-3)
