"""URDF out and in again: the same robot, to the last digit; what URDF cannot say is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from condyle import Actuator, Drive, Shape
from condyle.errors import UnsupportedError
from condyle.model.builder import Builder, chain, random_tree
from condyle.model.placement import Placement
from condyle.model.robot import Robot
from condyle.readers import load_robot
from tests.zoo import every_joint

URDF_TYPES = ("revolute", "continuous", "prismatic", "planar", "free")
BOX = np.diag([0.1, 0.2, 0.25])


def again(robot: Robot, folder: Path, *, floating_base: bool = False, snap: float = 1e-9) -> Robot:
    path = folder / "robot.urdf"
    path.write_text(robot.to_urdf(), encoding="utf-8")
    return load_robot(path, floating_base=floating_base, snap=snap, gravity=robot.gravity)


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floating", [False, True])
def test_there_and_back(seed: int, floating: bool, tmp_path: Path) -> None:
    robot = random_tree(25, seed, types=URDF_TYPES, floating_base=floating)
    back = again(robot, tmp_path, floating_base=floating)
    assert back.fingerprint == robot.fingerprint
    assert (back.joint_names, back.body_names) == (robot.joint_names, robot.body_names)
    assert back.to_urdf() == robot.to_urdf()


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_limits_damping_mimics_and_merged_links_come_back(tmp_path: Path) -> None:
    builder = Builder("r", gravity=(1, 2, 3)).body("a", mass=1.0, com=(0.1, 0.2, 0.3), inertia=BOX)
    builder.body("b", mass=0.3, inertia=BOX).body("tip").body("heel").body("plate", mass=2.0, inertia=BOX)
    builder.joint("ja", parent="world", child="a", type="revolute", lower=-1, upper=2, effort=3, velocity=4, damping=5)
    builder.joint("jb", parent="a", child="b", type="prismatic", axis=(1, 1, 1), mimic=("ja", -0.3, 0.1), friction=0.7)
    builder.joint("jt", parent="b", child="tip", type="fixed", xyz=(0, 0, 1), rpy=(0.1, 0.2, 0.3))
    builder.joint("jh", parent="a", child="heel", type="fixed", xyz=(0, 1, 0))
    builder.joint("jp", parent="world", child="plate", type="fixed", xyz=(0.3, 0.2, 0.1), rpy=(0.3, 0, 0))
    robot = builder.build()
    back = again(robot, tmp_path)
    assert back.fingerprint == robot.fingerprint
    for name in ("lower", "upper", "effort", "velocity", "damping", "friction"):
        for mine, other in zip(robot.joints, back.joints, strict=True):
            assert np.array_equal(getattr(mine, name), getattr(other, name))
    assert back.base is not None
    assert robot.base is not None
    assert np.array_equal(back.base.inertia, robot.base.inertia)
    assert {name: f.body for name, f in back.frames.items()} == {name: f.body for name, f in robot.frames.items()}
    assert np.array_equal(back.frames["tip"].placement.rotation, robot.frames["tip"].placement.rotation)


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_a_base_locked_off_the_origin_is_written_with_a_world(tmp_path: Path) -> None:
    robot = random_tree(5, 0, types=("revolute",), floating_base=True)
    pose = robot.random_state(1, 0).q[0, :7]
    held = robot.lock({"root_joint": pose})
    back = again(held, tmp_path)
    assert back.fingerprint == held.fingerprint
    assert set(back.frames) == {*held.frames, "world"}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(min_size=1, max_size=12))
@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_any_name_comes_back_or_is_refused(tmp_path: Path, name: str) -> None:
    builder = Builder(name).body(name, mass=1.0, inertia=BOX)
    robot = builder.joint(name, parent="(base)", child=name, type="continuous").body("(base)").build()
    try:
        robot.to_urdf()
    except UnsupportedError:
        with pytest.raises(UnsupportedError, match="character"):
            robot.to_urdf()
        return
    back = again(robot, tmp_path)
    assert (back.name, back.joint_names, back.body_names) == (name, (name,), (name,))


def test_armature_of_motors_comes_back(tmp_path: Path) -> None:
    robot, idle = (
        chain(2).with_drives({"joint0": Drive(gear=10.0, rotor_inertia=3e-4, effort=effort)}) for effort in (5.0, 0.0)
    )
    motors = [
        Actuator("first", {"joint0": -3.0}),
        Actuator("second", {"joint0": 1.0}),
        Actuator("other", {"joint1": 2.0}),
    ]
    driven = robot.with_actuators(motors)
    assert driven.armature[0] == 10.0**2 * 3e-4
    back = again(driven, tmp_path)
    assert back.fingerprint == driven.fingerprint
    assert (back.armature.tolist(), back.actuators) == (driven.armature.tolist(), driven.actuators)
    assert driven.to_urdf().count("rotor_inertia") == 1
    for refused in (robot, idle.with_actuators(motors)):  # without effort a reader takes it that there is no motor
        with pytest.raises(UnsupportedError, match="'joint0': armature"):
            refused.to_urdf()


def test_what_urdf_cannot_say_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError) as caught:
        every_joint().to_urdf()
    for kind in ("helical", "cylindrical", "spherical", "universal", "translation"):
        assert f"joint {kind!r}: type {kind}" in str(caught.value)
    assert "armature" in str(caught.value)
    with pytest.raises(UnsupportedError, match="does not stand in the joint frame"):
        chain(3).reroot("link2").to_urdf()


def test_a_mass_that_no_file_may_have_is_refused(tmp_path: Path) -> None:
    """Two links of the largest mass, fixed to each other, are one body of twice as much."""
    inertia = '<inertia ixx="1e29" iyy="1e29" izz="1e29" ixy="0" ixz="0" iyz="0"/>'
    heavy = f'<inertial><origin xyz="0.1 0 0"/><mass value="1e30"/>{inertia}</inertial>'
    path = tmp_path / "heavy.urdf"
    path.write_text(
        f'<robot name="r"><link name="w"/><link name="a">{heavy}</link><link name="b">{heavy}</link>'
        '<joint name="j" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 0 1"/></joint>'
        '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint></robot>'
    )
    with pytest.raises(UnsupportedError, match="body 'a': merged links add up to more than"):
        load_robot(path).to_urdf()


@pytest.mark.parametrize(
    "numbers",
    [{"lower": -1.0}, {"upper": 1.0}, {"effort": 1.0}, {"velocity": 1.0}, {"damping": 1.0}, {"friction": 1.0}],
)
def test_each_number_of_a_joint_with_several_freedoms_is_refused(numbers: dict[str, float]) -> None:
    def planar(**more: float) -> Robot:
        builder = Builder().body("a", mass=1.0, inertia=BOX)
        return builder.joint("j", parent="world", child="a", type="planar", **more).build()  # type: ignore[arg-type]

    with pytest.raises(UnsupportedError, match="joint 'j': limits, damping or friction of a joint with 3 freedoms"):
        planar(**numbers).to_urdf()
    assert "planar" in planar().to_urdf()


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_bodies_with_half_of_their_numbers_and_shapes_come_back(tmp_path: Path) -> None:
    """A point mass, an inertia without mass, a continuous joint with an effort alone, and every kind of shape."""
    builder = Builder("r").body("a", mass=2.0, com=(0.5, 0.0, 0.0)).body("b", inertia=BOX).body("c")
    builder.joint("ja", parent="world", child="a", type="continuous", axis=(0, 1, 0), effort=3.0)
    builder.joint("jb", parent="a", child="b", type="continuous", friction=0.5)
    robot = builder.joint("jc", parent="b", child="c", type="fixed", xyz=(1, 0, 0)).build()
    place = Placement.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    shapes = (
        Shape("sphere", (0.1,), "a", place, "ball"),
        Shape("capsule", (0.1, 0.25), "b", place),
        Shape("cylinder", (0.5, 0.125), "c"),
        Shape("box", (0.1, 0.2, 0.3), "c", place, "<&>"),
    )
    back = again(replace(robot, shapes=shapes), tmp_path)
    assert back.fingerprint == robot.fingerprint
    said = [(one.kind, one.size, one.frame, one.name, one.placement.rpy) for one in back.shapes]
    assert said == [(one.kind, one.size, one.frame, one.name, one.placement.rpy) for one in shapes]
    assert [one.effort.tolist() for one in back.joints] == [[3.0], [np.inf]] and back.friction.tolist() == [0.0, 0.5]
    assert "<limit" not in replace(robot, joints=(replace(robot.joints[0], effort=[np.inf]), robot.joints[1])).to_urdf()


def test_names_that_are_taken_get_another(tmp_path: Path) -> None:
    """That of a joint of a fixed frame, and that of the link at the origin of a base that stands elsewhere."""
    builder = Builder().body("world", mass=1.0, inertia=BOX).body("a", mass=1.0, inertia=BOX).body("tip")
    builder.joint("tip_fixed", parent="world", child="a", type="continuous")
    builder.joint("f", parent="a", child="tip", type="fixed", xyz=(0, 0, 1))
    robot = builder.build(floating_base=True).lock({"root_joint": (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)})
    back = again(robot, tmp_path)
    assert back.fingerprint == robot.fingerprint and back.joint_names == ("tip_fixed",)
    assert set(back.frames) == {"world", "world_", "a", "tip"} and 'name="tip_fixed_"' in robot.to_urdf()


def test_a_motor_with_a_gain_or_ranges_is_no_transmission() -> None:
    for more in ({"gain": 2.0}, {"control": (-1.0, 1.0)}, {"force": (-1.0, 1.0)}):
        motor = Actuator("m", {"joint0": 2.0}, **more)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedError, match=r"actuator 'm': its gain or its ranges; robot.with_actuators"):
            chain(1).with_actuators([motor]).to_urdf()


def test_a_small_robot_as_text() -> None:
    """A base, a motor with a rotor, a follower, a planar joint, a fixed link, shapes: each line once."""
    builder = Builder("small").body("base", mass=3.0, inertia=BOX)
    builder.body("arm", mass=1.5, com=(0.1, 0.0, -0.2), inertia=BOX + 0.01)
    builder.joint(
        "elbow",
        parent="base",
        child="arm",
        type="revolute",
        axis=(0, 1, 0),
        xyz=(0, 0, 0.5),
        rpy=(0.25, 0, -0.5),
        lower=-1.0,
        effort=4.0,
        damping=0.5,
        armature=0.125,
    )
    builder.body("tip", mass=0.5, inertia=BOX)
    builder.joint("wrist", parent="arm", child="tip", type="prismatic", mimic=("elbow", -2.0, 0.25), upper=2.0)
    builder.body("tool").joint("weld", parent="tip", child="tool", type="fixed", xyz=(1, 2, 3))
    builder.body("cart", mass=1.0, inertia=BOX).joint("slide", parent="base", child="cart", type="planar")
    builder.actuator(Actuator("motor", {"elbow": 50.0}))
    robot = builder.build()
    shapes = (Shape("box", (0.5, 1.0, 1.5), "base"), Shape("capsule", (0.25, 0.5), "tool", name="end"))
    place, axis = '<origin xyz="0.0 0.0 0.0" rpy="0.0 0.0 0.0"/>', '<axis xyz="0.0 0.0 1.0"/>'
    box = f"""<inertial>
      {place}
      <mass value="{{}}"/>
      <inertia ixx="0.1" ixy="0.0" ixz="0.0" iyy="0.2" iyz="0.0" izz="0.25"/>
    </inertial>"""
    rotor = '<drake:rotor_inertia value="0.125"/>'
    largest = "1.7976931348623157e+308"
    want = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="small" xmlns:drake="http://drake.mit.edu">
  <link name="base">
    {box.format(3.0)}
    <collision>
      {place}
      <geometry><box size="1.0 2.0 3.0"/></geometry>
    </collision>
  </link>
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0.0 -0.2" rpy="0.0 0.0 0.0"/>
      <mass value="1.5"/>
      <inertia ixx="0.11" ixy="0.01" ixz="0.01" iyy="0.21000000000000002" iyz="0.01" izz="0.26"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <origin xyz="0.0 0.0 0.5" rpy="0.25 0.0 -0.5"/>
    <axis xyz="0.0 1.0 0.0"/>
    <limit lower="-1.0" upper="{largest}" effort="4.0" velocity="{largest}"/>
    <dynamics damping="0.5" friction="0.0"/>
  </joint>
  <link name="tip">
    {box.format(0.5)}
  </link>
  <joint name="wrist" type="prismatic">
    <parent link="arm"/>
    <child link="tip"/>
    {place}
    {axis}
    <limit lower="-{largest}" upper="2.0" effort="{largest}" velocity="{largest}"/>
    <mimic joint="elbow" multiplier="-2.0" offset="0.25"/>
  </joint>
  <link name="cart">
    {box.format(1.0)}
  </link>
  <joint name="slide" type="planar">
    <parent link="base"/>
    <child link="cart"/>
    {place}
    {axis}
  </joint>
  <link name="tool">
    <collision name="end">
      {place}
      <geometry><capsule radius="0.25" length="1.0"/></geometry>
    </collision>
  </link>
  <joint name="tool_fixed" type="fixed">
    <parent link="tip"/>
    <child link="tool"/>
    <origin xyz="1.0 2.0 3.0" rpy="0.0 0.0 0.0"/>
  </joint>
  <transmission name="motor">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="elbow"><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface></joint>
    <actuator name="motor"><mechanicalReduction>50.0</mechanicalReduction>{rotor}</actuator>
  </transmission>
</robot>
"""
    assert replace(robot, shapes=shapes).to_urdf() == want
