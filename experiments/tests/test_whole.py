"""Whole robots: the walk's schedule, and a robot that stays on its feet for a moment."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.whole import humanoid, quadruped
from experiments.whole.humanoid import HEIGHT, STRIDE, walk
from experiments.whole.loop import Push, walked

PLACES = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])


@pytest.fixture(scope="module")
def steps():
    return walk(np.arange(0.0, 5.0, 1e-3), PLACES)


def test_feet_of_a_walk_stand_still_or_move_smoothly(steps):
    stand, feet, _ = steps
    moved = np.linalg.norm(np.diff(feet, axis=0), axis=2)
    both = (stand[1:] == 1.0) & (stand[:-1] == 1.0)
    assert moved[both].max() == 0.0
    assert moved.max() < 2e-3  # a millisecond
    assert np.isclose(feet[..., 2].max(), HEIGHT, atol=1e-4)
    assert stand.sum(axis=1).min() == 1.0


def test_the_base_of_a_walk_stays_between_the_feet(steps):
    _, feet, ahead = steps
    between = feet[:, :, 0].mean(axis=1)
    assert np.abs(ahead - between).max() < 0.5 * STRIDE
    landed = feet[..., 0][steps[0] == 1.0] / (0.5 * STRIDE)
    assert np.allclose(landed, np.round(landed), atol=1e-9)


@pytest.mark.parametrize("walker", [quadruped.Quadruped, humanoid.Humanoid])
def test_a_robot_stands_with_its_feet_on_the_ground_and_forces_within_limits(walker):
    robot = walker()
    assert np.abs(robot.places[:, 2] - robot.places[0, 2]).max() < 1e-9
    assert (np.abs(robot.torques) < robot.robot.effort[6:]).all()
    inputs = robot.inputs(0.0)
    assert inputs["active"][0].all() and np.array_equal(inputs["q_wanted"][0], robot.stance)


@pytest.mark.slow
def test_a_trot_goes_on_after_a_push():
    pytest.importorskip("mujoco")
    answer = walked(quadruped.Quadruped(), 2.0, [Push(1.0, (0.0, 300.0, 0.0))])
    assert "fell" not in answer and answer["torque"] <= 1.0
    assert answer["base_mm"]["max"] < 100.0
