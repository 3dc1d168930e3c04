"""Geoms of MJCF files: placed as MuJoCo places them, and what is not drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import ModelError, ModelWarning
from condyle.readers.shapes import read_visuals
from condyle.view.robot_parts import shells
from tests.view.test_meshes import CORNERS, OBJ, stl

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia=".004 .004 .004"/>'


@pytest.fixture(autouse=True)
def _mujoco() -> None:
    pytest.importorskip("mujoco")


def arm(folder: Path, geoms: str, assets: str = "", more: str = "", world: str = "") -> Path:
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    path = folder / "arm.xml"
    path.write_text(
        f"""<mujoco><compiler meshdir="meshes" angle="radian"/>{more}
        <asset>{assets}</asset>
        <worldbody>{world}<body name="rod" pos="0 0 1">{INERTIAL}<joint name="turn" axis="0 1 0"/>
        {geoms}</body></worldbody></mujoco>"""
    )
    return path


def test_a_mesh_stands_where_the_file_says(tmp_path) -> None:
    """MuJoCo moves a mesh to its own centre and axes; the geom's placement undoes that."""
    for kind, data in (("stl", stl()), ("obj", OBJ.encode())):
        path = arm(
            tmp_path / kind,
            '<geom type="mesh" mesh="hand" pos="0.5 0 0" euler="0 0 1.5707963267948966" contype="0" conaffinity="0"/>',
            f'<mesh name="hand" file="hand.{kind}" scale="2 1 1"/>',
        )
        (tmp_path / kind / "meshes" / f"hand.{kind}").write_bytes(data)
        (shell,) = shells(read_visuals(path), condyle.load(path).frames)
        expected = (CORNERS * (2, 1, 1))[:, [1, 0, 2]] * (-1, 1, 1) + (0.5, 0, 0)
        assert shell.body == 0
        found = np.unique(np.round(shell.vertices, 5) + 0.0, axis=0)
        np.testing.assert_allclose(found, np.unique(np.round(expected, 5) + 0.0, axis=0), atol=1e-5)


def test_primitives_and_defaults(tmp_path) -> None:
    path = arm(
        tmp_path,
        """<geom class="thin" fromto="0 0 0 1 0 0"/><geom type="box" size=".1 .2 .3"/><geom size=".1" group="1"/>
        <geom type="ellipsoid" size=".1 .2 .3"/><geom type="cylinder" size=".1 .2"/><geom size=".1" group="3"/>""",
        more='<default><default class="thin"><geom type="capsule" size="0.05" group="2"/></default></default>',
        world='<geom type="plane" size="1 1 .1"/><geom type="box" size="1 1 1" pos="0 0 -1"/>',
    )
    found = read_visuals(path)
    assert [(visual.link, visual.shape.kind, visual.shape.size.tolist()) for visual in found] == [
        ("world", "box", [1, 1, 1]),
        ("rod", "capsule", [0.05, 0.05, 0.5]),
        ("rod", "box", [0.1, 0.2, 0.3]),
        ("rod", "sphere", [0.1, 0.1, 0.1]),
        ("rod", "ellipsoid", [0.1, 0.2, 0.3]),
        ("rod", "cylinder", [0.1, 0.1, 0.2]),
    ]
    np.testing.assert_allclose(found[1].placement.translation, (0.5, 0, 0))
    robot = condyle.load(path)
    assert [shell.body for shell in shells(found, robot.frames)] == [-1, 0, 0, 0, 0, 0]


def test_the_world_of_a_robot_that_floats_is_not_drawn(tmp_path) -> None:
    text = f'<mujoco><worldbody><geom size="1"/><body name="a">{INERTIAL}<geom size=".1"/></body></worldbody></mujoco>'
    (tmp_path / "a.xml").write_text(text)
    robot = condyle.load(tmp_path / "a.xml", floating_base=True)
    assert [shell.body for shell in shells(read_visuals(tmp_path / "a.xml"), robot.frames)] == [0]


def test_bodies_without_names(tmp_path) -> None:
    path = arm(tmp_path, '<body pos="0 0 1"><geom size=".1"/></body><geom size=".2"/>')
    robot = condyle.load(path)
    visuals = read_visuals(path)
    assert {visual.link for visual in visuals} <= set(robot.frames)
    centres = sorted(float(shell.vertices.mean(axis=0)[2]) for shell in shells(visuals, robot.frames))
    np.testing.assert_allclose(centres, (0.0, 1.0), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.stl", r"arm.xml:2: <mesh> file='none.stl', which does not exist: it is not drawn"),
        ("../../outside.stl", "leaves the model's directory: it is not drawn .*--assets"),
        ("link.stl", "leaves the model's directory: it is not drawn"),
        ("/etc/passwd", "leaves the model's directory: it is not drawn"),
        ("package://arm/hand.stl", "URIs such as package:// are not resolved"),
        ("folder.stl", "is not a regular file: it is not drawn"),
    ],
)
def test_a_mesh_that_is_left_out(tmp_path, name, words) -> None:
    assets = f'<mesh name="m" file="{name}"/>'
    mesh = '<geom type="mesh" mesh="m" contype="0" conaffinity="0" mass="0"/>'
    path = arm(tmp_path / "arm", f'{mesh}<geom size=".1"/>', assets)
    (tmp_path / "outside.stl").write_bytes(stl())
    (tmp_path / "arm" / "meshes" / "link.stl").symlink_to(tmp_path / "outside.stl")
    (tmp_path / "arm" / "meshes" / "folder.stl").mkdir()
    with pytest.warns(ModelWarning, match=words):
        assert [visual.shape.kind for visual in read_visuals(path)] == ["sphere"]
    arm(tmp_path / "arm", mesh, assets)
    with pytest.raises(ModelError, match=words.replace(": it is not drawn", "")):
        read_visuals(path)


def test_a_mesh_that_no_one_sees_is_no_warning(tmp_path) -> None:
    hidden = '<geom type="mesh" mesh="m" group="3" mass="0"/><geom size=".1"/>'
    path = arm(tmp_path, hidden, '<mesh name="m" file="none.stl"/>')
    assert len(read_visuals(path)) == 1


def test_files_of_an_included_file(tmp_path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "hand.stl").write_bytes(stl())
    (tmp_path / "part" / "assets.xml").write_text('<mujoco><asset><mesh name="m" file="hand.stl"/></asset></mujoco>')
    path = tmp_path / "arm.xml"
    body = f'<body name="rod">{INERTIAL}<joint/><geom type="mesh" mesh="m" mass="0"/></body>'
    path.write_text(f'<mujoco><include file="part/assets.xml"/><worldbody>{body}</worldbody></mujoco>')
    assert [visual.link for visual in read_visuals(path)] == ["rod"]


def test_on_the_page(tmp_path) -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    path = arm(tmp_path, '<geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>')
    with condyle.load(path).show(meshes=path, browser=False, port=18080) as page:
        (shape,) = page._stage.layers["meshes"]
        assert float(shape.vertices[:, 0].max()) == pytest.approx(1.05, abs=1e-6)
