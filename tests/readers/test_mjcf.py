"""MJCF: poses, masses and numbers are MuJoCo's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import ModelWarning, UnsupportedError
from condyle.model.parts import unapplied
from condyle.readers import load_robot
from tests.model.kinematics import frames_at

DEMO = """<mujoco model="demo">
  <compiler angle="degree"/>
  <option gravity="0 1 -9"/>
  <default><joint armature="0.02" damping="0.3" frictionloss="0.1"/></default>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="base" pos="0 0 1" euler="0 0 30">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .05" mass="3"/>
      <body name="up" pos="0 0 .2" euler="10 90 0">
        <joint name="h1" axis="0 1 0" pos="0.05 0 0.1" ref="20" range="-90 90" actuatorfrcrange="-3 4"/>
        <joint name="s1" type="slide" axis="1 0 1" ref="0.1"/>
        <joint name="h2" axis="1 1 0" pos="0 .03 0"/>
        <geom type="capsule" size=".03 .2" pos=".1 0 0" euler="0 40 10"/>
        <site name="tool" pos=".1 .2 .3" euler="10 20 30"/>
        <body pos="0 .2 0">
          <geom size=".05"/>
          <body name="ball" pos="0.1 0 0" quat="1 1 0 0">
            <joint type="ball" name="b" pos=".02 .01 0"/>
            <geom type="ellipsoid" size=".05 .1 .07" pos=".1 .05 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="h1"/></actuator>
</mujoco>
"""
ARM = '<body name="a"><joint name="j" {}/><geom size=".1" pos=".1 0 0"/></body>'


def write(folder: Path, text: str) -> Path:
    path = folder / "robot.xml"
    path.write_text(text, encoding="utf-8")
    return path


def simple(folder: Path, joint: str = "", outside: str = "", body: str = ARM) -> Path:
    return write(folder, f"<mujoco><worldbody>{body.format(joint)}</worldbody>{outside}</mujoco>")


def to_mujoco(q: np.ndarray) -> np.ndarray:
    """The demo's q in MuJoCo's order: quaternions begin with w."""
    return np.concatenate((q[:3], q[6:7], q[3:6], q[7:10], q[13:14], q[10:13]))


def test_frames_stand_where_mujoco_puts_them(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, DEMO)
    robot = load_robot(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for q in robot.random_state(10, 0).q:
        data.qpos = to_mujoco(q)
        mujoco.mj_kinematics(model, data)
        frames = frames_at(robot, q)
        for i in range(1, model.nbody):
            place = frames[model.body(i).name or f"body{i}"]
            assert place.translation == pytest.approx(data.xpos[i], abs=1e-13)
            assert place.rotation.ravel() == pytest.approx(data.xmat[i], abs=1e-13)
        assert frames["tool"].translation == pytest.approx(data.site_xpos[0], abs=1e-13)
        assert frames["tool"].rotation.ravel() == pytest.approx(data.site_xmat[0], abs=1e-13)
    assert sum(body.mass for body in robot.bodies) == pytest.approx(float(np.sum(model.body_mass)))
    ball = robot.bodies[-1]
    assert ball.com == pytest.approx(model.body_ipos[4])
    assert np.sort(np.linalg.eigvalsh(ball.inertia)) == pytest.approx(np.sort(model.body_inertia[4]))


def test_names_types_and_numbers(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = load_robot(write(tmp_path, DEMO))
    assert robot.name == "demo"
    assert robot.joint_names == ("root", "h1", "s1", "h2", "b")
    assert [joint.type for joint in robot.joints] == ["free", "revolute", "prismatic", "revolute", "spherical"]
    assert robot.body_names == ("base", "up/h1", "up/s1", "up", "ball")
    assert [body.mass for body in robot.bodies[1:3]] == [0.0, 0.0]
    assert robot.frames["body3"].body == 3
    assert robot.gravity.tolist() == [0.0, 1.0, -9.0]
    assert load_robot(write(tmp_path, DEMO), gravity=(0, 0, -1)).gravity.tolist() == [0.0, 0.0, -1.0]
    for joint in robot.joints[1:]:
        assert set(joint.armature.tolist()) == {0.02}
        assert set(joint.damping.tolist()) == {0.3}
        assert set(joint.friction.tolist()) == {0.1}
    h1 = robot.joints[1]
    assert [h1.lower[0], h1.upper[0]] == pytest.approx([-np.pi / 2, np.pi / 2])
    assert h1.effort[0] == 4.0
    assert robot.joints[3].lower[0] == -np.inf


def test_fixed_bodies_and_a_floating_base(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = f'<body name="base" pos="0 0 1"><geom size=".1"/>{ARM}</body>'
    path = simple(tmp_path, "", "", body)
    robot = load_robot(path)
    assert (robot.nv, robot.frames["base"].body) == (1, -1)
    floating = load_robot(path, floating_base=True)
    assert floating.joint_names == ("root_joint", "j")
    assert floating.body_names == ("base", "a")
    with pytest.raises(UnsupportedError, match="one body without joints"):
        load_robot(simple(tmp_path), floating_base=True)
    with pytest.raises(UnsupportedError, match="free joint of its own"):
        load_robot(write(tmp_path, DEMO), floating_base=True)


def test_quarter_turns_are_exact(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = ARM.replace('name="a"', 'name="a" euler="90 90 0"')
    rotation = load_robot(simple(tmp_path, body=body)).joints[0].placement.rotation
    assert set(np.abs(rotation).ravel().tolist()) == {0.0, 1.0}


def test_switched_off_gravity(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = simple(tmp_path, outside='<option><flag gravity="disable"/></option>')
    assert not load_robot(path).gravity.any()


@pytest.mark.parametrize(
    ("joint", "outside", "text"),
    [
        ("", '<option density="1.2" viscosity="0.1"/>', "fluid forces"),
        ("", "GRAVCOMP", "gravity compensation"),
        ('damping="0 1"', "", "nonlinear damping"),
        ('stiffness="3"', "", "springs of 1 joint ('j')"),
        (
            "",
            '<actuator><motor joint="j"/><position joint="j"/></actuator>',
            "2 actuators (to apply: compile(actuators=True));",
        ),
        ('damping="2"', "", "damping of 1 joint (to apply: compile(joint_forces=('all',)));"),
        (
            'frictionloss="2" range="0 1"',
            "",
            "friction of 1 joint (to apply: compile(joint_forces=('all',))), limits of 1 joint;",
        ),
    ],
)
def test_what_acts_in_mujoco_only_is_said(joint: str, outside: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = ARM.replace('name="a"', 'name="a" gravcomp="1"') if outside == "GRAVCOMP" else ARM
    robot = load_robot(simple(tmp_path, joint, "" if outside == "GRAVCOMP" else outside, body))
    assert f"not applied: {text}" in unapplied(robot)


def test_without_mujoco_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UnsupportedError, match=r'pip install "condyle\[mjcf\]"'):
        load_robot(simple(tmp_path))


def test_includes_beside_the_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujocoinclude>{ARM.format('')}</mujocoinclude>")
    assert load_robot(simple(tmp_path, body='<include file="parts/arm.xml"/>')).joint_names == ("j",)


def test_sites_are_frames_and_move_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    site = '<site name="a"/><site/><site name="goal" pos="1 2 3"/>'
    bare = load_robot(simple(tmp_path))
    marked = load_robot(simple(tmp_path, body=site + ARM))
    assert set(marked.frames) - set(bare.frames) == {"a_", "goal"}  # a body has the name "a"
    assert marked.frames["goal"].body == -1
    assert marked.fingerprint == bare.fingerprint
    body = '<body name="a"><geom size=".1" pos=".1 0 0"/><site name="tip"/></body>'
    floating = load_robot(simple(tmp_path, body=site + body), floating_base=True)
    assert set(floating.frames) >= {"a", "tip"} and "goal" not in floating.frames


def test_warnings_of_mujoco_are_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, DEMO.replace("<compiler ", '<compiler settotalmass="5" '))
    with pytest.warns(ModelWarning, match="MuJoCo: .*'settotalmass' is deprecated"):
        robot = load_robot(path)
    assert sum(body.mass for body in robot.bodies) == pytest.approx(5.0)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert capfd.readouterr() == ("", "")


def test_a_site_with_the_name_of_a_body_is_said(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = load_robot(simple(tmp_path, body=ARM.replace("<geom", '<site name="a" pos=".5 0 0"/><geom')))
    assert "read otherwise: site 'a' is frame 'a_', because a body has its name;" in unapplied(robot)
    assert robot.frames["a_"].placement.translation.tolist() == [0.5, 0.0, 0.0]


def test_mocap_bodies_are_said(tmp_path: Path) -> None:
    """Who is welded to one is held where the file puts it."""
    pytest.importorskip("mujoco")
    still = '<body name="m" mocap="true" pos="1 0 0"><geom size=".1"/></body>'
    moved = '<body name="h" pos="1 0 0"><freejoint/><geom size=".1"/></body>'
    weld = '<equality><weld body1="m" body2="h"/></equality>'
    robot = load_robot(simple(tmp_path, body=still + moved, outside=weld))
    assert "read otherwise: 1 mocap body is fixed, as is what is welded to it: 'm';" in unapplied(robot)
    assert [(one.frame, one.other) for one in robot.contacts] == [("h", None)]


def test_comments_and_encodings_that_tinyxml_takes(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    arm = ARM.format("").replace("<geom", "<!-\\- note -\\-><geom")
    path = write(tmp_path, f"<?xml version='1.0' encoding='utf8'?><mujoco><worldbody>{arm}</worldbody></mujoco>")
    assert load_robot(path).nv == 1


@pytest.mark.parametrize(("given", "effort"), [("-3 4", 4.0), ("-10 5", 10.0), ("-6 -2", 6.0), ("0 7", 7.0)])
def test_an_effort_is_the_largest_force_of_either_sign(given: str, effort: float, tmp_path: Path) -> None:
    path = simple(tmp_path, f'actuatorfrcrange="{given}" actuatorfrclimited="true"')
    assert load_robot(path).joints[0].effort.tolist() == [effort]


def test_a_warning_of_a_file_has_the_place_of_the_users_line(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = simple(tmp_path, 'damping="-1"')
    with pytest.warns(ModelWarning, match="joint 'j': negative damping or friction") as caught:
        condyle.load(path)
    assert [warning.filename for warning in caught] == [__file__]
