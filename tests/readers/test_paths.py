"""Paths that lead nowhere, and URIs where a path was expected: what may have been meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import condyle
from condyle import ModelError
from condyle.readers.load import load_robot

ARM = """<robot name="arm"><link name="base"/>
  <link name="rod"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><mesh filename="package://nowhere/rod.stl"/></geometry></visual>
    <collision><geometry><mesh filename="package://nowhere/rod.stl"/></geometry></collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="rod"/></joint>
</robot>
"""
MJCF = """<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody>
  <body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>
"""


def test_meshes_of_packages_that_are_not_there_are_no_matter(tmp_path: Path) -> None:
    """A URDF's meshes have no part in dynamics: no warning either (warnings are errors in tests)."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    assert load_robot(path).joint_names == ("j",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Arm.urdf", "does not exist; did you mean '{}/arm.urdf'?"),
        ("arm.urdff", "does not exist; did you mean '{}/arm.urdf'?"),
        ("panda.xml", "does not exist (give a path, or one of iiwa14"),
        ("robots/arm.urdf", "does not exist; there is no folder '{}/robots'"),
    ],
)
def test_a_path_that_leads_nowhere_names_its_neighbours(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    with pytest.raises(ModelError, match=re.escape(said.format(tmp_path))):
        condyle.load(tmp_path / name)


def test_a_uri_is_no_path(tmp_path: Path) -> None:
    said = "package://arms/arm.urdf: is a URI, expected a path (give the file's path: ROS knows it, `ros2 pkg prefix"
    with pytest.raises(ModelError, match=re.escape(said)):
        condyle.load("package://arms/arm.urdf")


@pytest.mark.parametrize(
    "text", [MJCF.format("package://arms/m.stl"), '<mujoco><include file="package://arms/m.xml"/></mujoco>']
)
def test_a_uri_in_an_mjcf_file_is_refused_with_its_cure(tmp_path: Path, text: str) -> None:
    pytest.importorskip("mujoco", reason="MJCF files are compiled by MuJoCo: pip install 'condyle[mjcf]'")
    path = tmp_path / "arm.xml"
    path.write_text(text)
    said = r"file='package://arms/m\.\w+' is a URI, expected a path \(URIs such as package:// are not resolved"
    with pytest.raises(ModelError, match=said):
        condyle.load(path)
