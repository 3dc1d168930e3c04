"""Jacobians of functions with fewer answers than inputs: rows by blocks of what is called, against jvp, by columns."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Contact

DT = 0.01


def stepped(at, u):
    """A step of a robot in the air: a configuration and a velocity, by the closed Jacobian of the step."""
    after = at.step(np.concatenate([np.zeros(6), u]), DT)
    return {"q": after.q, "v": after.v}


def pushed(at, u):
    """Forces of a contact in the world's axes: calls in a row, and operations between them."""
    _, force = at.constrained_forward_dynamics(u, np.ones(1))
    return {"force": at.frame("tool0").rotation @ force[0, :3]}


@pytest.mark.parametrize(
    ("f", "floating", "options"),
    [
        pytest.param(stepped, True, {}, id="step"),
        pytest.param(pushed, False, {"contacts": [Contact("tool0")]}, id="contact"),
    ],
)
def test_rows_are_those_of_jvp(f, floating, options):
    robot = condyle.load("ur5e", floating_base=floating)
    function = robot.function(f, {"q": "nq", "v": "nv", "u": 6}, **options).compile("numpy", threads=1)
    rng = np.random.default_rng(0)
    q, v = robot.random_state(1, 0)
    q, v, u = q[0], v[0], rng.normal(size=6)
    answers = function.jacobian(by=("q", "v", "u"))(q, v, u)
    n = len(v)
    tangents = np.eye(2 * n + 6)
    columns = function.jvp()(q, v, u, *np.split(tangents, [n, 2 * n], axis=1))
    columns = columns if isinstance(columns, tuple) else (columns,)
    for k, column in enumerate(columns):
        J = np.concatenate(answers[3 * k : 3 * k + 3], axis=1)
        assert J.shape[0] < J.shape[1]
        # rounding alone: both are exact
        assert np.allclose(J, column.T, rtol=1e-9, atol=1e-9 * np.abs(J).max())
