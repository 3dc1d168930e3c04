"""The model of a knot is held to differences of its residuals, the step to the library's own Euler step."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from experiments import riccati
from experiments.problems import GIVEN, Functions, Problem, Weights, knot_model

W = np.array([3.0, 0.7, 0.2, 0.05])
GOAL, REST = np.array([0.3, 0.1, 0.9]), np.linspace(-0.5, 0.5, 7)


@pytest.fixture(scope="module")
def arm():
    weights = Weights(1.0, 1.0, 1.0, 1.0)
    return Functions(Problem(condyle.load("iiwa14"), "iiwa_link_7", 8, 0.01, weights, weights, REST, GOAL), damping=0.5)


@pytest.fixture(scope="module")
def state():
    rng = np.random.default_rng(1)
    return rng.uniform(-1.0, 1.0, 7), rng.normal(size=7), rng.normal(size=7)


def residuals(arm, q, v, a):
    """[tip - goal, q - rest, v, u], weighted, of the torque that the acceleration needs."""
    u = arm.dynamics.inverse_dynamics(q, v, a) + arm.damping * v
    tip = arm.dynamics.frame_placements(q).translation[0]
    parts = (tip - GOAL, q - REST, v, u)
    return np.concatenate([np.sqrt(w) * part for w, part in zip(W, parts, strict=True)])


def test_a_knots_model_is_gauss_and_newtons(arm, state):
    q, v, a = state
    u = arm.dynamics.inverse_dynamics(q, v, a) + arm.damping * v

    def quadratic(at, a, u, goal, rest, w):
        return knot_model(at, at.frame(arm.problem.tip), arm.slope(at, a), u, goal, rest, w)

    model = arm.compiled(quadratic, q="nq", v="nv", a="nv", **GIVEN)(q, v, a, u, GOAL, REST, W)
    e, y = 1e-6, np.concatenate([q, v, a])
    sides = [[residuals(arm, *np.split(y + s * e * d, 3)) for s in (1, -1)] for d in np.eye(21)]
    J = np.array([(plus - minus) / (2 * e) for plus, minus in sides]).T
    r = residuals(arm, q, v, a)
    H, g = J.T @ J, J.T @ r
    assert np.allclose(np.concatenate([model.gx, model.ga]), g, rtol=1e-6, atol=1e-6)
    assert np.allclose(riccati.symmetric(model.Hxx, 14), H[:14, :14], rtol=1e-6, atol=1e-6)
    assert np.allclose(model.Hax, H[14:, :14], rtol=1e-6, atol=1e-6)
    assert np.allclose(riccati.symmetric(model.Haa, 7), H[14:, 14:], rtol=1e-6, atol=1e-6)
    assert np.isclose(arm.cost(q, v, u, GOAL, REST, W).cost, r @ r / 2)


def test_a_step_is_eulers_and_its_torque_follows_the_gains(arm, state):
    q, v, _ = state
    rng = np.random.default_rng(2)
    q0, v0, u0, k, K = (
        rng.normal(size=7),
        rng.normal(size=7),
        rng.normal(size=7),
        rng.normal(size=7),
        rng.normal(size=(7, 14)),
    )
    found = arm.follow(q, v, q0, v0, u0, k, K, 0.5, 0.01, GOAL, REST, W)
    u = u0 + 0.5 * k + K @ np.concatenate([q - q0, v - v0])
    step = arm.problem.robot.compile(integrator="euler").step(q, v, u - arm.damping * v, 0.01)
    assert np.allclose(found.applied, u)
    assert np.allclose(found.q, step.q) and np.allclose(found.v, step.v)
    assert np.isclose(found.cost, arm.cost(q, v, u, GOAL, REST, W).cost)


def test_the_last_knot_has_no_step():
    weights, last = Weights(1.0, 2.0, 3.0, 4.0), Weights(5.0, 6.0, 7.0, 8.0)
    problem = Problem(condyle.load("iiwa14"), "iiwa_link_7", 4, 0.1, weights, last, REST)
    assert problem.steps().tolist() == [0.1, 0.1, 0.1, 0.0]
    assert problem.weights()[[0, 2, 3]].tolist() == [[1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8]]
