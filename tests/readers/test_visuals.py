"""Shapes that files show, as data: sizes of each kind, what is hidden or left out, and damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import ModelError, ModelWarning, UnsupportedError
from condyle.readers import mjcf_compiler, mjcf_tree, shapes
from condyle.readers.folders import Folders
from condyle.readers.mjcf_model import Bytes, DamagedError
from condyle.readers.shapes import MeshFile, Solid, Triangles, _places, read_visuals, visuals_of
from condyle.readers.xml import Element

URDF = """<robot name="r"><link name="a">
<visual><origin xyz="1 2 3"/><geometry><box size="2 4 6"/></geometry></visual>
<visual><geometry><sphere radius="0.5"/></geometry></visual>
<visual><geometry><cylinder radius="0.5" length="3"/></geometry></visual>
<visual><geometry><capsule radius="0.25" length="1"/><cone/></geometry></visual>
<visual><geometry><mesh filename="m.STL" scale="1 2 3"/></geometry></visual>
<visual><geometry><mesh filename="m.obj"/></geometry></visual></link></robot>"""


def written(folder: Path, text: str, **files: bytes) -> Path:
    for name, data in files.items():
        (folder / f"m.{name}").write_bytes(data)
    path = folder / "r.xml"
    path.write_text(text)
    return path


def test_visuals_of_urdf(tmp_path: Path) -> None:
    """Half-lengths; a kind that is not known is none."""
    found = read_visuals(written(tmp_path, URDF, STL=b"one", obj=b"other"))
    solids = [one.shape for one in found[:4]]
    assert [(solid.kind, solid.size.tolist()) for solid in solids if isinstance(solid, Solid)] == [
        ("box", [1.0, 2.0, 3.0]),
        ("sphere", [0.5, 0.5, 0.5]),
        ("cylinder", [0.5, 0.5, 1.5]),
        ("capsule", [0.25, 0.25, 0.5]),
    ]
    meshes = [one.shape for one in found[4:] if isinstance(one.shape, MeshFile)]
    assert [(mesh.kind, mesh.name, mesh.data, mesh.scale.tolist()) for mesh in meshes] == [
        ("stl", "m.STL", b"one", [1.0, 2.0, 3.0]),
        ("obj", "m.obj", b"other", [1.0, 1.0, 1.0]),
    ]
    assert found[0].placement.translation.tolist() == [1, 2, 3] and {one.link for one in found} == {"a"}


def test_meshes_of_urdf_that_are_left_out_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    box = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    text = '<robot name="r"><link name="a">{}{}</link></robot>'
    for name, said in (("m.dae", " is neither STL nor OBJ"), ("no.stl", ", which does not exist")):
        with pytest.warns(ModelWarning, match=f"note: .*:1: mesh '{name}'{said}: it is not drawn"):
            assert len(read_visuals(written(tmp_path, text.format(box, mesh.format(name))))) == 1
        with pytest.raises(ModelError, match=f"mesh '{name}'"):
            read_visuals(written(tmp_path, text.format("", mesh.format(name))))
    path = written(tmp_path, text.format(mesh.format("m.stl"), mesh.format("m.stl")), stl=bytes(1 << 20))
    monkeypatch.setattr(shapes, "MOST_IN_ALL", 2 << 20)
    assert len(read_visuals(path)) == 2
    monkeypatch.setattr(shapes, "MOST_IN_ALL", (2 << 20) - 1)
    with pytest.raises(ModelError, match=r"meshes: .*r\.xml names more than 1 MiB of them"):
        read_visuals(path)


@pytest.mark.parametrize(
    ("solid", "said"),
    [
        ('<sphere radius="x"/>', "link 'a': <sphere> radius='x', expected a decimal number"),
        ("<cylinder radius='1'/>", "link 'a': <cylinder> has no 'length'"),
        ("<box size='1 2'/>", "<box> size='1 2', expected 3 decimal numbers"),
    ],
)
def test_sizes_that_are_none_are_errors(tmp_path: Path, solid: str, said: str) -> None:
    text = f'<robot name="r"><link name="a"><visual><geometry>{solid}</geometry></visual></link></robot>'
    with pytest.raises(ModelError, match=said):
        read_visuals(written(tmp_path, text))


@pytest.mark.parametrize(
    ("source", "assets", "error", "said"),
    [
        (3, (), UnsupportedError, "meshes=3, expected the path of the robot's model file"),
        ("r.urdf", "folder", ModelError, r"assets='folder', expected several folders, such as assets=\('folder',\)"),
        ("iiwa14", (), UnsupportedError, "meshes: the bundled iiwa14 has none; name a model file of your own"),
    ],
)
def test_what_has_no_visuals(source: Any, assets: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read_visuals(source, assets)


def test_files_of_other_kinds_have_none(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"meshes: .*r\.xml is no URDF or MJCF file; only meshes of these"):
        read_visuals(written(tmp_path, "<sdf/>"))


def test_a_package_is_looked_for_above_and_below(tmp_path: Path) -> None:
    """The nearest folder above of that name first; file:// is a path."""
    text = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'
    inner = tmp_path / "pkg" / "urdf"
    (inner / "pkg").mkdir(parents=True)
    (inner / "pkg" / "m.stl").write_bytes(b"below")
    path = written(inner, text.format("package://pkg/m.stl"))
    (found,) = read_visuals(path)
    assert isinstance(found.shape, MeshFile) and found.shape.data == b"below"
    (tmp_path / "pkg" / "m.stl").write_bytes(b"above")
    (found,) = read_visuals(path, [tmp_path])
    assert isinstance(found.shape, MeshFile) and found.shape.data == b"above"
    path.write_text(text.format(f"file://{inner / 'pkg' / 'm.stl'}"))
    (found,) = read_visuals(path)
    assert isinstance(found.shape, MeshFile) and found.shape.data == b"below"


MJCF = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
<geom type="plane" size="1 1 1"/><geom type="sphere" size="0.5" group="2"/><geom type="sphere" size="0.5" group="3"/>
<body name="a"><joint/><geom type="capsule" size="0.5 2" pos="1 0 0"/><geom type="ellipsoid" size="1 2 3"/>
<body><geom type="cylinder" size="0.5 2"/><geom type="box" size="1 2 3"/><geom type="mesh" mesh="m" group="1"/></body>
</body></worldbody></mujoco>"""


def test_visuals_of_mjcf(tmp_path: Path) -> None:
    """Groups 0 to 2; planes are not drawn."""
    pytest.importorskip("mujoco")
    found = read_visuals(written(tmp_path, MJCF))
    said = [(one.link, one.shape.kind, one.shape.size.tolist()) for one in found if isinstance(one.shape, Solid)]
    assert said == [
        ("world", "sphere", [0.5, 0.5, 0.5]),
        ("a", "capsule", [0.5, 0.5, 2.0]),
        ("a", "ellipsoid", [1.0, 2.0, 3.0]),
        ("body2", "cylinder", [0.5, 0.5, 2.0]),
        ("body2", "box", [1.0, 2.0, 3.0]),
    ]
    (mesh,) = (one for one in found if isinstance(one.shape, Triangles))
    assert mesh.link == "body2" and isinstance(mesh.shape, Triangles)
    assert (mesh.shape.vertices.shape, mesh.shape.faces.shape) == ((4, 3), (4, 3))
    assert np.unique(mesh.shape.faces).tolist() == [0, 1, 2, 3]
    assert found[1].placement.translation.tolist() == [1.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, mjcf_tree.Schema]:
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path_factory.mktemp("model") / "a.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(MJCF), str(path), None)
    return path.read_bytes(), mjcf_tree.schema_of(mjcf_compiler.library().parent / "include" / "mujoco")


def change(monkeypatch: pytest.MonkeyPatch, name: str, at: int, value: float) -> None:
    """Every reader finds this number in that array."""

    def changed(kind: str) -> Any:
        read = getattr(Bytes, kind)

        def reading(self: Bytes, what: str) -> Any:
            array = read(self, what).copy()
            if what == name:
                array[at] = value
            return array

        return reading

    for kind in ("integers", "floats"):
        monkeypatch.setattr(Bytes, kind, changed(kind))


@pytest.mark.parametrize(
    ("name", "at", "value", "said"),
    [
        ("geom_bodyid", 1, 3, "geoms"),
        ("geom_bodyid", 1, -1, "geoms"),
        ("geom_dataid", -1, 1, "geoms"),
        ("geom_dataid", -1, -1, "geoms"),
        ("geom_pos", 1, 1e31, "geoms"),
        ("geom_quat", 1, 0.0, "geoms"),
        ("geom_quat", 1, np.nan, "geoms"),
        ("geom_size", 1, np.inf, "geom_size"),
        ("mesh_vertadr", 0, -1, "meshes"),
        ("mesh_vertadr", 0, 1, "meshes"),
        ("mesh_vertnum", 0, 5, "meshes"),
        ("mesh_vertnum", 0, 3, "meshes"),
        ("mesh_vertnum", 0, -1, "meshes"),
        ("mesh_faceadr", 0, -1, "meshes"),
        ("mesh_faceadr", 0, 1, "meshes"),
        ("mesh_facenum", 0, 5, "meshes"),
        ("mesh_facenum", 0, 0, "meshes"),
        ("mesh_face", 0, -1, "meshes"),
        ("mesh_face", 0, 4, "meshes"),
        ("mesh_vert", 0, np.nan, "meshes"),
    ],
)
def test_what_leads_nowhere_is_damage(
    saved: tuple[bytes, mjcf_tree.Schema], monkeypatch: pytest.MonkeyPatch, name: str, at: int, value: float, said: str
) -> None:
    change(monkeypatch, name, at, value)
    with pytest.raises(DamagedError, match=f"^{said}$"):
        visuals_of(*saved, ())


@pytest.mark.parametrize(("name", "at", "value", "left"), [("geom_bodyid", 2, 3, 6), ("geom_type", 1, 1, 5)])
def test_a_geom_that_is_not_drawn_is_not_looked_at(
    saved: tuple[bytes, mjcf_tree.Schema], monkeypatch: pytest.MonkeyPatch, name: str, at: int, value: int, left: int
) -> None:
    """A sphere of group 3, and a sphere that becomes a height field."""
    change(monkeypatch, name, at, value)
    assert len(visuals_of(*saved, ())[0]) == left


def test_a_mesh_that_is_missing_is_named_once(saved: tuple[bytes, mjcf_tree.Schema]) -> None:
    found, unseen = visuals_of(*saved, {"m"})
    assert unseen == ["m"] and len(found) == 5


def test_a_height_field_keeps_its_name_and_size() -> None:
    """Two by two numbers stand for its file."""
    field = Element("hfield", {"file": "d/h.png", "size": "1 2 3 4", "nrow": "9", "elevation": "x"}, 1)
    named = Element("hfield", {"name": "n"}, 2)
    shapes._no_heights(Element("asset", {}, 1, [field, named]))
    assert field.attributes == {"name": "h", "size": "1 2 3 4", "nrow": "2", "ncol": "2"}
    assert named.attributes == {"name": "n", "nrow": "2", "ncol": "2"}


def test_a_mesh_that_is_not_read_is_a_tetrahedron() -> None:
    words = ["file", "content_type", "scale", "refpos", "refquat", "vertex", "normal", "texcoord", "face"]
    node = Element("mesh", dict.fromkeys([*words, "name", "inertia"], "x"), 1)
    shapes._stand_in(node)
    assert node.attributes == {"name": "x", "inertia": "x", "vertex": "0 0 0 1 0 0 0 1 0 0 0 1"}


def test_options_keep_geoms_for_the_eye() -> None:
    made = shapes._all_kept(Element("mujoco", {}, 3, [], "m.xml"))
    assert (made.tag, made.line, made.file, made.attributes["discardvisual"]) == ("compiler", 3, "m.xml", "false")


def test_where_a_mesh_may_be(tmp_path: Path) -> None:
    package = tmp_path / "arm"
    (package / "urdf").mkdir(parents=True)
    folders = Folders(package / "urdf", [tmp_path])
    home, other = folders.roots
    assert _places("a/b.stl", folders) == _places("file://a/b.stl", folders) == [home / "a/b.stl", other / "a/b.stl"]
    assert _places("package://arm/a/b.stl", folders) == [
        package.resolve() / "a/b.stl",
        home / "arm/a/b.stl",
        other / "arm/a/b.stl",
    ]
