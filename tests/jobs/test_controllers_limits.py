"""The whole body's program: its optimum where nothing presses, and each of its limits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.jobs.controllers import PYRAMID, leg_of
from tests.jobs.test_controllers import FEET, LEVEL, UP, stands, walking


@cache
def dog() -> tuple[condyle.Robot, Any]:
    """Its motors are strong enough for all that its feet may push."""
    return walking(effort=np.full(18, 1e4))


def linear(robot: condyle.Robot, q: Any, v: Any) -> tuple[Any, Any]:
    """a = A f + c of feet that stand: by the first six rows of M a + h = S^T tau + J^T f, and J a + J' v = 0."""
    dyn = robot.compile("numpy", frames=FEET, reference_frame="local_world_aligned")
    J = dyn.frame_jacobians(q)[:, :3].reshape(12, -1)
    bias = dyn.frame_jacobians_time_derivative(q, v)[:, :3].reshape(12, -1) @ v
    M, h = dyn.mass_matrix(q), dyn.nonlinear_effects(q, v)
    K = np.concatenate([M[:6], J])
    return np.linalg.solve(K, np.vstack([J[:, :6].T, np.zeros((12, 12))])), np.linalg.solve(K, -np.append(h[:6], bias))


def test_forces_are_the_least_of_the_program_where_no_limit_presses() -> None:
    """A^T (a - base) + 3e-7 f = 0."""
    robot, f = dog()
    rng = np.random.default_rng(4)
    q = robot.integrate(stands(robot), 0.02 * rng.standard_normal(18))
    v, base = 0.05 * rng.standard_normal(18), 0.3 * rng.standard_normal(6)
    answer = f(q, v, base, LEVEL, UP)
    assert answer.status == 1 and (answer.force[:, 2] > 50.0).all()
    A, c = linear(robot, q, v)
    np.testing.assert_allclose(A @ answer.force.ravel() + c, answer.acceleration, atol=1e-8)
    slope = A[:6].T @ (answer.acceleration[:6] - base) + 3e-7 * answer.force.ravel()
    assert np.abs(slope).max() < 0.02 * 3e-7 * np.abs(answer.force).max()


@pytest.mark.parametrize("active", [UP, np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.5, 1.0, 1.0])])
def test_no_foot_pushes_more_than_it_may(active: np.ndarray) -> None:
    """600 N each, 1 N in the air: it is to jump, so that all are at their limits."""
    robot, f = dog()
    answer = f(stands(robot), np.zeros(18), np.array([0.0, 0.0, 90.0, 0.0, 0.0, 0.0]), LEVEL, active)
    assert answer.status == 1
    assert answer.force[:, 2].max() == pytest.approx(600.0, rel=1e-6)
    assert (answer.force[:, 2] <= 1.0 + 599.0 * active + 1e-4).all()


def test_feet_push_along_the_ground_as_far_as_friction_goes() -> None:
    """0.6 of the load, if it is not said."""
    robot, f = dog()
    q, v = stands(robot), np.zeros(18)
    pulled = f(q, v, np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0]), LEVEL, UP)
    ratios = np.abs(pulled.force[:, :2]).max(axis=1) / pulled.force[:, 2]
    assert pulled.status == 1 and ratios.max() == pytest.approx(0.6, rel=1e-3)
    assert PYRAMID.tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]


def test_entries_that_move_a_foot() -> None:
    robot = dog()[0]
    legs = [leg_of(robot, foot) for foot in FEET]
    assert sorted(k for leg in legs for k in leg) == [*range(6, 18)] and all(
        leg == [*range(leg[0], leg[0] + 3)] for leg in legs
    )
    J = robot.compile("numpy", frames=FEET).frame_jacobians(stands(robot))
    for leg, rows in zip(legs, J, strict=True):
        assert np.flatnonzero(np.abs(rows[:, 6:]).max(axis=0) > 1e-9).tolist() == [k - 6 for k in leg]
