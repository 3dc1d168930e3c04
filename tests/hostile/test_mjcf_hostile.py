"""Bad, odd and unsupported MJCF files: each refused by name before or after MuJoCo sees it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from condyle.errors import CondyleError, ModelError, UnsupportedError
from condyle.model.parts import unapplied
from condyle.readers import load_robot, mjcf_tree

ARM = '<body name="a">{}<joint name="j"/><geom size=".1" pos=".1 0 0"/></body>'
TWO = ARM.format('<body name="b" pos=".3 0 0"><joint name="k" type="slide"/><geom size=".1"/></body>')


@pytest.fixture(autouse=True)
def _mujoco() -> None:
    pytest.importorskip("mujoco")


SOLID = '<body name="a"><joint name="j"/><geom type="mesh" mesh="m"/></body>'


def write(folder: Path, world: str = TWO, outside: str = "", head: str = "") -> Path:
    path = folder / "bad.xml"
    path.write_text(f"{head}<mujoco>\n<worldbody>\n{world}\n</worldbody>\n{outside}\n</mujoco>", encoding="utf-8")
    return path


def refused(path: Path, text: str, kind: type[CondyleError] = ModelError, unmodelled: str = "refuse") -> None:
    with pytest.raises(kind, match=text):
        load_robot(path, unmodelled=unmodelled)


@pytest.mark.parametrize(
    ("outside", "text"),
    [
        ('<equality><joint joint1="j" joint2="k" polycoef="0 1 1 0 0"/></equality>', r"equality constraints \(1\)"),
        (
            '<equality><joint joint1="j"/><joint joint1="j" joint2="k"/></equality>',
            r"equality constraints \(1\).*unmodelled='ignore'",
        ),
        ('<tendon><fixed stiffness="1"><joint joint="j" coef="1"/></fixed></tendon>', r"tendons .*<fixed> \(line 5\)"),
        ('<tendon><fixed name="t" limited="true" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>', "'t'"),
        ("<deformable/>", r"flexes \(1\): <deformable> \(line 5\).*unmodelled='ignore'"),
        ('<extension><plugin plugin="a.b"/></extension>', r"plugins \(1\): 'a.b' \(line 5\).*unmodelled='ignore'"),
    ],
)
def test_parts_that_are_no_open_tree(outside: str, text: str, tmp_path: Path) -> None:
    refused(write(tmp_path, outside=outside), text, UnsupportedError)


def test_springs_are_said_as_damping_and_friction_are(tmp_path: Path) -> None:
    joint = '"j" stiffness="3" damping="2" frictionloss="1"'
    robot = load_robot(write(tmp_path, ARM.format("").replace('"j"', joint)))
    assert (robot.joints[0].damping[0], robot.joints[0].friction[0]) == (2.0, 1.0)
    assert re.search("damping of 1 joint, friction of 1 joint, springs of 1 joint \\('j'\\)", unapplied(robot))


def test_a_negative_armature_is_refused_when_the_file_is_loaded(tmp_path: Path) -> None:
    path = write(tmp_path, ARM.format("").replace('"j"', '"j" armature="-0.01"'))
    refused(path, "bad.xml: joint 'j': armature \\[-0.01\\], expected 0 or more")


def test_soft_bodies(tmp_path: Path) -> None:
    flex = '<flexcomp name="f" type="grid" count="2 2 2" spacing=".1 .1 .1" dim="3"/>'
    refused(write(tmp_path, flex), "<flexcomp>", UnsupportedError)


@pytest.mark.parametrize("element", ["plugin", "composite", "flexcomp"])
def test_what_runs_or_makes_bodies_is_never_ignored(element: str, tmp_path: Path) -> None:
    refused(write(tmp_path, f"<{element}/>"), f"<{element}>", UnsupportedError, unmodelled="ignore")


@pytest.mark.parametrize("word", ["nan", "1e999"])
def test_coefficients_that_are_not_finite(word: str, tmp_path: Path) -> None:
    equality = f'<equality><joint joint1="j" joint2="k" polycoef="0 {word} 0 0 0"/></equality>'
    refused(write(tmp_path, outside=equality), "finite|too large", unmodelled="ignore")


def test_equalities_in_a_circle(tmp_path: Path) -> None:
    circle = '<joint joint1="j" joint2="k"/><joint joint1="k" joint2="j"/>'
    path = write(tmp_path, outside=f"<equality>{circle}</equality>")
    refused(path, "mimics itself")
    assert load_robot(path, mimic="independent").nv == 2


def test_an_unknown_word_for_what_is_not_modelled(tmp_path: Path) -> None:
    refused(write(tmp_path), "unmodelled='drop', expected one of 'refuse', 'ignore'", unmodelled="drop")


def test_massless_moving_body(tmp_path: Path) -> None:
    refused(write(tmp_path, '<body name="a"><joint name="j"/></body>'), "mass and inertia of moving bodies")


def test_negative_mass(tmp_path: Path) -> None:
    refused(write(tmp_path, TWO.replace('size=".1"', 'size=".1" mass="-1"')), "mass")


def test_inertia_not_positive_definite(tmp_path: Path) -> None:
    inertial = '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"/>'
    refused(write(tmp_path, ARM.format(inertial)), "positive")


def test_triangle_inequality_broken(tmp_path: Path) -> None:
    refused(write(tmp_path, ARM.format('<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>')), "inertia")


@pytest.mark.parametrize("mass", ["nan", "inf", "1,5", "one", "1e999", "1e200"])
def test_mass_that_is_no_number(mass: str, tmp_path: Path) -> None:
    path = write(tmp_path, ARM.format("").replace('size=".1"', f'size=".1" mass="{mass}"'))
    refused(path, "bad.xml")


def test_zero_axis(tmp_path: Path) -> None:
    refused(write(tmp_path, TWO.replace('name="j"', 'name="j" axis="0 0 0"')), "axis|norm")
    refused(write(tmp_path, TWO.replace('name="j"', 'name="j" axis="0 1e200 1"')), "axis is zero|norm|too large")


def test_duplicate_names(tmp_path: Path) -> None:
    refused(write(tmp_path, TWO.replace('"k"', '"j"')), "repeated name 'j'")
    refused(write(tmp_path, TWO.replace('"b"', '"a"')), "repeated name 'a'")


def test_unknown_element_or_attribute(tmp_path: Path) -> None:
    refused(write(tmp_path, TWO + "<intertial/>"), "Schema violation")
    refused(write(tmp_path, TWO.replace('name="j"', 'name="j" tpe="hinge"')), "Schema violation")


def test_free_joint_inside(tmp_path: Path) -> None:
    refused(write(tmp_path, ARM.format("<body><freejoint/><geom size='1'/></body>")), "free joint")


def test_missing_include(tmp_path: Path) -> None:
    refused(write(tmp_path, '<include file="none.xml"/>'), "bad.xml:3: .*includes 'none.xml', which does not exist")


def test_without_a_model_name(tmp_path: Path) -> None:
    assert load_robot(write(tmp_path)).name == "bad"


def test_declarations(tmp_path: Path) -> None:
    refused(write(tmp_path, head='<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "DOCTYPE")
    (tmp_path / "in.xml").write_text("<!DOCTYPE r []><mujocoinclude/>")
    refused(write(tmp_path, '<include file="in.xml"/>'), r"in\.xml:1: DOCTYPE")
    refused(write(tmp_path, head='<?xml version="1.0" encoding="iso-8859-1"?>'), "encoding")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, "leaves the model's directory") for name in ("/etc/passwd", "../up.xml", "a/../../up.xml")),
        ("..\\up.xml", "has a backslash, .*write /"),
        ("meshes\\t.stl", "has a backslash, .*write /"),
        ("C:/up.xml", "has a colon"),
        ("http://x/y", "is a URI, expected a path"),
    ],
)
def test_paths_that_are_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "up.xml").write_text("<mujocoinclude/>")
    folder = tmp_path / "model"
    (folder / "a").mkdir(parents=True)
    refused(write(folder, f'<include file="{name}"/>'), text)
    refused(write(folder, SOLID, f'<asset><mesh name="m" file="{name}"/></asset>'), text)


def test_links_that_leave_the_directory(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "up.xml").write_text("<mujocoinclude/>")
    (folder / "in.xml").symlink_to(tmp_path / "up.xml")
    refused(write(folder, '<include file="in.xml"/>'), "leaves the model's directory")


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = ARM.format("").replace('name="a"', "").replace('name="j"', "")
    refused(
        write(tmp_path, f'<replicate count="1000"><replicate count="1000000">{body}</replicate></replicate>'), "bodies"
    )
    refused(write(tmp_path, "<body>" * 1000 + "</body>" * 1000), "nested deeper than 400")
    monkeypatch.setattr(mjcf_tree, "MAX_FILES", 1)
    (tmp_path / "in.xml").write_text("<mujocoinclude/>")
    refused(write(tmp_path, '<include file="in.xml"/>'), "included files")
    monkeypatch.setattr(mjcf_tree, "MAX_FILES", 2)
    refused(write(tmp_path, '<include file="in.xml"/>'), "which is empty")


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    refused(write(tmp_path, '<include file="bad.xml"/>'), "bad.xml")
