"""URDF: what each element means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from condyle import Robot
from condyle.errors import ModelError, ModelWarning
from condyle.model.parts import Mimic, unapplied
from condyle.readers import load_robot, urdf

pytestmark = pytest.mark.smoke

INERTIA = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/>'
INERTIAL = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'


def write(folder: Path, body: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{body}</robot>', encoding="utf-8")
    return path


def arm(joint: str, kind: str = "revolute", link: str = INERTIAL) -> str:
    ends = '<parent link="base"/><child link="arm"/>'
    return f'<link name="base"/><link name="arm">{link}</link><joint name="j" type="{kind}">{ends}{joint}</joint>'


def test_a_joint_with_everything(tmp_path: Path) -> None:
    text = arm(
        '<origin xyz="1 2 3" rpy="0 1.5707963267 0"/><axis xyz="0 -2 0"/><dynamics damping="0.5" friction="0.25"/>'
        + LIMIT
        + '<calibration rising="0"/><safety_controller k_velocity="1"/>'
    )
    robot = load_robot(write(tmp_path, text))
    joint = robot.joints[0]
    assert (robot.name, joint.name, joint.type, robot.body_names) == ("r", "j", "revolute", ("arm",))
    assert joint.axis.tolist() == [0.0, -1.0, 0.0]
    assert joint.placement.translation.tolist() == [1.0, 2.0, 3.0]
    assert joint.placement.rotation.tolist() == [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    numbers = [joint.lower, joint.upper, joint.effort, joint.velocity, joint.damping, joint.friction]
    assert [float(x[0]) for x in numbers] == [-1.0, 1.0, 10.0, 2.0, 0.5, 0.25]
    assert joint.armature.tolist() == [0.0]
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81]


def test_snap_zero_keeps_the_digits(tmp_path: Path) -> None:
    path = write(tmp_path, arm('<origin rpy="0 1.5707963267 0"/>' + LIMIT))
    assert load_robot(path, snap=0.0).joints[0].placement.rotation[0, 0] == math.cos(1.5707963267)
    assert load_robot(path, gravity=(0, -9.8, 0)).gravity.tolist() == [0.0, -9.8, 0.0]


def test_an_inertia_turned_in_its_link(tmp_path: Path) -> None:
    turned = f'<inertial><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><mass value="2"/>{INERTIA}</inertial>'
    body = load_robot(write(tmp_path, arm(LIMIT, link=turned))).bodies[0]
    assert body.inertia.tolist() == np.diag([0.2, 0.1, 0.25]).tolist()
    assert (body.mass, body.com.tolist()) == (2.0, [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("word", "kind", "nq"), [("continuous", "continuous", 1), ("planar", "planar", 3), ("floating", "free", 7)]
)
def test_types_without_limits(word: str, kind: str, nq: int, tmp_path: Path) -> None:
    robot = load_robot(write(tmp_path, arm('<axis xyz="0 0 1"/>', word)))
    assert (robot.joints[0].type, robot.nq) == (kind, nq)


def test_no_axis_is_x(tmp_path: Path) -> None:
    assert load_robot(write(tmp_path, arm(LIMIT))).joints[0].axis.tolist() == [1.0, 0.0, 0.0]


def test_a_continuous_joint_has_no_position_limits(tmp_path: Path) -> None:
    joint = load_robot(write(tmp_path, arm(LIMIT, "continuous"))).joints[0]
    assert [joint.lower[0], joint.upper[0], joint.effort[0]] == [-np.inf, np.inf, 10.0]


def test_floating_base(tmp_path: Path) -> None:
    body = arm(LIMIT).replace('<link name="base"/>', f'<link name="base">{INERTIAL}</link>')
    robot = load_robot(write(tmp_path, body), floating_base=True)
    assert robot.joint_names == ("root_joint", "j")
    assert (robot.nq, robot.nv, robot.body_names) == (8, 7, ("base", "arm"))


def test_mimics(tmp_path: Path) -> None:
    follower = '<parent link="arm"/><child link="tip"/><mimic joint="j" multiplier="-2" offset="0.5"/>'
    text = arm(LIMIT) + f'<link name="tip">{INERTIAL}</link><joint name="k" type="revolute">{follower}{LIMIT}</joint>'
    robot = load_robot(write(tmp_path, text))
    mimic = robot.joints[1].mimic
    assert mimic is not None
    assert (robot.nv, mimic.joint, mimic.multiplier, mimic.offset) == (1, 0, -2.0, 0.5)
    assert load_robot(write(tmp_path, text), mimic="independent").nv == 2


def test_a_mimic_without_numbers_follows_one_to_one(tmp_path: Path) -> None:
    follower = '<parent link="arm"/><child link="tip"/><mimic joint="j"/>'
    text = arm(LIMIT) + f'<link name="tip">{INERTIAL}</link><joint name="k" type="revolute">{follower}{LIMIT}</joint>'
    assert load_robot(write(tmp_path, text)).joints[1].mimic == Mimic(0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("limit", "said"), [('upper="1"', (0.0, 1.0)), ('lower="-1"', (-1.0, 0.0)), ('lower="-1" upper="2"', (-1.0, 2.0))]
)
def test_the_limit_that_is_left_out_is_0(limit: str, said: tuple[float, float], tmp_path: Path) -> None:
    robot = load_robot(write(tmp_path, arm(f'<limit {limit} effort="1" velocity="1"/>')))
    assert (robot.lower[0], robot.upper[0]) == said


def test_numbers_of_a_mimic_joint_count_at_its_master(tmp_path: Path) -> None:
    dynamics = '<dynamics damping="1" friction="2"/>'
    first = arm('<limit lower="-3" upper="3" effort="10" velocity="5"/>' + dynamics)
    limit = '<limit lower="-.1" upper=".2" effort="1" velocity="1"/><mimic joint="j" multiplier="3"/>'
    follower = f'<parent link="arm"/><child link="tip"/>{limit}{dynamics}'
    text = first + f'<link name="tip">{INERTIAL}</link><joint name="k" type="revolute">{follower}</joint>'
    robot = load_robot(write(tmp_path, text))
    found = (robot.damping, robot.friction, robot.lower, robot.upper, robot.effort, robot.velocity)
    np.testing.assert_allclose(np.ravel(found), [10.0, 8.0, -0.1 / 3, 0.2 / 3, 3.0, 1 / 3], rtol=1e-15)


def test_elements_that_dynamics_does_not_need_are_passed_over(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="package://nowhere/at/all.stl"/></geometry></visual>'
    text = arm(LIMIT, link=INERTIAL + mesh + mesh.replace("visual", "collision"))
    text += '<material name="m"/><transmission name="t"/><gazebo reference="arm"><a><b/></a></gazebo>'
    assert load_robot(write(tmp_path, text)).nv == 1


def test_unicode_names_and_encodings(tmp_path: Path) -> None:
    text = arm(LIMIT).replace('"j"', '"Gelenk ü 关节"').replace('"arm"', '"x; } int main(){ //"')
    robot = load_robot(write(tmp_path, text))
    assert robot.joint_names == ("Gelenk ü 关节",)
    path = tmp_path / "latin.urdf"
    head = '<?xml version="1.0" encoding="iso-8859-1"?>'
    path.write_bytes(f'{head}<robot name="é">{arm(LIMIT)}</robot>'.encode("latin-1"))
    assert load_robot(path).name == "é"


@pytest.mark.parametrize("spelled", ["utf8", "UTF8", "utf_8", "UTF-8"])
def test_utf8_however_it_is_spelled(tmp_path: Path, spelled: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(f"<?xml version='1.0' encoding='{spelled}'?><robot name=\"关节\">{arm(LIMIT)}</robot>", "utf-8")
    assert load_robot(path).name == "关节"


@pytest.mark.parametrize("note", ["<!-\\- note -\\->", "<!- note ->", "<! a 'b >", '<!-\\- <link name="c"/> -\\->'])
def test_a_comment_that_only_tinyxml_takes(tmp_path: Path, note: str) -> None:
    """It ends at the first ">", in Pinocchio and MuJoCo too."""
    robot = load_robot(write(tmp_path, note + arm(f"\n{note}\n{LIMIT}")))
    assert (robot.nv, robot.body_names) == (1, ("arm",))


def rotor(more: str, joints: str = '<joint name="j"/>') -> str:
    return f'<transmission type="SimpleTransmission">{joints}<actuator name="m">{more}</actuator></transmission>'


ROTOR = '<drake:rotor_inertia value="0.01"/>'
GEAR = '<drake:gear_ratio value="10"/>'


def test_a_rotor_behind_a_gear_is_armature(tmp_path: Path) -> None:
    """As in Drake: M of this arm is 0.22 about y, 1.22 with the rotor; several motors of a joint add up."""
    place = '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>' + INERTIA + "</inertial>"
    body = arm(LIMIT + '<axis xyz="0 1 0"/>', link=place)
    for more, armature in (
        ("", 0.0),
        (rotor("<mechanicalReduction>10</mechanicalReduction>"), 0.0),
        (rotor(ROTOR), 0.01),
        (rotor(ROTOR + GEAR), 1.0),
        (rotor(ROTOR + '<drake:gear_ratio value="-10"/>'), 1.0),
        (rotor(ROTOR + GEAR) + rotor(ROTOR), 1.01),
    ):
        robot = Robot.from_data(load_robot(write(tmp_path, body + more)))
        assert robot.armature.tolist() == pytest.approx([armature], rel=1e-15)
        assert robot.compile("numpy").mass_matrix([0.3])[0, 0] == pytest.approx(0.22 + armature, rel=1e-14)


@pytest.mark.parametrize(
    ("joint", "more", "why"),
    [
        (arm(LIMIT.replace("10", "0")), rotor(ROTOR), "joint 'j' has an effort limit of 0"),
        (arm("", "fixed"), rotor(ROTOR), "joint 'j' is fixed"),
        (arm('<axis xyz="0 0 1"/>', "planar"), rotor(ROTOR), "joint 'j' is planar"),
        (arm(LIMIT), rotor(ROTOR, '<joint name="k"/>'), "its transmission does not name one joint"),
        (arm(LIMIT), rotor(ROTOR, '<joint name="j"/><joint name="k"/>'), "its transmission does not name one joint"),
    ],
)
def test_a_rotor_that_drives_no_joint_is_noted(tmp_path: Path, joint: str, more: str, why: str) -> None:
    with pytest.warns(ModelWarning, match=f"<drake:rotor_inertia> is ignored: {why}"):
        assert not load_robot(write(tmp_path, joint + more)).armature.any()


@pytest.mark.parametrize(
    ("inertia", "gear", "message"),
    [
        ("-0.01", "1", "rotor inertia -0.01 at gear ratio 1"),
        ("1", "1e20", "gear ratio 1e\\+20"),
        ("1e20", "1e10", "rotor inertia 1e\\+20 at gear ratio 1e\\+10"),
        ("a", "1", "value='a'"),
    ],
)
def test_a_rotor_that_cannot_be(tmp_path: Path, inertia: str, gear: str, message: str) -> None:
    more = rotor(ROTOR.replace("0.01", inertia) + GEAR.replace("10", gear))
    with pytest.raises(ModelError, match=f"robot.urdf:1: actuator 'm': .*{message}"):
        load_robot(write(tmp_path, arm(LIMIT) + more))


def test_a_revolute_joint_without_limits_is_noted(tmp_path: Path) -> None:
    with pytest.warns(ModelWarning, match=r"robot\.urdf:1: joint 'j': a revolute joint without limits"):
        joint = load_robot(write(tmp_path, arm(""))).joints[0]
    assert [joint.lower[0], joint.upper[0]] == [-np.inf, np.inf]


@pytest.mark.parametrize("broken", ['ixz="0.003\n"', 'ixz="\n0.003"', 'ixz="\t0.003\r\n"'])
def test_a_number_with_a_line_break_is_a_number(tmp_path: Path, broken: str) -> None:
    """XML makes a space of it; files have it (Unitree's hands), and other readers drop the inertial then."""
    inertia = f'<inertia ixx="0.1" ixy="0" {broken} iyy="0.2" iyz="0" izz="0.25"/>'
    text = arm(LIMIT, link=f'<inertial><origin xyz="0.1\n 0.2 0.3\n"/><mass value="1.5\n"/>{inertia}</inertial>')
    (body,) = load_robot(write(tmp_path, text)).bodies
    assert body.mass == 1.5
    assert body.com.tolist() == [0.1, 0.2, 0.3]
    assert body.inertia.tolist() == [[0.1, 0.0, 0.003], [0.0, 0.2, 0.0], [0.003, 0.0, 0.25]]


@pytest.mark.parametrize("word", ["damping", "friction"])
def test_negative_numbers_of_dynamics_are_noted(word: str, tmp_path: Path) -> None:
    """Each of them alone."""
    path = write(tmp_path, arm(LIMIT + f'<dynamics {word}="-0.5"/>'))
    with pytest.warns(ModelWarning, match="negative damping or friction"):
        robot = load_robot(path)
    assert getattr(robot, word).tolist() == [-0.5]


DEFAULTS = arm(
    '<origin xyz="0 0 0" rpy="0 0 0"/><axis xyz="1 0 0"/><dynamics damping="0" friction="0"/>'
    '<limit lower="-1" upper="0" effort="10" velocity="2"/>',
    link=f'<inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="1"/>{INERTIA}</inertial>',
)
FOLLOWER = '<parent link="arm"/><child link="tip"/><mimic joint="j" multiplier="1" offset="0"/>'
DEFAULTS += f'<link name="tip">{INERTIAL}</link><joint name="k" type="continuous">{FOLLOWER}</joint>'
GEARED = rotor(ROTOR + GEAR.replace("10", "1"))
LEFT_OUT = [
    ' xyz="0 0 0"',
    ' rpy="0 0 0"',
    '<origin xyz="0 0 0" rpy="0 0 0"/>',
    ' damping="0"',
    ' friction="0"',
    '<dynamics damping="0" friction="0"/>',
    '<axis xyz="1 0 0"/>',
    ' upper="0"',
    ' multiplier="1"',
    ' offset="0"',
    '<drake:gear_ratio value="1"/>',
]


@pytest.mark.parametrize("part", LEFT_OUT)
def test_what_is_left_out_has_the_default_of_the_format(part: str, tmp_path: Path) -> None:
    text = DEFAULTS + GEARED
    assert part in text
    whole = Robot.from_data(load_robot(write(tmp_path, text)))
    without = Robot.from_data(load_robot(write(tmp_path, text.replace(part, ""))))
    assert without.identity == whole.identity


def test_elements_of_other_programs_are_passed_over_without_a_word(tmp_path: Path) -> None:
    inside = "".join(
        f"<{tag}/>" for tag in ["visual", "collision", "sensor", "gazebo", "contact", "material", "self_filter"]
    )
    text = arm(LIMIT + "<calibration/><safety_controller/>", link=INERTIAL + inside)
    text += "".join(
        f"<{tag}/>" for tag in ["material", "gazebo", "sensor", "ros2_control", "mujoco", "plugin", "param"]
    )
    assert load_robot(write(tmp_path, text + '<transmission name="t"/>')).nv == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (arm(LIMIT) + "<lnk/>", "note: .*: robot: <lnk> is unknown and ignored; did you mean 'link'?"),
        (arm(LIMIT) + "<a:link/>", "note: .*: robot: <a:link> is unknown and ignored$"),
        (
            arm(LIMIT, link=INERTIAL + "<visuals/>"),
            "link 'arm': <visuals> is unknown and ignored; did you mean 'visual'",
        ),
        (arm(LIMIT + "<limits/>"), "joint 'j': <limits> is unknown and ignored; did you mean 'limit'"),
        (arm(LIMIT, link=INERTIAL.replace("<mass", "<masss/><mass")), "link 'arm': <masss> is unknown .* mean 'mass'"),
        (arm(LIMIT) + '<xacro:arg name="m"/>', "note: .*<xacro:arg> is left over from xacro and ignored"),
        (arm(LIMIT) + "<gazebo><xacro:box/></gazebo>", "note: .*<xacro:box> is left over from xacro and ignored"),
    ],
)
def test_unknown_elements_are_noted_with_what_may_be_meant(text: str, said: str, tmp_path: Path) -> None:
    with pytest.warns(ModelWarning, match=said):
        assert load_robot(write(tmp_path, text)).nv == 1


@pytest.mark.parametrize("word", ["macro", "include", "if", "unless", "insert_block", "call", "element", "attribute"])
def test_a_file_with_what_xacro_removes_was_never_expanded(word: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"robot\.urdf:1: <xacro:{word}>: this file is raw xacro, not yet URDF"):
        load_robot(write(tmp_path, arm(LIMIT) + f"<xacro:{word}/>"))


@pytest.mark.parametrize(
    "tag",
    ["origin", "mass", "inertia", "parent", "child", "axis", "limit", "dynamics", "mimic", "inertial", "link", "joint"],
)
@pytest.mark.parametrize("expression", ["${x}", "$(x)"])
def test_an_expression_in_what_a_robot_is_made_of_was_never_expanded(tag: str, expression: str, tmp_path: Path) -> None:
    part = f'<{tag} x="{expression}"/>'
    text = {"link": part, "joint": part, "inertial": f"<link>{part}</link>"}.get(tag, f"<joint>{part}</joint>")
    with pytest.raises(ModelError, match=f"<{tag}> x='.*': this file is raw xacro, not yet URDF"):
        load_robot(write(tmp_path, text))


def test_links_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert urdf.MAX_LINKS == 16_384
    path = write(tmp_path, arm(LIMIT))
    monkeypatch.setattr(urdf, "MAX_LINKS", 2)
    assert load_robot(path).nv == 1
    monkeypatch.setattr(urdf, "MAX_LINKS", 1)
    with pytest.raises(ModelError, match=r"robot\.urdf: 2 links, expected at most 1"):
        load_robot(path)


def test_an_axis_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    for axis, said in (("0 x 1", "<axis> xyz='0 x 1', expected 3"), ("0 0 0", "<axis> xyz='0 0 0' has no direction")):
        with pytest.raises(ModelError, match=f"joint 'j': {said}") as caught:
            load_robot(write(tmp_path, arm(LIMIT + f'<axis xyz="{axis}"/>')))
        assert len(caught.value.findings) == 1


def test_planar_joints_without_an_axis_are_counted(tmp_path: Path) -> None:
    text = '<link name="base"/>'
    for k in range(4):
        ends = f'<parent link="base"/><child link="a{k}"/>'
        text += f'<link name="a{k}">{INERTIAL}</link><joint name="j{k}" type="planar">{ends}</joint>'
    said = "read otherwise: 4 planar joints without <axis> move across x, as URDF has it (in Pinocchio and older Drake "
    assert f"{said}across z): 'j0', 'j1', 'j2' and 1 more;" in unapplied(load_robot(write(tmp_path, text)))


def test_names_that_are_missing_are_errors_with_their_lines(tmp_path: Path) -> None:
    text = '<link name="base"/>\n<link/>\n<joint type="fixed"><parent/><child link="a"/></joint>'
    with pytest.raises(ModelError) as caught:
        load_robot(write(tmp_path, text))
    said = [str(finding).partition(".urdf:")[2] for finding in caught.value.findings]
    assert said[:3] == [
        "2: <link> has no name",
        "3: <joint> has no name",
        "3: joint '(joint on line 3)': no <parent link=...>",
    ]


def test_products_of_inertia_that_are_left_out_leave_the_others(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixz="0.01"/></inertial></link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    with pytest.warns(ModelWarning, match="link 'b': <inertia> has no ixy iyz: taken as 0"):
        robot = load_robot(path)
    assert robot.bodies[0].inertia.tolist() == [[0.1, 0.0, 0.01], [0.0, 0.2, 0.0], [0.01, 0.0, 0.25]]
    assert robot.mass == 2.0
    path.write_text(path.read_text().replace('ixz="0.01"', 'ixz="x"').replace('mass value="2"', 'mass value="-2"'))
    with pytest.raises(ModelError) as caught:
        load_robot(path)
    assert [finding.severity for finding in caught.value.findings] == ["note", "error"]
