"""What `at` is besides the robot's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


@pytest.mark.slow
def test_a_state_is_stepped_by_an_acceleration_of_ones_own() -> None:
    """With that of forward dynamics it is `step`, with its derivatives, in every way to compute it."""
    robot = condyle.random_tree(3, 4, types=("planar", "revolute"), floating_base=True)
    dyn = robot.compile()

    def moved(at: Any, u: Any, dt: Any) -> dict[str, Any]:
        after = at.stepped(at.v + dt * at.forward_dynamics(u), dt)
        return {"q": after.q, "v": after.v}

    made = robot.function(moved, {"q": "nq", "v": "nv", "u": "nv", "dt": ()})
    q, v = robot.random_state(3, 1)
    v[:, 3:6] *= 10.0
    u, h, wanted = 0.1 * v, 0.02, dyn.step(q, v, 0.1 * v, 0.02)
    for found in (made.compile()(q, v, u, h), made.compile("numpy")(q, v, u, h), made.reference(q, v, u, h)):
        for have, want in zip(found, wanted, strict=True):
            assert np.allclose(have, want, rtol=0, atol=1e-10 * np.abs(want).max())
    slopes, (A, B) = made.compile().jacobian(by=("q", "v", "u"))(q, v, u, h), dyn.step_derivatives(q, v, u, h)
    both = np.block([[slopes.dq_dq, slopes.dq_dv, slopes.dq_du], [slopes.dv_dq, slopes.dv_dv, slopes.dv_du]])
    assert np.allclose(both, np.concatenate([A, B], -1), rtol=0, atol=1e-9 * np.abs(both).max())


def test_stepping_a_robot_of_plain_vectors_is_what_one_writes() -> None:
    """The same operations as v + dt a and q + dt v."""
    robot = condyle.load("iiwa14")

    def stepped(at: Any, u: Any) -> dict[str, Any]:
        after = at.stepped(at.v + 0.01 * at.forward_dynamics(u), 0.01)
        return {"q": after.q, "v": after.v}

    def written(at: Any, u: Any) -> dict[str, Any]:
        v = at.v + 0.01 * at.forward_dynamics(u)
        return {"q": at.integrate(0.01 * v), "v": v}

    q, v = robot.random_state(9, 1)
    sizes = {"q": "nq", "v": "nv", "u": "nv"}
    ends = [robot.function(f, sizes).compile()(q, v, v) for f in (stepped, written)]
    assert all(np.array_equal(x, y) for x, y in zip(*ends, strict=True))
