"""Go2 and G1 against MuJoCo's reading of the files that they were written from: functions, frames, drives, shapes."""

from __future__ import annotations

from functools import cache
from importlib import resources
from types import MappingProxyType

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.functions import DEFAULT
from tests.accuracies import FLOAT64
from tests.laws.robots import states
from tests.twins.compare import error

pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
import mujoco

from tests.twins.mujoco_file_twin import MujocoFileTwin
from tools.bundle import KEPT, SOURCES, text

NAMES = pytest.mark.parametrize("name", ["go2", "g1"])
ALLOWED = 1e-12
"""Of lengths and matrices: quaternions become matrices, and these angles, and back."""
STANDS = MappingProxyType({"go2": (0.2884, 0.022), "g1": (0.7862, 0.0)})
"""Heights of the base and of the frames of the feet, of docs/how-to/models.md, in the posture "home" [m]."""


@cache
def pair(name: str) -> tuple[Robot, MujocoFileTwin]:
    robot = condyle.load(name, snap=0.0, floating_base=True)
    twin = MujocoFileTwin(robot, KEPT / SOURCES[name].kept)
    twin.ids["root_joint"] = 0
    return robot, twin


@NAMES
def test_functions(name: str) -> None:
    robot, twin = pair(name)
    dynamics = robot.compile(target="numpy")
    for function in DEFAULT:
        assert error(dynamics, twin, function, states(robot, 2, seed=6), forces=False) < FLOAT64[function], function


@NAMES
def test_masses_and_drives(name: str) -> None:
    robot, twin = pair(name)
    model = twin.model
    assert sum(body.mass for body in robot.bodies) == pytest.approx(model.body_mass.sum(), rel=1e-14)
    joints = [twin.ids[joint] for joint in robot.joint_names[1:]]
    degrees = model.jnt_dofadr[joints]
    assert np.array_equal(model.jnt_range[joints].T, [robot.lower[7:], robot.upper[7:]])
    assert np.array_equal(model.dof_armature[degrees], robot.armature[6:])
    assert np.array_equal(model.dof_damping[degrees].reshape(len(joints), -1)[:, 0], robot.damping[6:])
    assert np.array_equal(model.dof_frictionloss[degrees], robot.friction[6:])
    moved = model.actuator_trnid[:, 0].tolist()
    ranges = (
        model.actuator_ctrlrange[[moved.index(joint) for joint in joints]]
        if name == "go2"
        else model.jnt_actfrcrange[joints]
    )
    assert np.array_equal(ranges.T, [-robot.effort[6:], robot.effort[6:]])
    assert [dict(one.transmission) for one in robot.actuators] == [{joint: 1.0} for joint in robot.joint_names[1:]]
    assert {one.kind for one in robot.actuators} == {"motor"}


@NAMES
def test_every_frame_stands_where_it_stood(name: str) -> None:
    robot, twin = pair(name)
    model, data = twin.model, mujoco.MjData(twin.model)
    added = set(SOURCES[name].frames)
    frames = tuple(frame for frame in robot.frames if frame not in added)
    q = states(robot, 1, seed=5).q
    poses = robot.compile(target="numpy", frames=(*frames, *added)).frame_placements(q)
    data.qpos[:] = q[0]
    data.qpos[3:7] = np.roll(q[0, 3:7], 1)
    mujoco.mj_forward(model, data)
    sites = {model.site(i).name: i for i in range(model.nsite)}
    for k, frame in enumerate(frames):
        place = data.site(sites[frame]) if frame in sites else data.body(frame)
        assert np.abs(poses.translation[0, k] - place.xpos).max() < ALLOWED, frame
        assert np.abs(poses.rotation[0, k] - place.xmat.reshape(3, 3)).max() < ALLOWED, frame
    if name == "go2":
        feet = {f"{leg}_foot": data.geom(leg).xpos for leg in ("FL", "FR", "RL", "RR")}
    else:
        halves = {"f": 1.0, "r": -1.0}, {"l": 1.0, "r": -1.0}
        feet = {
            f"{side}_foot_{x}{y}": box.xpos
            + box.xmat.reshape(3, 3) @ (model.geom(box.name).size * [halves[0][x], halves[1][y], -1.0])
            for side in ("left", "right")
            for box in [data.geom(f"{side}_foot_box_collision")]
            for x in "fr"
            for y in "lr"
        }
    assert set(feet) == added
    for k, frame in enumerate((*frames, *added)):
        assert frame not in feet or np.abs(poses.translation[0, k] - feet[frame]).max() < ALLOWED, frame


@NAMES
def test_shapes_are_those_of_the_source(name: str) -> None:
    """As MuJoCo reads both; only the capsules of G1's feet are missing."""
    source = pair(name)[1].model
    model = mujoco.MjModel.from_xml_string(
        (resources.files("condyle.robots") / f"{name}.urdf").read_text(encoding="utf-8")
    )
    kept = [k for k in range(source.ngeom) if not source.geom(k).name.startswith(SOURCES[name].without or "-")]
    assert len(kept) == model.ngeom == source.ngeom - len(SOURCES[name].without)
    root = source.body(1).name
    for k, i in enumerate(kept):
        ours, theirs = model.geom(k), source.geom(i)
        assert (ours.type, ours.name) == (theirs.type, theirs.name), k
        link = model.body(int(ours.bodyid[0])).name
        assert ("world" if link == "world" else link) == source.body(int(theirs.bodyid[0])).name.replace(root, "world")
        used = {2: 1, 6: 3}.get(int(ours.type[0]), 2)
        assert np.abs(ours.size - theirs.size)[:used].max() == 0.0, k
        assert np.abs(ours.pos - theirs.pos).max() < ALLOWED, k
        assert min(np.abs(ours.quat - sign * theirs.quat).max() for sign in (1.0, -1.0)) < 1e-7, k


@NAMES
def test_they_stand_at_the_height_that_the_docs_say(name: str) -> None:
    robot, twin = pair(name)
    height, foot = STANDS[name]
    q = robot.neutral()
    q[2], q[7:] = height, twin.model.key("home").qpos[7:]
    feet = tuple(frame for frame in robot.frames if "_foot" in frame)
    heights = robot.compile(target="numpy", frames=feet).frame_placements(q).translation[:, 2]
    assert np.abs(heights - foot).max() < 5e-5  # four digits


@NAMES
def test_written_again_from_its_source(name: str) -> None:
    file = (resources.files("condyle.robots") / f"{name}.urdf").read_text(encoding="utf-8")
    again = text(name, KEPT / SOURCES[name].kept)
    assert [line.split('"')[0] for line in again.splitlines()] == [line.split('"')[0] for line in file.splitlines()]
