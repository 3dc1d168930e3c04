"""Springs and actuators of MJCF files against MuJoCo: its numbers, and its forces at random states and controls."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle import Robot, load
from condyle.errors import ModelError, ModelWarning
from condyle.model.parts import unapplied
from tests.readers.drive_files import ARM, FILES, TENDON, write
from tests.readers.drive_forces import actuator_forces, spring_forces


@pytest.mark.parametrize("case", FILES)
def test_forces_are_mujocos(case: str, tmp_path: Path) -> None:
    """Joints are flat, so that q and v are MuJoCo's own; controls are up to four times their ranges."""
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, *FILES[case])
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    assert len(robot.actuators) == model.nu
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, u = (rng.uniform(-4.0, 4.0, n) for n in (3, 3, model.nu))
        data.qpos, data.qvel, data.ctrl = q, v, u
        mujoco.mj_forward(model, data)
        passive = spring_forces(robot, q) - robot.damping * v
        # a few sums and products of numbers up to 1e4
        np.testing.assert_allclose(actuator_forces(robot, q, v, u), data.qfrc_actuator, rtol=1e-13, atol=1e-11)
        np.testing.assert_allclose(passive, data.qfrc_passive, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("case", ["motors", "servos", "damped"])
def test_numbers_are_mujocos(case: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, *FILES[case])
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    for k, joint in enumerate(robot.joints):
        assert joint.stiffness[0] == model.jnt_stiffness[k] and joint.spring_reference[0] == model.qpos_spring[k]
    for k, one in enumerate(robot.actuators):
        limits = model.actuator_ctrlrange[k] if model.actuator_ctrllimited[k] else (-np.inf, np.inf)
        assert one.control == tuple(limits)
        forces = model.actuator_forcerange[k] if model.actuator_forcelimited[k] else (-np.inf, np.inf)
        assert one.force == tuple(forces)
        gain = model.actuator_gainprm[k]
        assert one.gain == (-gain[2] if one.kind == "damper" else gain[0])
        assert one.bias == tuple(model.actuator_biasprm[k, :3])
        if len(one.transmission) == 1:
            assert [*one.transmission.values()] == [model.actuator_gear[k, 0]]


def test_kinds_and_names(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    elements = "".join(FILES[case][1] for case in ("motors", "servos", "general"))
    found = [(one.name, one.kind) for one in load(write(tmp_path, "", elements)).actuators]
    assert found[:2] == [("actuator0", "motor"), ("n", "motor")]
    assert [kind for _, kind in found[2:]] == ["position", "velocity", "motor", "general", "damper", "motor"]


NONE = [
    ("activation dynamics", '<intvelocity joint="j" kp="5" actrange="-1 1"/>'),
    ("activation dynamics", '<position joint="j" kp="5" timeconst=".1"/>'),
    ("a muscle", '<muscle joint="j" lengthrange="0 1"/>'),
    ("a spatial tendon", '<motor tendon="s"/>'),
    ("a site", '<motor site="p"/>'),
    ("adhesion of a body", '<adhesion body="a" ctrlrange="0 1"/>'),
    ("a slider-crank", '<motor cranksite="p" slidersite="o" cranklength=".1"/>'),
    ("a ball or free joint", '<motor joint="m"/>'),
    ("a gear of 0", '<motor joint="j" gear="0"/>'),
    ("a gain that depends on length", '<general joint="j" gaintype="affine" gainprm="1 2 0"/>'),
    ("a gain that depends on rate, and is no damper's", '<general joint="j" gaintype="affine" gainprm="0 0 -2"/>'),
    ("a delay", '<motor joint="j" delay=".1" nsample="4"/>'),
    ("activation dynamics", '<dcmotor joint="j" motorconst="1" resistance="2" inductance=".1"/>'),
]
BALL = (
    '<site name="o"/><body name="b"><joint name="m" type="ball"/><geom size=".1" pos=".1 0 0"/><site name="p"/></body>'
)
SPATIAL = '<tendon><spatial name="s"><site site="o"/><site site="p"/></spatial></tendon>'


def test_what_is_no_line_is_named_with_its_place(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    elements = "\n".join(element for _, element in NONE)
    path = write(tmp_path, "", f'{elements}\n<motor name="fine" joint="l"/>', BALL + ARM, SPATIAL)
    robot, lines = load(path), path.read_text().splitlines()
    assert [one.name for one in robot.actuators] == ["fine"]
    said = unapplied(robot)
    for why, _ in NONE:
        places = [(element[1:].split()[0], lines.index(element) + 1) for other, element in NONE if other == why]
        assert f"actuators with {why} ({', '.join(f'<{tag}> (line {k})' for tag, k in places)})" in said


@pytest.mark.parametrize(
    "option", ['<option><flag actuation="disable"/></option>', '<option actuatorgroupdisable="0 3"/>']
)
def test_actuators_that_the_file_switches_off(option: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = load(write(tmp_path, option, '<motor name="x" joint="j" group="3"/>'))
    assert not robot.actuators
    assert "actuators with forces that the file's options switch off ('x' (line " in unapplied(robot)


def test_springs_that_are_not_applied_are_named(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = BALL.replace('type="ball"', 'type="ball" stiffness="3"') + ARM.replace('stiffness="4"', 'stiffness="4 1 0"')
    robot = load(write(tmp_path, "", "", body))
    assert robot.joint("m").stiffness.tolist() == [0.0, 0.0, 0.0]
    assert robot.joint("j").stiffness.tolist() == [4.0]
    text = unapplied(robot)
    assert "springs of ball and free joints ('m')" in text and "nonlinear springs ('j')" in text


def test_a_force_range_that_is_not_even_is_named(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = ARM.replace('name="j"', 'name="j" actuatorfrcrange="-2 5"').replace(
        'name="k"', 'name="k" actuatorfrcrange="-4 4"'
    )
    robot = load(write(tmp_path, "", "", body))
    assert robot.effort.tolist() == [5.0, 4.0, np.inf]
    assert "uneven force ranges of joints, whose larger side is the effort ('j')" in unapplied(robot)


def tied(folder: Path, equality: str) -> tuple[Robot, Any, Any]:
    """A robot with an equality, MuJoCo's model of it, and the joints in which the robot's q is written there."""
    mujoco = pytest.importorskip("mujoco")
    drives = '<position tendon="t" kp="20" kv="2" gear="1.5"/>\n<position joint="l" kp="3" kv=".5" forcerange="-2 3"/>'
    path = write(folder, "", drives, more=f"{TENDON}<equality>{equality}</equality>")
    model = mujoco.MjModel.from_xml_path(str(path))
    return load(path), model, mujoco.MjData(model)


@pytest.mark.parametrize("slope", [-2.0, 0.5])
def test_drives_and_springs_of_a_follower_act_at_its_master(slope: float, tmp_path: Path) -> None:
    """G^T of MuJoCo's forces at all three joints, where l = slope j + offset."""
    mujoco = pytest.importorskip("mujoco")
    robot, model, data = tied(tmp_path, f'<joint joint1="l" joint2="j" polycoef="0.1 {slope} 0 0 0"/>')
    assert robot.nv == 2 and [[*one.transmission] for one in robot.actuators] == [["j"], ["j"]]
    G = np.array([[1.0, 0.0], [0.0, 1.0], [slope, 0.0]])
    start = np.array([0.0, 0.0, 0.1 - slope * model.qpos0[0]])
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, v, u = (rng.uniform(-2.0, 2.0, 2) for _ in range(3))
        data.qpos, data.qvel, data.ctrl = G @ q + start, G @ v, u
        mujoco.mj_forward(model, data)
        passive = spring_forces(robot, q) - robot.damping * v
        # numbers up to 1e3, added in another order
        np.testing.assert_allclose(actuator_forces(robot, q, v, u), G.T @ data.qfrc_actuator, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(passive, G.T @ data.qfrc_passive, rtol=1e-12, atol=1e-12)


def test_a_joint_that_is_held_shifts_the_length_of_its_tendon(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    with pytest.warns(ModelWarning, match="actuator 'actuator1': drives nothing and is left out"):
        robot, model, data = tied(tmp_path, '<joint joint1="l" polycoef="0.4 0 0 0 0"/>')
    q, v, u = np.array([0.3, 0.1]), np.array([-0.5, 0.2]), np.array([0.7, 0.0])
    data.qpos, data.qvel, data.ctrl = [*q, 0.4], [*v, 0.0], u
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(actuator_forces(robot, q, v, u[:1]), data.qfrc_actuator[:2], rtol=1e-13)


def test_a_number_beyond_all_reason_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = write(tmp_path, "", '<motor name="huge" joint="j" gear="1e200"/>')
    with pytest.raises(
        ModelError, match=re.escape(f"{path}: actuator 'huge': gear of joint 'j': [1e+200]: a number is")
    ):
        load(path)


def test_a_negative_spring_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    with pytest.raises(ModelError, match=r"joint 'j': stiffness \[-4\], expected 0 or more"):
        load(write(tmp_path, "", "", ARM.replace('stiffness="4"', 'stiffness="-4"')))


@pytest.mark.parametrize("word", ['damping="-1"', 'frictionloss="-1"'])
def test_negative_damping_is_noted_as_in_urdf(word: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = write(tmp_path, "", "", ARM.replace('damping=".3"', word))
    with pytest.warns(ModelWarning, match="note: .*: joint 'j': negative damping or friction"):
        load(path)
