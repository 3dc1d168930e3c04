"""What `at` is besides the robot's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle


def test_a_state_moves_to_another() -> None:
    """Two stages of an explicit midpoint step, by hand and inside a function; its derivatives by differences."""
    robot = condyle.load("iiwa14")
    dyn, h = robot.compile(), 0.02

    def midpoint(at: Any, u: Any) -> dict[str, Any]:
        half = at.moved_to(at.integrate(0.5 * h * at.v), at.v + 0.5 * h * at.forward_dynamics(u))
        return {"v": at.v + h * half.forward_dynamics(u)}

    f = robot.function(midpoint, {"q": "nq", "v": "nv", "u": "nv"}).compile()
    q, v = robot.random_state(3, 1)
    half = q + 0.5 * h * v, v + 0.5 * h * dyn.forward_dynamics(q, v, v)
    wanted = v + h * dyn.forward_dynamics(*half, v)
    assert np.allclose(f(q, v, v), wanted, rtol=1e-9, atol=1e-9)
    by_q = f.jacobian(by=("q",))(q, v, v)
    move = np.eye(7)[2] * 1e-6
    assert np.allclose(by_q[..., 2], (f(q + move, v, v) - f(q - move, v, v)) / 2e-6, atol=1e-6)
