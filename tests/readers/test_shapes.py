"""Collision shapes out of files: which are read, where they stand, and what is left out and named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.model.placement import Placement

URDF = """<robot name="walker"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="trunk"><origin xyz="0 0 0.1" rpy="0 0 0.5"/><geometry><box size="0.4 0.2 0.1"/></geometry></collision>
<collision><geometry><cylinder radius="0.1" length="0.3"/></geometry></collision>
<collision><geometry><capsule radius="0.1" length="0.5"/></geometry></collision>
<collision><geometry><mesh filename="../../secret.stl"/></geometry></collision>
<collision><geometry><sphere radius="-1"/></geometry></collision>
<collision><geometry><sphere radius="nan"/></geometry></collision>
<collision><geometry><box/></geometry></collision>
<visual><geometry><sphere radius="1"/></geometry></visual></link>
<link name="foot"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="fixed" type="fixed"><parent link="base"/><child link="foot"/><origin xyz="0 0 -0.3"/></joint></robot>"""

MJCF = """<mujoco><default><geom contype="0" conaffinity="0"/><default class="hit"><geom contype="1" type="capsule"/>
</default></default><asset><mesh name="shell" file="nowhere.stl"/></asset><worldbody>
<geom type="plane" size="1 1 1" contype="1"/><geom type="box" size="1 1 1" contype="1"/>
<body name="trunk"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom class="hit" name="bar" fromto="0 0 0 0 0 2" size="0.1"/><geom type="box" size="1 2 3"/>
<geom class="hit" type="mesh" mesh="shell" name="skin"/><geom class="hit" type="ellipsoid" size="1 2 3"/>
<body name="leg" pos="0 0 1" childclass="hit"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<frame pos="0 0 1" euler="90 0 0"><geom type="cylinder" size="0.1 0.2" pos="0 0 0.5"/></frame>
<geom type="sphere" size="0.02" contype="0" conaffinity="2"/><geom type="box" size="1 2 3"/></body>
<body name="other"><joint/><geom class="hit" type="sphere" size="0.1" mass="0"/>
<geom type="sphere" size="0.1" mass="1"/></body></body></worldbody></mujoco>"""


def loaded(folder: Path, text: str, floating: bool = False) -> condyle.Robot:
    path = folder / "model.xml"
    path.write_text(text)
    return condyle.load(path, floating_base=floating)


@pytest.mark.smoke
def test_collisions_of_urdf(tmp_path: Path) -> None:
    robot = loaded(tmp_path, URDF, True)
    said = [(shape.frame, shape.kind, shape.size, shape.name) for shape in robot.shapes]
    assert said == [
        ("base", "box", (0.2, 0.1, 0.05), "trunk"),
        ("base", "cylinder", (0.1, 0.15), ""),
        ("base", "capsule", (0.1, 0.25), ""),
        ("foot", "sphere", (0.02,), ""),
    ]
    want = Placement.from_rpy((0.0, 0.0, 0.1), (0.0, 0.0, 0.5))
    assert np.array_equal(robot.shapes[0].placement.rotation, want.rotation)
    left_out = r"mesh of 'base' \(line 6\), sphere of 'base' \(line 7\): its sizes are \(-1.0,\), sphere of 'base' "
    left_out += r"\(line 8\): <sphere> radius='nan', expected a decimal number, box of 'base' "
    left_out += r"\(line 9\): its sizes are \(0.0, 0.0, 0.0\)"
    with pytest.warns(condyle.ModelWarning, match=left_out):
        assert len(robot.shape_contacts()) == 4 + 4 + 2 + 1
    assert len(robot.shape_contacts(["foot", "trunk"])) == 5
    with pytest.raises(condyle.UnsupportedError, match=r"no shape 'leg'.*; left out of the file: mesh of 'base'"):
        robot.shape_contacts(["leg"])


def test_they_stay_with_the_robot(tmp_path: Path) -> None:
    """Where links are merged, in text, and where the robot is changed."""
    robot = loaded(tmp_path, URDF, True)
    again = loaded(tmp_path, robot.to_urdf(), True)
    assert again.identity == robot.identity and len(again.shapes) == 4
    for changed in (robot.attach("base", 1.0), robot.with_inertias(robot.inertias), robot.reroot("foot")):
        assert [shape.frame for shape in changed.shapes] == ["base", "base", "base", "foot"]
    fixed = loaded(tmp_path, URDF)
    with pytest.raises(condyle.UnsupportedError, match="is fixed to the world"):
        fixed.shape_contacts(["foot"])


def test_geoms_of_mjcf_that_collide(tmp_path: Path) -> None:
    """By classes and frames; a mesh is not opened, and geoms for the eye and those of the world are none."""
    pytest.importorskip("mujoco")
    robot = loaded(tmp_path, MJCF)
    said = [(shape.frame, shape.kind, shape.size, shape.name) for shape in robot.shapes]
    assert said == [
        ("trunk", "capsule", (0.1, 1.0), "bar"),
        ("leg", "cylinder", (0.1, 0.2), ""),
        ("leg", "sphere", (0.02,), ""),
        ("leg", "box", (1.0, 2.0, 3.0), ""),
        ("other", "sphere", (0.1,), ""),
    ]
    np.testing.assert_allclose(robot.shapes[0].placement.translation, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(robot.shapes[1].placement.translation, [0.0, -0.5, 1.0], atol=1e-15)
    np.testing.assert_allclose(np.abs(robot.shapes[1].placement.rotation[:, 2]), [0.0, 1.0, 0.0], atol=1e-15)
    with pytest.warns(condyle.ModelWarning, match=r"left out of the file: geom 'skin' \(line 6\), geom '' \(line 6\)$"):
        robot.shape_contacts()
    assert robot.mass == 3.0  # no geom that is kept for its shape has added mass
