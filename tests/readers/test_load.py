"""One door for paths and names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("gravity", [(0, 0), "down", (0, 0, float("nan"))])
def test_gravity_is_three_finite_numbers(gravity: object) -> None:
    with pytest.raises(ModelError, match="gravity"):
        load_robot("iiwa14", gravity=gravity)  # type: ignore[arg-type]


def test_other_options_are_checked() -> None:
    with pytest.raises(ModelError, match="snap"):
        load_robot("iiwa14", snap=-1.0)
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
