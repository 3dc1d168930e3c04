"""Rotors behind gears, damping and limits of effort against what Drake said: drake.json, by drake_figures.py.

Drake's package is larger than all that the tests need, so its figures are kept. Its step takes damping implicitly too,
and effort clips there at the joint as here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Robot
from tests.drives.equations import Equations, relative

HERE = Path(__file__).parent
FIGURES = json.loads((HERE / "drake.json").read_text(encoding="utf-8"))
STATES = [{name: np.array(x) for name, x in state.items()} for state in FIGURES["states"]]


def compiled(robot: Robot) -> Any:
    return robot.compile(target="cpu", joint_forces=("damping",), actuators=True)


WAYS = {"equations": Equations, "cpu": compiled}


@pytest.fixture(scope="module")
def robot() -> Robot:
    return condyle.load(HERE / "geared.urdf")


def test_mass_matrix(robot: Robot) -> None:
    np.testing.assert_allclose(robot.armature, [0.2, 0.72, 3.9476089, 0.0], rtol=1e-14)
    dyn = Equations(robot).dyn
    for state in STATES:
        assert relative(dyn.mass_matrix(state["q"]), state["M"]) < 1e-14


@pytest.mark.parametrize("way", WAYS)
def test_accelerations_and_steps(robot: Robot, way: str) -> None:
    dyn, clipped = WAYS[way](robot), 0
    for state in STATES:
        q, v, u = state["q"], state["v"], state["u"]
        clipped += np.count_nonzero(np.abs(u) > robot.effort)
        np.testing.assert_allclose(dyn.actuator_forces(q, v, u), np.clip(u, -robot.effort, robot.effort), rtol=1e-15)
        assert relative(dyn.forward_dynamics(q, v, u), state["a"]) < 1e-13
        after = dyn.step(q, v, u, FIGURES["step"])
        assert relative(after[1], state["v_next"]) < 1e-13
        assert relative(after[0], state["q_next"]) < 1e-13
    assert 0 < clipped < 4 * len(STATES)
