"""A robot on every target of this machine: what tools/arm64.py runs first, and true on any machine."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import condyle
from condyle.runtime import machine

ROBOT = condyle.load("iiwa14")


@pytest.fixture(scope="module")
def states() -> tuple[np.ndarray, ...]:
    q, v = ROBOT.random_state(37, 5)
    return q, v, np.linspace(-1.0, 1.0, v.size).reshape(v.shape)


def test_machine_code_is_for_x86_only() -> None:
    if platform.machine() != "x86_64":
        assert machine.instruction_sets() == ()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_c_answers_like_numpy(states: tuple[np.ndarray, ...], dtype: str) -> None:
    given = [array.astype(dtype) for array in states]
    found = ROBOT.compile(target="c", dtype=dtype).inverse_dynamics(*given)
    wanted = ROBOT.compile(target="numpy").inverse_dynamics(*states)
    room = 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found, wanted, rtol=room, atol=room * np.abs(wanted).max())


def test_cpu_answers_like_numpy(states: tuple[np.ndarray, ...]) -> None:
    found = ROBOT.compile(target="cpu", threads=2).inverse_dynamics(*states)
    np.testing.assert_allclose(found, ROBOT.compile(target="numpy").inverse_dynamics(*states), rtol=1e-9, atol=1e-9)
