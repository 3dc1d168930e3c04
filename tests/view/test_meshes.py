"""Meshes: opened only when they are asked for, in folders that are allowed; damaged ones are an error with words."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import ModelError, ModelWarning, UnsupportedError
from condyle.readers.shapes import read_visuals
from condyle.view.robot_parts import read_mesh

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32)
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
OBJ = "mtllib secret.mtl\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
OBJ += "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
INERTIA = '<inertial><mass value="1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>'


def stl() -> bytes:
    """A tetrahedron in binary STL."""
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0) for face in FACES)
    return bytes(80) + struct.pack("<I", len(FACES)) + triangles


def robot_with(folder: Path, mesh: str, origin: str = "") -> Path:
    """A URDF file: an arm whose hand, welded to its link, shows a mesh."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "arm.urdf"
    path.write_text(
        f"""<robot name="arm"><link name="base"/><link name="rod">{INERTIA}</link>
        <link name="hand"><visual>{origin}<geometry><mesh {mesh}/></geometry></visual>
        {BOX}</link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/></joint>
        <joint name="weld" type="fixed"><parent link="rod"/><child link="hand"/><origin xyz="0 0 1"/></joint></robot>"""
    )
    return path


def kinds(path: Path) -> list[str]:
    return [visual.shape.kind for visual in read_visuals(path)]


def test_a_mesh_in_the_model_s_folder(tmp_path) -> None:
    path = robot_with(tmp_path, 'filename="hand.stl" scale="2 1 1"', '<origin xyz="0.5 0 0"/>')
    (tmp_path / "hand.stl").write_bytes(stl())
    visual, box = read_visuals(path)
    mesh = visual.shape
    assert (visual.link, mesh.kind, mesh.data) == ("hand", "stl", stl())
    assert (box.link, box.shape.kind, box.shape.size.tolist()) == ("hand", "box", [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(mesh.scale, (2, 1, 1))
    np.testing.assert_array_equal(visual.placement.translation, (0.5, 0, 0))


def test_packages(tmp_path) -> None:
    path = robot_with(tmp_path / "my_arm" / "urdf", 'filename="package://my_arm/meshes/hand.stl"')
    (tmp_path / "my_arm" / "meshes").mkdir()
    (tmp_path / "my_arm" / "meshes" / "hand.stl").write_bytes(stl())
    with pytest.warns(ModelWarning, match=r"leaves the model's directory: it is not drawn .*--assets"):
        assert kinds(path) == ["box"]
    for folder in (tmp_path / "my_arm", tmp_path):
        assert read_visuals(path, [folder])[0].shape.data == stl()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../outside.stl", "leaves the model's directory"),
        ("package://../outside.stl", "leaves the model's directory|does not exist"),
        ("package://arm/../../outside.stl", "leaves the model's directory|does not exist"),
        ("link.stl", "leaves the model's directory"),
        ("none.stl", "does not exist"),
        ("hand.dae", "neither STL nor OBJ"),
        ("/etc/passwd", "neither STL nor OBJ"),
        ("", "neither STL nor OBJ"),
        ("folder.stl", "is not a regular file"),
    ],
)
def test_what_is_not_opened(tmp_path, name, words) -> None:
    path = robot_with(tmp_path / "arm", f'filename="{name}"')
    (tmp_path / "outside.stl").write_bytes(stl())
    (tmp_path / "arm" / "link.stl").symlink_to(tmp_path / "outside.stl")
    (tmp_path / "arm" / "folder.stl").mkdir()
    with pytest.warns(ModelWarning, match=words) as caught:
        assert kinds(path) == ["box"]
    (warning,) = caught
    assert "arm.urdf:2" in str(warning.message)
    path.write_text(path.read_text().replace(BOX, ""))
    with pytest.raises(ModelError, match=words) as refused:  # nothing is left to draw
        read_visuals(path)
    assert "arm.urdf:2" in str(refused.value)


def test_a_file_by_its_whole_path(tmp_path) -> None:
    outside = tmp_path / "outside.stl"
    outside.write_bytes(stl())
    for name in (outside, f"file://{outside}"):
        path = robot_with(tmp_path / "arm", f'filename="{name}"')
        with pytest.warns(ModelWarning, match="leaves the model's directory"):
            assert kinds(path) == ["box"]
        assert read_visuals(path, [tmp_path])[0].shape.data == stl()


def test_what_has_no_meshes(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="the bundled iiwa14 has none"):
        read_visuals("iiwa14")
    (tmp_path / "arm.sdf").write_text("<sdf/>")
    with pytest.raises(UnsupportedError, match="is no URDF or MJCF file"):
        read_visuals(tmp_path / "arm.sdf")
    with pytest.raises(UnsupportedError, match="not in a picture"):
        condyle.load("iiwa14").show(meshes="arm.urdf", file="a.svg")


@pytest.mark.parametrize("kind", ["stl", "obj"])
def test_they_stand_on_the_page_where_the_file_says(tmp_path, kind) -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    path = robot_with(tmp_path, f'filename="hand.{kind}" scale="2 1 1"', '<origin xyz="0.5 0 0"/>')
    (tmp_path / f"hand.{kind}").write_bytes(stl() if kind == "stl" else OBJ.encode())
    with condyle.load(path).show(meshes=path, browser=False, port=18080) as page:
        mesh, _ = page._stage.layers["meshes"]
        assert len(mesh.faces) == 4
        corners = np.unique(np.round(mesh.vertices, 6), axis=0)
        expected = CORNERS * (2, 1, 1) + (0.5, 0, 0) + (0, 0, 1)
        np.testing.assert_allclose(corners, np.unique(expected, axis=0), atol=1e-6)


def text_stl(solids: int, triangles: int = 1) -> bytes:
    facet = "facet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  VERTEX 0 1e0 0\n endloop\nendfacet\n"
    return (f"solid a vertex\n{facet * triangles}endsolid a\n" * solids).encode()


def pieces(count: int) -> bytes:
    """Triangles, each a group, an object and a material of its own."""
    names = (
        "mtllib secret.mtl\n" + "o part{0}\ng group{0}\nusemtl colour{0}\nv {0} 0 0\nv {0} 1 0\nv {0} 0 1\nf -3 -2 -1\n"
    )
    return "".join(map(names.format, range(count))).encode()


@pytest.mark.parametrize("file", [pieces, text_stl, lambda n: text_stl(1, n)], ids=["pieces", "solids", "triangles"])
def test_the_time_is_in_proportion(file) -> None:
    """8 times the file takes 8 times as long. A look at all vertices for each piece would take 64 times as long."""
    kind = "obj" if file is pieces else "stl"
    small, large = file(1000), file(8000)
    times = {data: [] for data in (small, large)}
    for _ in range(3):
        for data in (small, large):
            begun = time.process_time()
            _, faces = read_mesh(kind, "hand", data)
            times[data].append(time.process_time() - begun)
    assert len(faces) == 8000
    assert min(times[large]) < 20.0 * min(times[small])


def test_what_an_obj_file_may_have() -> None:
    text = """# a pyramid on a square, in three notations
        v 0 0 0 1.0
        v 1 0 0
        vn 0 0 1
        vt 0 0
        v 1 1 0
        v 0 1 0
        s off
        f 1/1 4/1/1 3//1 2
        v 0.5 0.5 \\
          1 0.1 0.2 0.3
        f 1 2 -1
        f -4 3 5
        l 1 2
        f 1 2
        f 2 3 5 \\"""
    vertices, faces = read_mesh("obj", "pyramid", text.replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(vertices, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)])
    np.testing.assert_array_equal(faces, [(0, 3, 2), (0, 2, 1), (0, 1, 4), (1, 2, 4), (1, 2, 4)])


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("obj", OBJ + "f 1 2 5", "a face has the vertex 5, and there are 4"),
        ("obj", OBJ + "f 1 2 0", "line 10 is no face of vertices"),
        ("obj", OBJ + "f 1 2 -5", "line 10 is no face of vertices"),
        ("obj", OBJ + "f 1 2 x/1", "line 10 is no face of vertices"),
        ("obj", OBJ + "f", "line 10 is no face of vertices"),
        ("obj", OBJ + f"f 1 2 {1 << 70}", "line 10 is no face of vertices"),
        ("obj", OBJ + "\nv 1 2", "line 11 is no vertex of three numbers"),
        ("obj", OBJ + "v 1 2 nan", "holds no triangles, or numbers that are not finite"),
        ("obj", "v 0 0 0\nf 1 " + "1 " * (1 << 19), "line 2 is longer than 1048576 bytes"),
        ("obj", "v 0 0 0\n" + "\\\n" * (1 + (1 << 19)), "is longer than 1048576 bytes"),
        ("obj", "v 0 0 0\nf 1 1\n", "holds no triangles"),
        ("stl", "vertex 1 2 3\n" * 4, "4 corners are no triangles"),
        ("stl", "vertex 1 2 x\n", "line 1 is no vertex of three numbers"),
    ],
)
def test_the_line_that_cannot_be_read_is_named(kind, data, words) -> None:
    with pytest.raises(ModelError, match=words):
        read_mesh(kind, "hand", data.encode())


def test_triangles_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr("condyle.view.robot_parts.MOST_TRIANGLES", 4)
    assert len(read_mesh("obj", "hand", OBJ.encode())[1]) == 4
    with pytest.raises(ModelError, match="there are more than 4 triangles"):
        read_mesh("obj", "hand", (OBJ + "f 1 2 3 4").encode())


@pytest.mark.parametrize(("kind", "data"), [("obj", OBJ.encode()), ("stl", stl()), ("stl", text_stl(2, 2))])
def test_changed_bytes_are_a_mesh_or_an_error(kind, data) -> None:
    rng = np.random.default_rng(0)
    read = 0
    for _ in range(400):
        changed = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            changed[at] = rng.choice(list(b"0-/ \n\\.evf\xff"))
        del changed[rng.integers(len(data) // 2, 2 * len(data)) :]
        try:
            vertices, faces = read_mesh(kind, "hand", bytes(changed))
        except ModelError:
            continue
        read += 1
        assert np.isfinite(vertices).all() and 0 <= faces.min() <= faces.max() < len(vertices)
    assert 0 < read < 400


@pytest.mark.parametrize(
    "data", [b"", b"solid nothing\nendsolid", stl()[:100], stl().replace(b"\x80\x3f", b"\xc0\x7f")]
)
def test_damaged_meshes(tmp_path, data) -> None:
    path = robot_with(tmp_path, 'filename="hand.stl"')
    (tmp_path / "hand.stl").write_bytes(data)
    with pytest.raises(ModelError, match=r"mesh 'hand.stl' (cannot be read|holds no triangles)"):
        condyle.load(path).show(meshes=path, browser=False)


def test_another_robot_s_file(tmp_path) -> None:
    path = robot_with(tmp_path, 'filename="hand.stl"')
    (tmp_path / "hand.stl").write_bytes(stl())
    with pytest.raises(ModelError, match="the robot has no link 'hand'"):
        condyle.load("iiwa14").show(meshes=path, browser=False)
