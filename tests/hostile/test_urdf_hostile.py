"""Bad and odd URDF files: one test for each kind, each with what a user is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import ModelError
from condyle.model.checks import singular_joints
from tests.hostile.urdf_text import FOLLOWER, INERTIA, LIMIT, MASS, arm, inertial, joint, link, load, refused, warned


def test_moving_link_without_inertial(tmp_path: Path) -> None:
    robot = warned(tmp_path, "joint 'j': has a motion that moves no mass.*: .* link 'arm'", arm(""))
    assert list(singular_joints(robot)) == [0]
    refused(tmp_path, "moves no mass", arm(""), strict=True)


def test_zero_mass_leaf(tmp_path: Path) -> None:
    none = inertial('<mass value="0"/>', INERTIA.replace("0.1", "0").replace("0.25", "0").replace("0.2", "0"))
    assert warned(tmp_path, "moves no mass", arm(none)).nv == 1


def test_zero_mass_with_inertia(tmp_path: Path) -> None:
    body = arm(inertial('<mass value="0"/>'))
    robot = warned(tmp_path, "physics: .*bad.urdf:4: link 'arm': an inertia but no mass", body)
    assert robot.bodies[0].inertia.tolist() == np.diag([0.1, 0.2, 0.25]).tolist()
    assert singular_joints(robot) == ()
    refused(tmp_path, "link 'arm': an inertia but no mass", body, line=4, strict=True)


def test_products_of_inertia_may_be_left_out(tmp_path: Path) -> None:
    body = arm(inertial(inertia='<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01"/>'))
    robot = warned(tmp_path, "note: .*link 'arm': <inertia> has no ixz iyz: taken as 0", body)
    assert robot.bodies[0].inertia.tolist() == [[0.1, 0.01, 0.0], [0.01, 0.2, 0.0], [0.0, 0.0, 0.25]]
    refused(tmp_path, "<inertia> has no 'iyy'", body.replace('iyy="0.2"', ""))


def test_an_element_twice(tmp_path: Path) -> None:
    twice = '<axis xyz="0 1 0"/>{}<axis xyz="{}"/>'
    robot = warned(tmp_path, "note: .*bad.urdf:9: joint 'j': 2 equal <axis>", arm(more=twice.format(LIMIT, "0 1 0")))
    assert robot.joints[0].axis.tolist() == [0.0, 1.0, 0.0]
    refused(tmp_path, "joint 'j': 2 <axis> that differ", arm(more=twice.format(LIMIT, "0 0 1")), line=9)
    whole = inertial('<origin xyz="1 2 3"/>' + MASS)
    assert warned(tmp_path, "2 equal <inertial>", arm(whole + whole)).bodies[0].com.tolist() == [1.0, 2.0, 3.0]
    refused(tmp_path, "2 <inertial> that differ", arm(whole + whole.replace("3", "4")))


def test_root_joint_as_a_name(tmp_path: Path) -> None:
    """Only a moving joint of that name is in the way of the free one."""
    whole = arm().replace('<link name="base"/>', link("base"))
    fixed = whole + link("tip") + joint("root_joint", "arm", "tip", "", "fixed")
    robot = load(tmp_path, fixed, floating_base=True)
    assert robot.joint_names == ("root_joint", "j")
    assert robot.frames["tip"].body == 1
    with pytest.raises(ModelError, match=r"adds a joint 'root_joint', and a moving joint has that name .*rename it"):
        load(tmp_path, fixed.replace('name="root_joint" type="fixed"', 'name="root_joint" type="continuous"'),
             floating_base=True)  # fmt: skip


def test_a_world_that_is_not_defined(tmp_path: Path) -> None:
    body = link("arm") + joint("j", "world", "arm")
    error = refused(tmp_path, "parent link 'world' does not exist", body)
    assert error.findings[0].cure == 'add <link name="world"/>'
    assert load(tmp_path, '<link name="world"/>' + body).nv == 1


def test_lines_before_the_declaration(tmp_path: Path) -> None:
    assert load(tmp_path, arm(), head="\n \n<?xml version='1.0'?>\n").nv == 1
    error = refused(tmp_path, "mass -1 kg", "\n" + arm(inertial('<mass value="-1"/>')))
    with pytest.raises(ModelError) as caught:
        load(tmp_path, arm(inertial('<mass value="-1"/>')), head="\n<?xml version='1.0'?>\n")
    assert caught.value.findings[0].line == error.findings[0].line
    with pytest.raises(ModelError, match=r"delete what stands before '<\?xml'"):
        load(tmp_path, arm(), head="<!-- mine -->\n<?xml version='1.0'?>\n")


def test_negative_mass(tmp_path: Path) -> None:
    refused(tmp_path, "link 'arm': mass -1 kg, expected 0 or more", arm(inertial('<mass value="-1"/>')), line=4)


@pytest.mark.parametrize("change", [('ixx="0.1"', 'ixx="-0.1"'), ('ixy="0"', 'ixy="1"')])
def test_inertia_not_positive_definite(change: tuple[str, str], tmp_path: Path) -> None:
    refused(tmp_path, "not positive definite", arm(inertial(inertia=INERTIA.replace(*change))), line=4)


def test_inertia_indefinite_about_the_com_only(tmp_path: Path) -> None:
    far = '<origin xyz="0 0 3"/><mass value="1"/>'
    body = arm(inertial(far, INERTIA.replace('ixy="0"', 'ixy="1"')))
    warned(tmp_path, "indefinite about the com", body)
    refused(tmp_path, "indefinite about the com", body, strict=True)


def test_triangle_inequality_broken(tmp_path: Path) -> None:
    body = arm(inertial(inertia=INERTIA.replace("0.25", "0.5")))
    warned(tmp_path, "triangle inequality", body)
    refused(tmp_path, "triangle inequality", body, strict=True)


def test_mass_without_inertia(tmp_path: Path) -> None:
    zero = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
    robot = warned(tmp_path, "a point mass(.|\n)*moves no mass", arm(inertial(inertia=zero)))
    assert singular_joints(robot)


@pytest.mark.parametrize("text", ["nan", "inf", "1,5", "one", "", "1e999", "0x10", "1_0", "1 2", "１", "1e308"])
def test_mass_that_is_no_number(text: str, tmp_path: Path) -> None:
    error = refused(tmp_path, "link 'arm': <mass> value=", arm(inertial(f'<mass value="{text}"/>')), line=5)
    assert repr(text) in str(error)


def test_missing_mass(tmp_path: Path) -> None:
    refused(tmp_path, "link 'arm': <mass> has no 'value'", arm(inertial("<mass/>")), line=5)
    refused(tmp_path, "link 'arm': <inertial> has no <mass>", arm(inertial("")), line=5, strict=True)


def test_nan_in_origin(tmp_path: Path) -> None:
    text = "joint 'j': <origin> xyz='0 nan 0', expected 3 decimal numbers"
    refused(tmp_path, text, arm(more='<origin xyz="0 nan 0"/>' + LIMIT), line=9)
    refused(tmp_path, "rpy='0 0'", arm(more='<origin rpy="0 0"/>' + LIMIT))


@pytest.mark.parametrize("number", ["1e31", "-1e200", "1e308"])
def test_numbers_whose_products_overflow(number: str, tmp_path: Path) -> None:
    text = "is beyond the largest number, 1e\\+30"
    refused(tmp_path, text, arm(more=f'<origin xyz="0 {number} 0"/>' + LIMIT), line=9)
    refused(tmp_path, text, arm(inertial(inertia=INERTIA.replace("0.2", number))), line=5)
    limited = arm(more=LIMIT.replace('"1"', f'"{number}"').replace('"-1"', '"-1e300"'))
    robot = load(tmp_path, limited)
    assert np.isinf(robot.joints[0].upper[0])
    assert np.isfinite(robot.random_state(3, 0).q).all()


def test_zero_axis(tmp_path: Path) -> None:
    refused(tmp_path, "joint 'j': <axis> xyz='0 0 0' has no direction", arm(more='<axis xyz="0 0 0"/>' + LIMIT), line=9)


def test_axis_not_unit_or_missing(tmp_path: Path) -> None:
    assert load(tmp_path, arm(more='<axis xyz="0 0 -1e-3"/>' + LIMIT)).joints[0].axis.tolist() == [0.0, 0.0, -1.0]
    assert load(tmp_path, arm()).joints[0].axis.tolist() == [1.0, 0.0, 0.0]


def test_duplicate_link(tmp_path: Path) -> None:
    refused(tmp_path, "link 'arm' is defined twice, first on line 4", arm() + link("arm"), line=11)


def test_duplicate_joint(tmp_path: Path) -> None:
    body = arm() + link("tip") + joint("j", "arm", "tip")
    refused(tmp_path, "joint 'j' is defined twice", body)


def test_joint_and_link_of_one_name(tmp_path: Path) -> None:
    assert load(tmp_path, arm().replace('name="j"', 'name="arm"')).joint_names == ("arm",)


def test_two_parents(tmp_path: Path) -> None:
    body = arm() + link("other") + joint("k", "base", "other") + joint("l", "other", "arm")
    refused(tmp_path, "closed loop: joints 'j' and 'l' both hold link 'arm'", body)


def test_two_roots(tmp_path: Path) -> None:
    refused(tmp_path, "2 root links: 'base', 'other'", arm() + link("other"), line=11)


def test_cycle(tmp_path: Path) -> None:
    body = link("a") + link("b") + joint("j", "a", "b") + joint("k", "b", "a")
    refused(tmp_path, "closed loop: no way from a root", body)
    refused(tmp_path, "closed loop: no way from a root link to 'a', 'b'", '<link name="root"/>' + body)


def test_self_joint(tmp_path: Path) -> None:
    refused(tmp_path, "joint 'j': joins link 'a' to itself", link("a") + joint("j", "a", "a"))


def test_unknown_parent_or_child(tmp_path: Path) -> None:
    error = refused(
        tmp_path, "parent link 'bse' does not exist; did you mean 'base'", arm().replace('k="base"', 'k="bse"')
    )
    assert "bad.urdf:7" in str(error)
    refused(tmp_path, "child link 'amr' does not exist; did you mean 'arm'", arm().replace('link="arm"', 'link="amr"'))


def test_missing_ends(tmp_path: Path) -> None:
    refused(tmp_path, "joint 'j': no <child link=...>", arm().replace('<child link="arm"/>', ""))


def test_mimic(tmp_path: Path) -> None:
    robot = load(tmp_path, arm() + FOLLOWER.format("j"))
    assert (robot.nv, len(robot.bodies)) == (1, 2)


def test_mimic_of_unknown_joint_or_itself(tmp_path: Path) -> None:
    refused(tmp_path, "joint 'k': mimics joint 'x', which does not exist", arm() + FOLLOWER.format("x"))
    refused(tmp_path, "joint 'k': mimics itself", arm() + FOLLOWER.format("k"))
    refused(tmp_path, "<mimic> has no joint", arm() + FOLLOWER.replace('joint="{}" ', ""))


def test_mimic_on_a_fixed_joint_is_ignored(tmp_path: Path) -> None:
    body = arm() + FOLLOWER.format("nobody").replace('name="k" type="revolute"', 'name="k" type="fixed"')
    assert load(tmp_path, body).nv == 1


def test_limits(tmp_path: Path) -> None:
    assert load(tmp_path, arm(more="", kind="continuous")).nq == 1
    warned(tmp_path, "without limits", arm(more=""))
    warned(tmp_path, "lower limit above the upper", arm(more=LIMIT.replace('"-1"', '"2"')))
    refused(tmp_path, "lower='nan'", arm(more=LIMIT.replace('"-1"', '"nan"')))
    joint = load(tmp_path, arm(more=LIMIT.replace('"-1"', '"-inf"'))).joints[0]
    assert joint.lower[0] == -np.inf


def test_planar_and_floating_joints(tmp_path: Path) -> None:
    assert load(tmp_path, arm(more="", kind="planar")).nq == 3
    assert load(tmp_path, arm(more="", kind="floating")).nq == 7


def test_unknown_joint_type(tmp_path: Path) -> None:
    refused(tmp_path, "joint 'j': type 'ball' is unknown; URDF has revolute, continuous", arm(kind="ball"), line=7)
    refused(tmp_path, "no type", arm().replace(' type="revolute"', ""))


def test_raw_xacro(tmp_path: Path) -> None:
    refused(tmp_path, "raw xacro.*xacro robot.urdf.xacro", arm(inertial('<mass value="${m}"/>')), line=5)
    for word in ("macro", "include", "if", "unless", "insert_block"):
        refused(tmp_path, "raw xacro", f'<xacro:{word} name="m"/>' + arm())
    for inside in ("<xacro:inertia_of_a_box/>", "<inertial><xacro:box/></inertial>"):
        refused(tmp_path, "<xacro:.*> could stand for an inertia.*raw xacro", arm(inside))
    refused(tmp_path, "<link> name='.{prefix}arm'.*raw xacro", link("${prefix}arm"))
    refused(tmp_path, "<origin> xyz=", arm(more=LIMIT + '<origin xyz="$(optenv X 1 2 3)"/>'), line=9)


def test_what_xacro_left_over(tmp_path: Path) -> None:
    """As real files have it: in pictures, in sensors, and a macro that nobody defined."""
    seen = '<visual><xacro:grey/><geometry><mesh filename="$(find pkg)/a.stl"/></geometry></visual>'
    robot = warned(tmp_path, "note: .*bad.urdf:5: <xacro:grey> is left over", arm(inertial() + seen))
    assert robot.fingerprint == load(tmp_path, arm()).fingerprint
    warned(tmp_path, "note: .*<xacro:property> is left over", '<xacro:property name="m" value="${1 + 1}"/>' + arm())
    call = '<xacro:sensors_usb port="none"/>'
    warned(tmp_path, "physics: .*<xacro:sensors_usb> was not expanded: .* not in this robot .*delete it", call + arm())
    refused(tmp_path, "<xacro:sensors_usb> was not expanded", call + arm(), strict=True)


def test_meshes_are_never_opened(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="package://../../etc/passwd"/></geometry></visual>'
    assert load(tmp_path, arm(inertial() + mesh)).nv == 1


def test_unknown_elements(tmp_path: Path) -> None:
    warned(tmp_path, "<intertial> is unknown and ignored; did you mean 'inertial'", arm("<intertial/>" + inertial()))
    warned(tmp_path, "joint 'j': <axes> is unknown", arm(more="<axes/>" + LIMIT))
    warned(tmp_path, "<joint_loop> is unknown and ignored$", arm() + "<joint_loop/>")
    warned(tmp_path, "physics: .*<loop_joint> closes a loop, .* it is ignored.*contacts", arm() + "<loop_joint/>")
    refused(tmp_path, "quat_xyzw= is not supported", arm(more='<origin quat_xyzw="0 0 0 1"/>' + LIMIT))


def test_a_mistaken_unit(tmp_path: Path) -> None:
    big = '<inertia ixx="1e4" ixy="0" ixz="0" iyy="1e4" iyz="0" izz="1e4"/>'
    warned(tmp_path, "radius of gyration 100 m", arm(inertial(inertia=big)))


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    body = arm(inertial('<mass value="x"/>'), '<origin xyz="1 2"/><axis xyz="0 0 0"/><limit lower="y"/>')
    error = refused(tmp_path, "value='x'", body + "<joint/><link/>")
    assert len(error.findings) >= 6
    assert all(finding.line for finding in error.findings[:6])


def test_a_bad_link_welded_to_a_good_one_is_only_odd(tmp_path: Path) -> None:
    foot = link("foot", inertial('<mass value="0"/>')) + joint("weld", "arm", "foot", "", "fixed")
    robot = warned(tmp_path, "link 'foot': an inertia but no mass", arm() + foot)
    assert robot.bodies[0].inertia.tolist() == np.diag([0.2, 0.4, 0.5]).tolist()
    refused(tmp_path, "link 'foot': an inertia but no mass", arm() + foot, strict=True)


def test_text_of_a_model_stays_text(tmp_path: Path) -> None:
    name = "x; } int main(){} // *\\ &quot; ${"
    with pytest.raises(ModelError, match="xacro"):
        load(tmp_path, arm().replace('"arm"', f'"{name}"'))
    evil = "__import__('os').system('true')"
    assert load(tmp_path, arm().replace('"arm"', f'"{evil}"')).body_names == (evil,)
