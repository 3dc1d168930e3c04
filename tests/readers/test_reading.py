"""Small parts of readers one by one: the child's own steps, files that cannot be opened, shapes in numbers."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import ModelError, ModelWarning
from condyle.model.actuator import UNLIMITED
from condyle.model.placement import IDENTITY
from condyle.readers import load_robot, mjcf_compiler, mjcf_process, xml
from condyle.readers.folders import Folders
from condyle.readers.mjcf_actuators import _limits
from condyle.readers.mjcf_compiler import Limits, _death, _finding, _parts, _quick, _text
from condyle.readers.mjcf_model import Bytes, DamagedError, _compiler, _ending, _place, _starts, _within
from condyle.readers.mjcf_tree import Row, Schema, _classes, _integer, _weightless
from condyle.readers.shapes import Shapes, _places, _size, _solid
from condyle.readers.urdf import _reduction
from condyle.readers.xml import Element, Report

NODES = [Element("mujoco", {}, 1, file="a.xml"), Element("body", {}, 5, file="b.xml")]


def frame(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def test_a_child_says_a_hundred_warnings_and_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each text so many bytes."""
    hooks: dict[str, SimpleNamespace] = {name: SimpleNamespace() for name in ("mju_user_warning", "mju_user_error")}
    sent: list[tuple[bytes, bytes]] = []
    asked: list[Any] = []
    fake = SimpleNamespace(
        CDLL=lambda name: SimpleNamespace(prctl=lambda *flags: asked.append((name, *flags))),
        CFUNCTYPE=ctypes.CFUNCTYPE,
        c_char_p=ctypes.c_char_p,
        c_void_p=SimpleNamespace(in_dll=lambda _, name: hooks[name]),
        cast=lambda function, _: SimpleNamespace(value=function),
    )

    def compiled(mujoco: Any, frames: list[bytes], largest: int) -> None:
        asked.append((frames, largest))
        for _ in range(mjcf_process.WARNINGS + 5):
            hooks["mju_user_warning"].value(b"w" * 5000)
        hooks["mju_user_error"].value(b"e" * 5000)

    monkeypatch.setattr(mjcf_process, "ctypes", fake)
    monkeypatch.setattr(mjcf_process, "os", SimpleNamespace(_exit=asked.append))
    monkeypatch.setattr(mjcf_process, "limit", lambda *limits: asked.append(limits))
    monkeypatch.setattr(mjcf_process, "send", lambda kind, data: sent.append((kind, data)))
    monkeypatch.setattr(mjcf_process, "compile_model", compiled)
    monkeypatch.setattr("sys.argv", ["child", "lib", "7", "8", "9"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: frame(b"a", b"bc"))))
    mjcf_process.main()
    assert asked == [(None, 1, 9), (7, 8), ([b"a", b"bc"], 9), 0]
    assert sent == [(b"warning", b"w" * 4096)] * 100 + [(b"error", b"e" * 4096)]


def test_what_the_child_sent_is_told_by_its_kind() -> None:
    whole = frame(b"warning", b"x", b"model", b"data", b"warning", b"y")
    assert _parts(whole) == {"warning": [b"x", b"y"], "model": [b"data"]}
    assert _parts(whole[:-1]) == {"warning": [b"x"], "model": [b"data"]} and _parts(b"") == {} == _parts(whole[:14])
    assert _text(b" a\n b\xff ") == "a b\ufffd"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bad (line 2)", "error: b.xml:5: bad (line 5)"),
        ("bad (line 1)", "error: a.xml:1: bad (line 1)"),
        ("bad (line 0)", "error: a.xml: bad (line 0)"),
        ("bad (line 3)", "error: a.xml: bad (line 3)"),
        ("file0.stl: no mesh, line 2", "error: b.xml:5: /far/mesh.stl: no mesh, line 5"),
    ],
)
def test_a_message_of_the_compiler_has_the_places_of_the_file(text: str, said: str) -> None:
    found = _finding("error", text, NODES, {"file0.stl": "/far/mesh.stl"})
    assert f"{found.severity}: {found.file}{'' if found.line is None else f':{found.line}'}: {found.message}" == said


def test_why_a_child_died() -> None:
    limits = Limits(2.5, 3 << 20)
    for code, last, said in (
        (1, "std::bad_alloc", "MuJoCo's compiler needs more than 3 MiB for this file"),
        (-11, "", "MuJoCo's compiler died on this file (SIGSEGV)"),
        (3, "a  b\n" + "c" * 300, f"MuJoCo's compiler died on this file (status 3: {'c' * 200})"),
        (0, "x y", "MuJoCo's compiler died on this file (status 0: x y)"),
    ):
        assert _death(NODES[0], code, last, limits).message == said
    assert mjcf_compiler._too_slow(NODES[0], limits).message == "MuJoCo's compiler takes more than 2.5 s for this file"
    quick = _quick(NODES[1])
    assert (quick.tag, quick.attributes, quick.line, quick.file) == ("compiler", {"usethread": "false"}, 5, "b.xml")
    assert [(one.tag, one.attributes, one.line, one.file) for one in quick.children] == [
        ("lengthrange", {"mode": "none"}, 5, "b.xml")
    ]


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    """A name with a zero byte, and a link to itself."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("a\0b", "loop"):
        with pytest.raises(ModelError, match="f:3: x cannot be read: "):
            Folders(tmp_path).read([tmp_path / name], 5, "x", ("f", 3))


def test_entities_and_document_types_are_refused() -> None:
    reader = xml._Reader("f.xml", 3, xml.ENCODINGS, 2)
    with pytest.raises(ModelError, match="ENTITY declarations are refused"):
        reader.entity("x", 0, "value", None, None, None, None)
    with pytest.raises(ModelError, match="DOCTYPE declarations are refused"):
        reader.doctype("x", None, None, 0)
    assert reader.line == 0


def test_a_saved_model_may_have_no_more_than_its_arrays() -> None:
    """A header of five numbers, then sizes, then arrays to the end."""

    def data(rows: int, more: bytes = b"") -> bytes:
        return np.array([54321, 8, 1, 0, 1], "<i4").tobytes() + np.array([rows], "<i8").tobytes() + more

    schema = Schema(("nbody",), (Row("body_mass", "<f8", "nbody", ("1",)),), {}, {})
    assert Bytes(data(0), schema).arrays == {"body_mass": (28, "<f8", 0, 1)}
    found = Bytes(data(2, np.array([1.5, 2.5]).tobytes()), schema)
    assert found.floats("body_mass").tolist() == [1.5, 2.5] and found.sizes == {"nbody": 2}
    for wrong in (data(2, bytes(15)), data(-1), data(1000)):
        with pytest.raises(DamagedError):
            Bytes(wrong, schema)


def test_indices_and_where_things_begin() -> None:
    assert [_within(np.array(x), 3) for x in ([], [0, 2], [3], [-1])] == [True, True, False, False]
    assert _starts([7, 4, 1]) == [0, 7, 11] and _starts([]) == []
    assert _place(np.ones(3), np.zeros(4)).rotation.tolist() == np.eye(3).tolist()
    half_turn = _place(np.ones(3), np.array([0.0, 0.0, 0.0, 2.0]))
    assert half_turn.rotation.tolist() == np.diag([-1.0, -1.0, 1.0]).tolist()


@pytest.mark.parametrize(
    ("name", "ending"), [("a.stl", ".stl"), ("a.b.OBJ", ".OBJ"), ("a", ""), ("a.st-l", ""), ("a.123456789", "")]
)
def test_the_ending_of_a_file_is_a_short_word(name: str, ending: str) -> None:
    assert _ending(name) == ending


def test_the_last_folder_of_meshes_counts_and_is_taken_out() -> None:
    def root(*words: dict[str, str]) -> Element:
        return Element("mujoco", {}, 1, [Element("compiler", dict(one), 2) for one in words])

    both = root({"assetdir": "a", "meshdir": "m", "texturedir": "t"}, {"strippath": "true"})
    assert _compiler(both) == ("m", True)
    assert [node.attributes for node in both.children] == [{}, {"strippath": "true"}]
    assert _compiler(root({"assetdir": "a"})) == ("a", False) and _compiler(root()) == ("", False)
    assert _compiler(root({"strippath": "true"}, {"strippath": "false"})) == ("", False)
    assert _compiler(root({"strippath": "true"}, {"meshdir": "m"})) == ("m", True)


def test_classes_of_defaults_inherit() -> None:
    def default(name: str | None, *inside: Element, **geom: str) -> Element:
        words = {} if name is None else {"class": name}
        return Element("default", words, 1, [Element("geom", geom, 1), *inside])

    root = Element(
        "mujoco", {}, 1, [default(None, default("a", default("b", z="3"), y="2"), x="1"), default(None, w="0")]
    )
    found = _classes(root)
    assert found[None] == found["main"] == {"x": "1", "w": "0"}
    assert found["a"] == {"x": "1", "w": "0", "y": "2"} and found["b"] == {"x": "1", "w": "0", "y": "2", "z": "3"}
    main = Element("mujoco", {}, 1, [default(None, default("main", v="9"), x="1")])
    assert _classes(main)[None] == {"x": "1", "v": "9"}


def test_words_that_are_numbers() -> None:
    assert [_integer(x) for x in (" +12a", "7", "x", "-3", "1" * 19)] == [12, 7, 0, 0, int("1" * 18)]
    for words, is_light in (({}, False), ({"mass": "0"}, True), ({"density": "0.0"}, True), ({"mass": "x"}, False)):
        assert _weightless(words) is is_light
    assert _weightless({"mass": "1", "density": "0"}) is False and _weightless({"mass": "", "density": "0"}) is True
    assert [_reduction(x) for x in ([], ["2.5", "3"], ["-1e30"])] == [1.0, 2.5, -1e30]
    for text in ("0", "x", "1e31"):
        assert _reduction([text]) == f"mechanicalReduction '{text}'"
    ranges = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert [_limits(np.array([1, 0]), ranges, k) for k in (0, 1, -1, 2)] == [(1.0, 2.0), *[UNLIMITED] * 3]


def test_sizes_of_solids() -> None:
    """Half-lengths along x, y and z of what is shown; what a shape of a robot says of what collides."""
    size = np.array([1.0, 2.0, 3.0])
    wanted = {
        "sphere": [1, 1, 1],
        "capsule": [1, 1, 2],
        "cylinder": [1, 1, 2],
        "box": [1, 2, 3],
        "ellipsoid": [1, 2, 3],
    }
    assert {kind: _solid(kind, size).size.tolist() for kind in wanted} == wanted
    with pytest.raises(DamagedError, match="geom_size"):
        _solid("box", np.array([1.0, 2.0, np.nan]))
    words = {"radius": "1", "length": "4", "size": "2 4 6"}
    found = {kind: _size(Element(kind, words, 1), "a", Report("f")) for kind in (*wanted, "mesh")}
    assert found == {
        "sphere": [1],
        "capsule": [1, 2],
        "cylinder": [1, 2],
        "box": [1, 2, 3],
        "ellipsoid": None,
        "mesh": None,
    }
    shapes = Shapes()
    shapes.add("sphere", [0.0], "a", IDENTITY, "", "sphere of 'a'")
    shapes.add("sphere", [0.5], "a", IDENTITY, "n", "sphere of 'a'")
    assert shapes.left_out == ["sphere of 'a': its sizes are (0.0,)"]
    assert [(one.kind, one.size, one.frame, one.name) for one in shapes.shapes] == [("sphere", (0.5,), "a", "n")]


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
