"""Bundled robots against Pinocchio's reading of the files that they were written from: masses, poses, torques."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Robot
from tests.laws.robots import states
from tests.twins.example_robots import path_of
from tools.bundle import KEPT, SOURCES, made, text

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
import pinocchio as pin

from tests.twins.pinocchio_twin import FileTwin

N, ALLOWED = 4, 1e-10
WHEEL = {"panda": "panda", "anymal_kinova": "anymal_kinova", "talos": "talos_reduced", "allegro": "allegro_hand"}
NAMES = ["ur5e", *(pytest.param(name, marks=pytest.mark.twins_data) for name in WHEEL)]
CASES = pytest.mark.parametrize("name", NAMES)


def source(name: str) -> Path:
    return KEPT / SOURCES[name].kept if SOURCES[name].kept else path_of(WHEEL[name])


@cache
def pair(name: str, floating_base: bool) -> tuple[Robot, FileTwin]:
    """The bundled robot, its mimic joints free, and Pinocchio's of the source."""
    robot = condyle.load(name, snap=0.0, mimic="independent", floating_base=floating_base)
    return robot, FileTwin(robot, str(source(name)), floating_base)


@CASES
def test_masses(name: str) -> None:
    robot, other = pair(name, floating_base=True)
    total = sum(body.mass for body in robot.bodies)
    assert total == pytest.approx(pin.computeTotalMass(other.model), rel=1e-12)
    assert total > 0.5


@CASES
@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
def test_torques(name: str, floating_base: bool) -> None:
    robot, other = pair(name, floating_base)
    q, v, a, _ = states(robot, N, seed=3)
    want = np.stack([other.id(*of) for of in zip(q, v, a, strict=True)])
    found = robot.compile(target="numpy").inverse_dynamics(q, v, a)
    assert np.abs(found - want).max() < ALLOWED * max(1.0, np.abs(want).max())


@CASES
def test_every_frame_stands_where_it_stood(name: str) -> None:
    robot, other = pair(name, floating_base=False)
    links = [
        frame.name for frame in other.model.frames if frame.type == pin.FrameType.BODY and frame.name != "universe"
    ]
    assert set(links) == set(robot.frames)
    q = states(robot, N, seed=5).q
    poses = robot.compile(target="numpy", frames=tuple(links)).frame_placements(q)
    for i in range(N):
        pin.framesForwardKinematics(other.model, other.data, other.q(q[i]))
        for k, link in enumerate(links):
            want = other.data.oMf[other.model.getFrameId(link)]
            assert np.abs(poses.rotation[i, k] - want.rotation).max() < ALLOWED, link
            assert np.abs(poses.translation[i, k] - want.translation).max() < ALLOWED, link


@CASES
def test_written_again_from_its_source(name: str) -> None:
    ours, again = condyle.load(name, snap=0.0), made(name, source(name))
    assert (ours.name, ours.joint_names, ours.parents) == (again.name, again.joint_names, again.parents)
    assert set(ours.frames) == set(again.frames)
    for one, other in zip(ours.bodies, again.bodies, strict=True):
        assert np.abs(one.inertia - other.inertia).max() < 1e-14  # products of matrices may round otherwise elsewhere
    for one, other in zip(ours.joints, again.joints, strict=True):
        assert (one.type, one.lower, one.upper, one.effort, one.velocity, one.damping, one.friction) == (
            other.type,
            other.lower,
            other.upper,
            other.effort,
            other.velocity,
            other.damping,
            other.friction,
        )


def test_another_source_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ur5e.urdf"
    path.write_text((KEPT / "ur5e.urdf").read_text().replace('mass value="3.761"', 'mass value="3.762"'))
    with pytest.raises(SystemExit, match=r"its sha256 is .*, that of the source of ur5e is"):
        text("ur5e", path)
