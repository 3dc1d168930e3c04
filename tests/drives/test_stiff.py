"""Stiff gains: the implicit step of a position actuator is stable where the explicit one is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Actuator, Drive, Robot
from tests.drives.equations import Equations

KP, KD, ARMATURE, H = 1000.0, 50.0, 0.01, 0.005
ROTOR = """<robot name="rotor"><link name="base"/><link name="rotor"><inertial><mass value="1e-6"/>
<inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="rotor"/><axis xyz="0 0 1"/></joint></robot>"""


class Explicit(Equations):
    def step(self, q: Any, v: Any, u: Any, h: float, D: Any = None) -> Any:
        return super().step(q, v, u, h, np.zeros((self.robot.nv, self.robot.nv)))


def compiled(robot: Robot, **options: Any) -> Any:
    return robot.compile(target="cpu", joint_forces=("damping",), actuators=True, **options)


IMPLICIT = {"equations": Equations, "cpu": compiled}
EXPLICIT = {"equations": Explicit, "cpu": lambda robot: compiled(robot, implicit=False)}


def servoed(robot: Robot) -> Robot:
    """With an armature of 0.01 and a stiff position actuator at every joint."""
    bare = robot.with_drives({name: Drive(rotor_inertia=ARMATURE) for name in robot.joint_names})
    bias = (0.0, -KP, -KD)
    return bare.with_actuators(Actuator(name, {name: 1.0}, "position", KP, bias) for name in robot.joint_names)


@pytest.fixture(params=["one joint", "iiwa14"])
def robot(request: pytest.FixtureRequest, tmp_path: Path) -> Robot:
    if request.param == "iiwa14":
        return servoed(condyle.load("iiwa14"))
    (tmp_path / "rotor.urdf").write_text(ROTOR)
    return servoed(condyle.load(tmp_path / "rotor.urdf"))


def run(dyn: Any, q: np.ndarray, u: np.ndarray, h: float, seconds: float) -> np.ndarray:
    """q (steps + 1, nv) from rest; it ends where a joint is past 100 rad."""
    path, v = [q], np.zeros_like(q)
    for _ in range(round(seconds / h)):
        q, v = dyn.step(q, v, u, h)
        path.append(q)
        if np.abs(q).max() > 100.0:
            break
    return np.array(path)


@pytest.mark.parametrize("way", IMPLICIT)
def test_stiff_gains_are_stable(robot: Robot, way: str) -> None:
    start, target = np.full(robot.nv, 0.2), np.full(robot.nv, 0.5)
    path = run(IMPLICIT[way](robot), start, target, H, 4.0)
    fine = run(IMPLICIT[way](robot), start, target, H / 10, 0.5)[::10]
    assert np.abs(path[: len(fine)] - fine).max() < 0.01, "0.0054 of a motion of 0.3, by a method of first order"
    held = Equations(robot)
    droop = held.dyn.nonlinear_effects(path[-1], 0.0 * start) / KP
    np.testing.assert_allclose(target - path[-1], droop, atol=1e-6)  # at rest kp times the error carries gravity


@pytest.mark.parametrize("way", EXPLICIT)
def test_the_explicit_step_of_stiff_gains_is_not(robot: Robot, way: str) -> None:
    """h kd / M = 25 for the rotor alone, and 2 is the limit."""
    start = np.full(robot.nv, 0.2)
    path = run(EXPLICIT[way](robot), start, start + 0.3, H, 1.0)
    assert np.abs(path[-1]).max() > 100.0


@pytest.mark.smoke
@pytest.mark.parametrize("way", IMPLICIT)
def test_one_implicit_step_of_one_joint_by_hand(way: str, tmp_path: Path) -> None:
    (tmp_path / "rotor.urdf").write_text(ROTOR)
    q, v, u = np.array([0.2]), np.array([-1.5]), np.array([0.5])
    after = IMPLICIT[way](servoed(condyle.load(tmp_path / "rotor.urdf"))).step(q, v, u, H)
    speed = v + H * (KP * (u - q) - KD * v) / (ARMATURE + 1e-9 + H * KD)
    np.testing.assert_allclose([after[0], after[1]], [q + H * speed, speed], rtol=1e-12)
