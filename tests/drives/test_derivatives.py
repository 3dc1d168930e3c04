"""Derivatives with joint forces and actuators against differences of the equations, at states where forces clip too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Robot
from tests.driven import driven
from tests.drives.equations import Equations, Reals, differences, quiet, relative
from tests.drives.robots import drawn, robot_of

NAMES = ("cheetah", "manipulator", "shadow_hand", "xarm7_gripper")
H = 0.005
BOUND = 1e-7  # differences of fourth order at 1e-5: rounding of 1e-16 / 1e-5 times what M's condition adds


def compiled(robot: Robot) -> Any:
    with quiet():  # of friction and limits, which are not asked for
        return robot.compile(target="cpu", joint_forces=("damping", "springs"), actuators=True)


@pytest.mark.parametrize("name", NAMES)
def test_of_the_implicit_step(name: str) -> None:
    robot, nv = robot_of(name), robot_of(name).nv
    dyn, equations = compiled(robot), Equations(robot)
    for q, v, u in zip(*drawn(robot, 4), strict=True):
        A, B = dyn.step_derivatives(q, v, u, H)

        def step(x: Reals) -> Reals:
            return np.concatenate(equations.step(*np.split(x, [nv, 2 * nv]), H))

        wanted = differences(step, np.concatenate([q, v, u]))
        assert relative(A, wanted[:, : 2 * nv]) < BOUND
        assert relative(B, wanted[:, 2 * nv :]) < BOUND


def test_of_the_implicit_step_by_dampers_that_are_controlled() -> None:
    """Of an arm with one of gear 1.5: a control changes what the end of the step is multiplied by."""
    robot = driven(condyle.chain(3, rng=1))
    dyn, u = compiled(robot), np.array([0.3, 1.2, -0.4])
    for q, v in zip(*robot.random_state(4, 0), strict=True):

        def step(u: Reals) -> Reals:
            return np.concatenate(dyn.step(q, v, u, H))

        assert relative(dyn.step_derivatives(q, v, u, H)[1], differences(step, u)) < BOUND


@pytest.mark.parametrize("name", NAMES)
def test_of_forward_dynamics(name: str) -> None:
    robot, nv = robot_of(name), robot_of(name).nv
    dyn, equations = compiled(robot), Equations(robot)
    for q, v, u in zip(*drawn(robot, 4), strict=True):
        answer = np.concatenate(dyn.forward_dynamics_derivatives(q, v, u), axis=-1)
        wanted = differences(
            lambda x: equations.forward_dynamics(*np.split(x, [nv, 2 * nv])), np.concatenate([q, v, u])
        )
        assert relative(answer, wanted) < BOUND


@pytest.mark.parametrize("name", NAMES)
def test_the_acceleration_of_a_short_step_is_forward_dynamics(name: str) -> None:
    robot = robot_of(name)
    dyn = compiled(robot)
    q, v, u = (x[0] for x in drawn(robot, 1))
    a = dyn.forward_dynamics(q, v, u)
    away = [np.abs((dyn.step(q, v, u, h)[1] - v) / h - a).max() for h in (2e-7, 1e-7)]
    assert away[0] < 0.05 * np.abs(a).max() and abs(away[0] / away[1] - 2.0) < 0.05
