"""One door for paths and names."""

from __future__ import annotations

import os
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import condyle
from condyle.errors import ModelError
from condyle.readers import BUNDLED, load_robot, xml

pytestmark = pytest.mark.smoke

ONE = '<robot name="r"><link name="a"/></robot>'


def test_a_path_as_text_or_as_a_path(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ONE)
    for source in (path, str(path), os.fspath(path)):
        assert load_robot(source).nv == 0


def test_bundled_names() -> None:
    papers = ("iiwa14", "hyq", "atlas")
    assert (*papers, "panda", "ur5e", "anymal_kinova", "talos", "allegro", "go2", "g1") == BUNDLED
    assert load_robot("iiwa14").name == "iiwa14"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("nowhere.urdf", "does not exist.*iiwa14, hyq, atlas"),
        ("  <robot/>", "XML text"),
        (".", "not a regular file"),
        ("a\0b", "does not exist|null"),
        ("Atlas", "did you mean 'atlas'"),
        ("atlos", r"did you mean '\w+'\?"),  # one, of atlas and talos
        ("", "expected a path"),
        (None, "expected a path.*None"),
    ],
)
def test_what_is_no_file(source: Any, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        load_robot(source)


def test_the_option_mimic_is_checked() -> None:
    with pytest.raises(ModelError, match="'exact', 'independent'"):
        load_robot("iiwa14", mimic="no")


def test_other_formats_are_named(tmp_path: Path) -> None:
    path = tmp_path / "r.sdf"
    path.write_text("<sdf/>")
    with pytest.raises(ModelError, match="SDF, which is not supported: convert"):
        load_robot(path)


def test_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ONE)
    monkeypatch.setattr(xml, "MAX_BYTES", 20)
    with pytest.raises(ModelError, match="larger than"):
        load_robot(path)
    monkeypatch.undo()
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 1)
    with pytest.raises(ModelError, match="more than 1 elements"):
        load_robot(path)


@pytest.mark.parametrize("snap", [-1e-9, 0.1, "a", None, float("nan")])
def test_an_angle_to_snap_is_small(snap: Any) -> None:
    with pytest.raises(ModelError, match=r"snap=.*, expected an angle of 0 to 0.1 rad"):
        load_robot("iiwa14", snap=snap)
    assert load_robot("iiwa14", snap=0.0999).nv == 7


@pytest.mark.parametrize(
    ("gravity", "said"),
    [
        ((0, 0), r"gravity=\(0, 0\): expected shape \(3,\), got \(2,\); give X, Y, Z in m/s"),
        ("down", "gravity='down': could not convert.*; give X, Y, Z in m/s"),
        ((0, 0, 1.1e30), r"gravity=.*: not finite, or beyond 1e\+30 m/s"),
        ((0, 0, float("nan")), "gravity=.*: not finite, or beyond"),
    ],
)
def test_gravity_is_three_finite_numbers(gravity: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        load_robot("iiwa14", gravity=gravity)
    assert load_robot("iiwa14", gravity=(0, 1e30, 0)).gravity.tolist() == [0.0, 1e30, 0.0]


def test_the_reader_and_the_library_have_the_same_defaults() -> None:
    inner, outer = (
        {name: one.default for name, one in signature(load).parameters.items()} for load in (load_robot, condyle.load)
    )
    assert inner == outer


def test_two_files_that_may_be_meant_are_named(tmp_path: Path) -> None:
    """Of three that are near, the nearest two; folders are none."""
    for name in ("robot1.urdf", "robot2.urdf", "robot3.urdf", "other.txt"):
        (tmp_path / name).write_text(ONE)
    (tmp_path / "robot.urdf2").mkdir()
    with pytest.raises(ModelError) as caught:
        load_robot(tmp_path / "robot.urdf")
    text = str(caught.value)
    assert text.count("/robot") == 3 and text.count(" or '") == 1 and "urdf2" not in text and "other" not in text


def test_a_file_of_neither_format_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text("\n<html/>")
    with pytest.raises(
        ModelError, match=r"r\.xml:2: <html> is neither URDF nor MJCF; the root element must be <robot> or"
    ):
        load_robot(path)
