"""What must not matter: where the world's axes point, and where a floating base stands."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import Robot
from tests.accuracies import ROUNDING
from tests.laws.evaluated import reference
from tests.laws.robots import changed, relative, robot_named, states
from tests.laws.tangent import turned

FLOATING = ("zoo_floating", "hyq_floating", "floating-2", "floating-3")


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton product of two quaternions (x, y, z, w)."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def elsewhere(robot: Robot, q: np.ndarray) -> tuple[Robot, np.ndarray]:
    """The base turned and moved, and gravity turned with it."""
    rng = np.random.default_rng(7)
    turn = rng.standard_normal(4)
    turn /= np.linalg.norm(turn)
    rotation = turned(turn[None])[0]
    moved = q.copy()
    for row in moved:
        row[:3] = rotation @ row[:3] + rng.uniform(-9, 9, 3)
        row[3:7] = product(turn, row[3:7])
    return changed(robot, gravity=tuple(rotation @ robot.gravity)), moved


@pytest.mark.parametrize("function", ["id", "fd", "m", "minv", "did", "dfd"])
@pytest.mark.parametrize("name", FLOATING)
def test_nothing_depends_on_the_pose_of_a_floating_base_when_gravity_turns_with_it(name: str, function: str) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot)
    other, moved = elsewhere(robot, q)
    if function in ("m", "minv"):
        here, there = reference(robot, function, q), reference(robot, function, moved)
        assert relative(there, here) < ROUNDING * (1 if function == "m" else CONDITION)
        return
    here = reference(robot, function, q, v, a, f_ext=f_ext)
    there = reference(other, function, moved, v, a, f_ext=f_ext)
    for one, two in zip(here if isinstance(here, tuple) else (here,), there if isinstance(there, tuple) else (there,)):
        assert relative(two, one) < ROUNDING * (CONDITION if function in ("fd", "dfd") else 1)


CONDITION = 1e4  # of these robots' mass matrices, at most


@pytest.mark.parametrize("name", FLOATING)
def test_without_gravity_derivatives_by_the_pose_of_the_base_vanish(name: str) -> None:
    robot = changed(robot_named(name), gravity=(0.0, 0.0, 0.0))
    q, v, a, f_ext = states(robot)
    dtau_dq, _ = reference(robot, "did", q, v, a, f_ext=f_ext)
    assert np.abs(dtau_dq[:, :, :6]).max() < ROUNDING * np.abs(dtau_dq).max()


def test_gravity_is_an_acceleration_of_the_world() -> None:
    """A robot whose base is accelerated feels the opposite gravity."""
    robot = robot_named("floating-2")
    weightless = changed(robot, gravity=(0.0, 0.0, 0.0))
    q, v, a, _ = states(robot)
    lifted = a.copy()
    for row, rotation in zip(lifted, turned(q[:, 3:7]), strict=True):
        row[:3] -= rotation.T @ robot.gravity
    assert relative(reference(weightless, "id", q, v, lifted), reference(robot, "id", q, v, a)) < ROUNDING
