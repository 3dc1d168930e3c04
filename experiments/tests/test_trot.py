"""The trot: feet land where they are to stand, and never jump."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.dadu2023 import trot
from experiments.dadu2023.trot import BEGIN, HEIGHT, PERIOD, SPEED, SWING, course

BASE, TIP = np.array([0.0, 0.0, 0.5]), np.array([0.9, 0.0, 0.9])
FEET = np.array([[0.4, 0.2, 0.02], [0.4, -0.2, 0.02], [-0.4, 0.2, 0.02], [-0.4, -0.2, 0.02]])


@pytest.fixture(scope="module")
def found():
    return course(np.arange(0.0, 4.0, 1e-3), BASE, FEET, TIP)


def test_feet_that_stand_do_not_move_and_those_that_swing_do_not_jump(found):
    moved = np.linalg.norm(np.diff(found.feet, axis=0), axis=2)
    standing = (found.stand[1:] == 1.0) & (found.stand[:-1] == 1.0)
    assert moved[standing].max() == 0.0
    assert moved.max() < 3e-3  # a millisecond
    assert np.allclose(found.feet[..., 2][found.stand == 1.0], 0.02)
    assert np.isclose(found.feet[..., 2].max(), 0.02 + HEIGHT, atol=1e-4)


def test_diagonal_legs_swing_together_and_two_feet_always_stand(found):
    assert np.array_equal(found.stand[:, 0], found.stand[:, 3]) and np.array_equal(found.stand[:, 1], found.stand[:, 2])
    assert found.stand.sum(axis=1).min() == 2.0
    late = np.arange(0.0, 4.0, 1e-3) > BEGIN
    assert np.isclose((found.stand[late] == 0.0).mean(), SWING / PERIOD, atol=0.03)


def test_each_foot_stands_under_its_hip_in_the_middle_of_its_stance():
    """... of all stances but the first, which begins before the trot."""
    for leg in range(4):
        for step in (1, 2, 3):
            middle = BEGIN + PERIOD * (step - 1 + trot.LATER[leg]) + SWING + 0.5 * (PERIOD - SWING)
            at = course(np.array([middle]), BASE, FEET, TIP)
            assert at.stand[0, leg] == 1.0
            assert np.isclose(at.feet[0, leg, 0] - at.base[0, 0], FEET[leg, 0])


def test_base_and_tip_start_at_rest_and_move_at_the_speed():
    found = course(np.array([0.0, BEGIN, BEGIN + 2.0]), BASE, FEET, TIP)
    assert np.allclose(found.base[:2], BASE) and np.allclose(found.tip[:2], TIP)
    assert np.allclose(found.base[2] - BASE, [2.0 * SPEED, 0.0, 0.0])
    assert np.allclose(found.tip[2] - found.base[2], TIP - BASE)  # once around
