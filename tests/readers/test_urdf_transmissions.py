"""Transmissions of URDF files: motors behind gears, and what is no motor is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle import Robot, load
from condyle.errors import UnsupportedError
from condyle.model.parts import unapplied

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
EFFORT = "<hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>"


def joint(name: str, child: str, more: str = '<limit lower="-1" upper="1" effort="10" velocity="2"/>') -> str:
    ends = f'<parent link="base"/><child link="{child}"/>'
    return f'<link name="{child}">{INERTIAL}</link><joint name="{name}" type="revolute">{ends}{more}</joint>'


def transmission(
    kind: str = "<type>transmission_interface/SimpleTransmission</type>",
    joints: str = f'<joint name="j">{EFFORT}</joint>',
    actuators: str = '<actuator name="m"><mechanicalReduction> 50\n</mechanicalReduction></actuator>',
) -> str:
    return f'<transmission name="t">{kind}{joints}{actuators}</transmission>'


def arm(folder: Path, more: str, joints: str = joint("j", "a")) -> Robot:
    path = folder / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="base"/>{joints}\n{more}</robot>')
    return load(path)


PR2 = """<transmission type="pr2_mechanism_model/SimpleTransmission" name="t">
<actuator name="m"/><joint name="j"/>{}</transmission>"""


@pytest.mark.parametrize(
    ("text", "gear"),
    [
        (transmission(), 50.0),
        (transmission(actuators='<actuator name="m"/>'), 1.0),
        (transmission(joints='<joint name="j"/>', actuators=f'<actuator name="m">{EFFORT}</actuator>'), 1.0),
        (transmission(joints='<joint name="j"><mechanicalReduction>-3e1</mechanicalReduction></joint>'), 50.0),
        (PR2.format("<mechanicalReduction>-79.38</mechanicalReduction>"), -79.38),
        (PR2.format("<mechanicalReduction>-1e30</mechanicalReduction>"), -1e30),
        (PR2.format("<mechanicalReduction>2.5</mechanicalReduction><mechanicalReduction>3</mechanicalReduction>"), 2.5),
    ],
)
def test_a_simple_transmission_of_effort_is_a_motor(text: str, gear: float, tmp_path: Path) -> None:
    robot = arm(tmp_path, text)
    (one,) = robot.actuators
    assert (one.name, one.kind, dict(one.transmission), one.gain, one.bias) == (
        "m",
        "motor",
        {"j": gear},
        1.0,
        (0, 0, 0),
    )
    assert not robot.armature.any() and unapplied(robot) == "", "a motor alone is not said, as limits are not"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (transmission("<type>x/FourBarLinkageTransmission</type>"), "type 'x/FourBarLinkageTransmission'"),
        (transmission(""), "type ''"),
        (transmission(joints=f'<joint name="j">{EFFORT.replace("Effort", "Position")}</joint>'), "interface 'hardware"),
        (transmission(joints='<joint name="k"/>'), "its transmission does not name one joint of this file"),
        (transmission(joints='<joint name="j"/><joint name="j"/>'), "its transmission does not name one joint"),
        (transmission(actuators='<actuator name="m"/><actuator name="n"/>'), "2 actuators"),
        (
            transmission(actuators='<actuator name="m"><mechanicalReduction>0</mechanicalReduction></actuator>'),
            "on '0'",
        ),
        (
            transmission(actuators='<actuator name="m"><mechanicalReduction>a</mechanicalReduction></actuator>'),
            "on 'a'",
        ),
        (transmission(actuators="<mechanicalReduction>1e31</mechanicalReduction>"), "mechanicalReduction '1e31'"),
        (transmission(actuators="<mechanicalReduction>1e300</mechanicalReduction>"), "mechanicalReduction '1e300'"),
    ],
)
def test_what_is_no_motor_is_named_with_its_line(text: str, why: str, tmp_path: Path) -> None:
    robot = arm(tmp_path, text)
    assert not robot.actuators
    line = unapplied(robot)
    assert "not applied: transmissions that are no motor: " in line and why in line and "(line 2))" in line, line


def test_joints_without_effort_have_no_motor(tmp_path: Path) -> None:
    still = joint("j", "a", '<limit lower="-1" upper="1" effort="0" velocity="2"/>')
    robot = arm(tmp_path, transmission(), still)
    assert not robot.actuators and "joint 'j' has an effort limit of 0 ('m' (line 2))" in unapplied(robot)


def test_a_name_that_is_there_twice_gets_another(tmp_path: Path) -> None:
    both = transmission() + transmission(joints='<joint name="k"/>')
    robot = arm(tmp_path, both, joint("j", "a") + joint("k", "b"))
    assert [(one.name, *one.transmission) for one in robot.actuators] == [("m", "j"), ("m_", "k")]


def test_a_motor_of_a_follower_drives_its_master(tmp_path: Path) -> None:
    follower = joint(
        "k", "b", '<limit lower="-9" upper="9" effort="10" velocity="9"/><mimic joint="j" multiplier="-2"/>'
    )
    text = transmission(joints='<joint name="k"/>')
    robot = arm(tmp_path, text, joint("j", "a") + follower)
    assert [dict(one.transmission) for one in robot.actuators] == [{"j": -100.0}]


def test_motors_survive_urdf(tmp_path: Path) -> None:
    robot = arm(tmp_path, transmission())
    (tmp_path / "again.urdf").write_text(robot.to_urdf())
    assert load(tmp_path / "again.urdf").actuators == robot.actuators


def test_what_urdf_cannot_hold_is_named(tmp_path: Path) -> None:
    robot = arm(tmp_path, transmission(), joint("j", "a") + joint("k", "b"))
    make = type(robot.actuators[0])
    servo, both = make("servo", {"j": 1.0}, "position", 5.0), make("both", {"j": 1.0, "k": 2.0})
    ranged = make("ranged", {"j": 1.0}, control=(-1.0, 1.0))
    with pytest.raises(UnsupportedError) as refused:
        robot.with_actuators((servo, both, ranged)).to_urdf()
    lines = str(refused.value).splitlines()[1:]
    assert [line.partition(";")[0] for line in lines] == [
        "actuator 'servo': kind position",
        "actuator 'both': 2 joints",
        "actuator 'ranged': its gain or its ranges",
    ]
    assert all(line.endswith("robot.with_actuators(()) leaves all out") for line in lines)
    assert "<transmission" not in robot.with_actuators(()).to_urdf()
