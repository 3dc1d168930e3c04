"""Joint forces and actuators of thirteen public models against MuJoCo: forces, accelerations, 200 implicit steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle import Robot, load
from tests.drives.equations import Equations, relative
from tests.drives.robots import ACROSS, ALONG, NAMES, calm, drawn, file_of, mujoco, mujoco_of, robot_of
from tests.processor import slow
from tests.readers.drive_files import ARM, FILES, write

pytestmark = pytest.mark.filterwarnings("ignore:.* not applied:condyle.errors.ModelWarning")  # friction, limits


def compiled(target: str) -> Callable[[Robot], Any]:
    return lambda robot: robot.compile(target=target, joint_forces=("damping", "springs"), actuators=True)


WAYS: dict[str, Callable[[Robot], Any]] = {"equations": Equations, "numpy": compiled("numpy"), "cpu": compiled("cpu")}
EACH = ("equations", slow("numpy"), "cpu")
DRIVEN = tuple(name for name, (_, actuators) in FILES.items() if actuators)


def compare_accelerations(robot: Robot, path: Path, way: str) -> None:
    """A few sums and products more than those of a robot without drives, so 1e-10 as without."""
    model, data = mujoco_of(path)
    dyn = WAYS[way](robot)
    for q, v, u in zip(*drawn(robot, 10), strict=True):
        data.qpos, data.qvel, data.ctrl = q, v, u
        mujoco.mj_forward(model, data)
        scale = np.abs(data.qfrc_actuator).max() + np.abs(data.qfrc_passive).max()
        assert np.abs(dyn.joint_forces(q, v) - data.qfrc_passive).max() < 1e-13 * scale
        assert np.abs(dyn.actuator_forces(q, v, u) - data.qfrc_actuator).max() < 1e-13 * scale
        a = dyn.forward_dynamics(q, v, u)
        assert relative(a, data.qacc) < 1e-10
        back = dyn.inverse_dynamics(q, v, a)
        # M a of an acceleration that is rounded; gravity's part is as large as the actuators' or larger
        assert np.abs(back - data.qfrc_actuator).max() < 1e-10 * (scale + np.abs(data.qfrc_bias).max())


def compare_steps(robot: Robot, path: Path, way: str) -> None:
    model, data = mujoco_of(path)
    dyn, h = WAYS[way](robot), model.opt.timestep
    q, _, u = (x[0] for x in drawn(robot, 1))
    v, fastest = np.zeros(robot.nv), 0.0
    data.qpos, u = q, calm(robot, u)
    for k in range(200):
        data.ctrl = u * np.cos(0.02 * k)
        q, v = dyn.step(q, v, np.array(data.ctrl), h)
        mujoco.mj_step(model, data)
        fastest = max(fastest, np.abs(v).max())
    assert np.abs(v - data.qvel).max() < 1e-9 * fastest
    assert np.abs(q - data.qpos).max() < 1e-9 * max(1.0, np.abs(q).max())


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("name", NAMES)
def test_forces_and_accelerations(name: str, way: str) -> None:
    compare_accelerations(robot_of(name), file_of(name), way)


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("name", ALONG)
def test_two_hundred_implicit_steps(name: str, way: str) -> None:
    compare_steps(robot_of(name), file_of(name), way)


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("case", DRIVEN)
def test_each_kind_of_actuator(case: str, way: str, tmp_path: Path) -> None:
    """Their tendon runs along the branch, with and without damping of its own."""
    path = write(tmp_path, *FILES[case])
    robot = load(path)
    compare_accelerations(robot, path, way)
    compare_steps(robot, path, way)


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("name", ACROSS)
def test_damping_across_branches(name: str, way: str) -> None:
    """MuJoCo leaves out the entries of D where M has none: its step is ours with them left out."""
    robot, (model, data) = robot_of(name), mujoco_of(file_of(name))
    dyn, equations, h = WAYS[way](robot), Equations(robot), model.opt.timestep
    away = 0.0
    for q, v, u in zip(*drawn(robot, 10), strict=True):
        data.qpos, data.qvel, data.ctrl = q, v, u
        mujoco.mj_step(model, data)
        D, M = equations.damping(q, v, u), equations.dyn.mass_matrix(q)
        assert relative(equations.step(q, v, u, h, np.where(M == 0.0, 0.0, D))[1], data.qvel) < 1e-12
        whole = equations.step(q, v, u, h)[1]
        assert relative(dyn.step(q, v, u, h)[1], whole) < 1e-12
        away = max(away, relative(whole, data.qvel))
    assert away > 0.1


@pytest.mark.parametrize("way", EACH)
def test_damping_of_an_actuator_that_effort_clips(way: str, tmp_path: Path) -> None:
    """Of an actuator on one joint; where a tendon's joint is clipped MuJoCo keeps D, and ours drops that joint's."""
    body = ARM.replace('name="j"', 'name="j" actuatorfrcrange="-40 40"')
    path = write(tmp_path, "", '<position joint="j" kp="30" kv="4"/><velocity joint="k" kv="7"/>', body)
    robot = load(path)
    model, data = mujoco_of(path)
    dyn, h, clipped = WAYS[way](robot), model.opt.timestep, 0
    for q, v, u in zip(*drawn(robot, 40), strict=True):
        data.qpos, data.qvel, data.ctrl = q, v, u
        mujoco.mj_step(model, data)
        after = dyn.step(q, v, u, h)
        assert relative(after[1], data.qvel) < 1e-12 and relative(after[0], data.qpos) < 1e-12
        clipped += abs(data.qfrc_actuator[0]) == 40.0
    assert 5 < clipped < 35
