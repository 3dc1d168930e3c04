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
    assert 300.0 < found["cost_median"][0] < 400.0 and found["final_cost"]["max"] < 20.0
    assert found["largest_v"] < found["box"]["v"] and found["largest_a"] < found["box"]["a"]
    short = sweep.measure("tip q8.24", quick=True)
    assert short["converged"] == 0.0 and short["flagged"] > 0.0 and short["iterations_needed"] is None


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
    assert sweep.box_of("q8.24", "joint") == {"v": 10.0, "a": 0.99 * 128}


def test_rows():
    assert set(sweep.QUICK) <= set(sweep.ROWS) and len(set(sweep.ROWS)) == len(sweep.ROWS)
    assert [row for row in sweep.ROWS if row.startswith("tip q")][:2] == ["tip q27.5", "tip q26.6"]
    seeds = sweep.first(sweep.reach("tip"), 2)[1][:, 0]
    assert not np.array_equal(*seeds) and np.allclose(seeds, 0.01, atol=5e-3)
