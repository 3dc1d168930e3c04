"""Elements of MJCF before MuJoCo sees them: what is taken out, what is refused, and how its own headers are read."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from condyle.errors import ModelError, UnsupportedError
from condyle.readers import mjcf_compiler, mjcf_tree, xml
from condyle.readers.folders import Folders
from condyle.readers.mjcf_model import _compiler, take_files
from condyle.readers.mjcf_tree import (
    _classes,
    asset_name,
    check_tree,
    oddity,
    place,
    prune_geoms,
    prune_sections,
    read_tree,
    schema_of,
    take_unmodelled,
    write_tree,
)
from condyle.readers.xml import Element


def parsed(text: str) -> Element:
    return xml.parse(f"<mujoco>{text}</mujoco>".encode(), "m.xml", depth=400)


def tags(root: Element) -> list[str]:
    return [node.tag for node in root.walk()][1:]


@pytest.mark.parametrize("section", ["size", "visual", "statistic", "custom", "sensor", "keyframe", "contact"])
def test_sections_for_a_simulation_or_a_picture_are_taken_out(section: str) -> None:
    root = parsed(f"<{section}><a/></{section}><option/>")
    root.attributes["model"] = "name"
    prune_sections(root)
    assert (tags(root), root.attributes) == (["option"], {})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<asset><texture/><material/><skin/><model/><mesh/></asset>", ["asset", "mesh"]),
        ("<default><texture/><material/><camera/><light/><pair/><geom/></default>", ["default", "geom"]),
        ("<worldbody><camera/><light/><geom/></worldbody>", ["worldbody", "geom"]),
        ("<worldbody><body><camera/><light/></body></worldbody>", ["worldbody", "body"]),
        ("<worldbody><frame><camera/></frame></worldbody>", ["worldbody", "frame"]),
        ("<worldbody><replicate><light/></replicate></worldbody>", ["worldbody", "replicate"]),
        ("<compiler><lengthrange/></compiler>", ["compiler"]),
    ],
)
def test_what_moves_nothing_is_taken_out(text: str, left: list[str]) -> None:
    root = parsed(text)
    prune_sections(root)
    assert tags(root) == left


def test_a_picture_of_a_site_or_a_geom_is_taken_out() -> None:
    root = parsed('<site name="s" type="mesh" mesh="m"/><site type="box"/><geom material="x" texture="y" mesh="m"/>')
    prune_sections(root)
    assert [child.attributes for child in root.children] == [{"name": "s"}, {"type": "box"}, {"mesh": "m"}]


def test_flexes_and_plugins_are_taken_out_and_named() -> None:
    root = parsed(
        "<deformable><flex/><skin/></deformable><deformable/><extension><plugin/></extension>"
        "<actuator><plugin/><motor/></actuator><equality><flex/><flexstrain/><flexvert/><weld/></equality>"
        "<worldbody><plugin/></worldbody>"
    )
    taken = take_unmodelled(root)
    assert {what: [node.tag for node in nodes] for what, nodes in taken.items()} == {
        "flexes": ["flex", "skin", "deformable"],
        "plugins": ["plugin", "plugin"],
    }
    assert tags(root) == ["actuator", "motor", "equality", "weld", "worldbody", "plugin"]
    assert take_unmodelled(parsed("<worldbody/>")) == {}


CLASSES = (
    '<default><geom contype="0" conaffinity="0"/><default class="hit"><geom contype="1"/>'
    '<default class="heavy"><geom mass="3"/></default></default></default>'
)


@pytest.mark.parametrize(
    ("world", "kept"),
    [
        ('<geom name="g"/>', ""),
        ('<body><geom name="g"/></body>', ""),
        ('<body><joint/><geom name="g"/></body>', "g"),
        ('<body><freejoint/><geom name="g"/></body>', "g"),
        ('<body><frame><joint/></frame><geom name="g"/></body>', "g"),
        ('<body><joint/><body><geom name="g"/></body></body>', "g"),
        ('<body><body><joint/><geom name="h"/></body><geom name="g"/></body>', "h"),
        ('<body><joint/><geom name="g" mass="0"/></body>', ""),
        ('<body><joint/><geom name="g" density="0"/></body>', ""),
        ('<body><joint/><geom name="g" density="0.0"/></body>', ""),
        ('<body><joint/><geom name="g" mass="" density="0"/></body>', ""),
        ('<body><joint/><geom name="g" mass="1" density="0"/></body>', "g"),
        ('<body><joint/><geom name="g" mass="x"/></body>', "g"),
        ('<body><joint/><inertial/><geom name="g"/></body>', ""),
        ('<body><joint/><inertial/><geom class="hit" name="g"/></body>', "g"),
        ('<body><joint/><inertial/><geom class="heavy" name="g"/></body>', "g"),
        ('<body childclass="hit"><joint/><inertial/><geom name="g"/></body>', "g"),
        ('<body><joint/><inertial/><frame childclass="hit"><geom name="g"/></frame></body>', "g"),
        ('<body childclass="hit"><joint/><inertial/><geom class="main" name="g"/></body>', ""),
        ('<body><joint/><inertial/><geom contype=" 0 " conaffinity="1" name="g"/></body>', "g"),
        ('<body><joint/><inertial/><geom name="wrapped"/></body>', "wrapped"),
    ],
)
def test_a_geom_is_kept_if_its_mass_or_its_shape_counts(world: str, kept: str) -> None:
    tendon = '<tendon><spatial><geom geom="wrapped1"/></spatial></tendon>'
    root = parsed(f"{CLASSES}<worldbody>{world}</worldbody>{tendon}")
    assert prune_geoms(root, False) == []
    (section,) = root.all("worldbody")
    assert [node.get("name") for node in section.walk() if node.tag == "geom"] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("compiler", "static", "kept"),
    [
        ("", False, []),
        ("", True, ["s"]),
        ('<compiler settotalmass="3"/>', False, ["s"]),
        ('<compiler inertiafromgeom="true"/>', False, ["m"]),
        ('<compiler inertiafromgeom="auto"/>', False, []),
    ],
)
def test_masses_of_what_stands_still_count_where_they_are_asked_for(
    compiler: str, static: bool, kept: list[str]
) -> None:
    world = '<body><geom name="s"/></body><body><joint/><inertial/><geom name="m" contype="0" conaffinity="0"/></body>'
    root = parsed(f"{compiler}<worldbody>{world}</worldbody>")
    prune_geoms(root, static)
    assert [node.get("name") for node in root.walk() if node.tag == "geom"] == kept


def test_meshes_that_no_kept_geom_has_are_taken_out_and_shapes_that_collide_named() -> None:
    assets = '<mesh name="m"/><mesh file="d/n.stl"/><mesh name="o"/><hfield name="m"/><hfield file="h.png"/><other/>'
    world = (
        '<body><joint/><geom type="mesh" mesh="m"/><geom type="mesh" mesh="n" contype="0" conaffinity="0"/>'
        '<geom type="hfield" hfield="h"/><geom type="ellipsoid"/><geom type="sphere" mesh="m" mass="0"/></body>'
    )
    root = parsed(f"<asset>{assets}</asset><worldbody>{world}</worldbody>")
    left_out = prune_geoms(root, False)
    assert [asset_name(node) for node in root.children[0].children] == ["m", "n", "h", ""]
    assert [node.get("type") for node in left_out] == ["mesh", "hfield", "ellipsoid", "sphere"]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"name": "a", "file": "b.stl"}, "a"),
        ({"file": "d/e.f/b.c.stl"}, "b.c"),
        ({"file": "d\\b.stl"}, "b"),
        ({"file": "d/b"}, "b"),
        ({}, ""),
    ],
)
def test_an_asset_has_the_name_of_its_file(attributes: dict[str, str], name: str) -> None:
    assert asset_name(Element("mesh", attributes, 1)) == name


NAMES = """
name class childclass file content_type model prefix sep target meshdir texturedir assetdir mesh hfield material flex
joint joint1 joint2 jointinparent body body1 body2 geom site site1 site2 refsite slidersite cranksite sidesite
tendon tendon1 tendon2 plugin instance key value
"""


@pytest.mark.parametrize("word", NAMES.split())
def test_a_name_may_have_any_letters_but_a_per_cent_sign(word: str) -> None:
    check_tree(Element("geom", {word: "info nan"}, 3, file="m.xml"), "m.xml")
    with pytest.raises(ModelError, match=f"m.xml:3: <geom> {word}='50%' has a per cent sign"):
        check_tree(Element("geom", {word: "50%"}, 3, file="m.xml"), "m.xml")


@pytest.mark.parametrize("element", ["plugin", "composite", "flexcomp", "attach"])
def test_elements_that_run_code_or_make_bodies_are_refused(element: str) -> None:
    root = Element("mujoco", {}, 1, [Element(element, {}, 2, file="p.xml")], "m.xml")
    with pytest.raises(UnsupportedError, match=rf"m\.xml: <{element}> \(p\.xml:2\): not supported; take them out"):
        check_tree(root, "m.xml")


def nested(*counts: str, inside: str = "<body/>") -> Element:
    text = inside
    for count in counts:
        text = f"<replicate{count}>{text}</replicate>"
    return parsed(text)


@pytest.mark.parametrize(
    ("root", "fine"),
    [
        (nested(' count="4096"'), True),
        (nested(' count="4097"'), False),
        (nested(' count=" +64 "', ' count="64"'), True),
        (nested(' count="64"', ' count="65"'), False),
        (nested(' count="64a"', ' count="65"'), False),
        (nested(' count="4095"', inside="<body/><geom/>"), False),
        (nested(' count="2048"', inside="<body/><site/>"), True),
        (nested(' count="2049"', inside="<geom/><site/>"), False),
        (nested(' count="5000"', inside="<camera/>"), True),
        (nested(' count="1"', inside="<geom/>" * 5000), True),
        (nested("", ' count="many"', ' count="0"', ' count="-3"'), True),
        (nested(' count="99999999999999999999"', ' count="99999999999999999999"'), False),
    ],
)
def test_copies_are_counted(root: Element, fine: bool) -> None:
    if fine:
        check_tree(root, "m.xml")
    else:
        with pytest.raises(ModelError, match=r"m\.xml: more than 4096 bodies"):
            check_tree(root, "m.xml")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a/b.stl", None),
        ("http://x", "is a URI, expected a path"),
        ("a\\b", "has a backslash, which parts folders on some systems only"),
        ("C:b", "has a colon, which names a drive or a device on some systems"),
        ("a\0b", "has a zero byte"),
    ],
)
def test_names_of_files_with_a_meaning_of_their_own(name: str, said: str | None) -> None:
    odd = oddity(name)
    assert (odd and odd[0]) == said


def test_where_an_element_stands() -> None:
    node = Element("geom", {}, 7, file="part.xml")
    assert (place(node, "part.xml"), place(node, "m.xml")) == ("line 7", "part.xml:7")


def test_a_document_has_a_line_for_each_element() -> None:
    inner = Element("b", {"x": 'a"<&>\n\t\r', "y": "1"}, 2)
    root = Element("a", {}, 1, [inner, Element("c", {}, 3)])
    text, nodes = write_tree(root)
    assert text.decode() == '<a>\n<b x="a&quot;&lt;&amp;&gt;&#10;&#9;&#13;" y="1"></b>\n<c></c></a>'
    assert nodes == [root, *root.children]
    again = xml.parse(text, "m.xml")
    assert again.children[0].attributes == inner.attributes


def loaded(folder: Path, text: str, **more: str) -> Element:
    """The tree of a file and of others that stand beside it."""
    for name, content in more.items():
        (folder / f"{name}.xml").write_text(content)
    (folder / "main.xml").write_text(f"<mujoco>\n{text}</mujoco>")
    path = folder / "main.xml"
    return read_tree(xml.parse(path.read_bytes(), str(path)), path, Folders(folder))


def test_an_included_file_stands_where_it_is_included(tmp_path: Path) -> None:
    root = loaded(tmp_path, '<a/><include file="part.xml"/><b/>', part="<x>\n\n<c><d/></c></x>")
    assert tags(root) == ["a", "c", "d", "b"]
    assert [(Path(node.file).name, node.line) for node in root.walk()][2:4] == [("part.xml", 3)] * 2
    assert root.children[1].folder == tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<include/>", r"main\.xml:2: <include> has no file"),
        ('<include file=""/>', r"main\.xml:2: <include> has no file"),
        ('<include file="part.xml"><a/></include>', r"main\.xml:2: <include> has children"),
        (
            '<include file="part.xml"/><include file="part.xml"/>',
            r"main\.xml:2: .*part\.xml', which is already included",
        ),
        ('<include file="main.xml"/>', r"main\.xml:2: .*main\.xml', which is already included"),
        ('<include file="empty.xml"/>', r"main\.xml:2: .*empty\.xml', which is empty"),
    ],
)
def test_includes_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        loaded(tmp_path, text, part="<x><c/></x>", empty="<x/>")


def test_included_files_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files of three elements each, the include not counted: 5 in all. Depth is that of the whole."""
    text, part = '<a/><include file="part.xml"/>', "<x><c/><d/></x>"
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 5)
    assert tags(loaded(tmp_path, text, part=part)) == ["a", "c", "d"]
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 4)
    with pytest.raises(ModelError, match=r"part\.xml:1: more than 4 elements, or nested deeper than 400"):
        loaded(tmp_path, text, part=part)
    monkeypatch.undo()
    monkeypatch.setattr(mjcf_tree, "MAX_DEPTH", 2)
    assert tags(loaded(tmp_path, "<a><b/></a>")) == ["a", "b"]
    monkeypatch.setattr(mjcf_tree, "MAX_DEPTH", 1)
    with pytest.raises(ModelError, match="or nested deeper than 1"):
        loaded(tmp_path, "<a><b/></a>")
    monkeypatch.undo()
    parts = {f"part{k}": "<x><c/></x>" for k in range(3)}
    text = "".join(f'<include file="{name}.xml"/>' for name in parts)
    monkeypatch.setattr(mjcf_tree, "MAX_FILES", 4)
    assert len(loaded(tmp_path, text, **parts).children) == 3
    monkeypatch.setattr(mjcf_tree, "MAX_FILES", 3)
    with pytest.raises(ModelError, match="more than 3 included files"):
        loaded(tmp_path, text, **parts)


def headers(folder: Path, changes: Sequence[tuple[str, str, str]]) -> Path:
    """MuJoCo's own, with texts of some replaced."""
    there = mjcf_compiler.library().parent / "include" / "mujoco"
    for path in there.glob("mj*.h"):
        shutil.copy(path, folder / path.name)
    for name, old, new in changes:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
    return folder


@pytest.mark.parametrize(
    "change",
    [
        ("mjxmacro.h", "actuator_armature", "actuator_weight"),
        ("mjxmacro.h", "MJMODEL_SIZES", "MJMODEL_COUNTS"),
        ("mjmodel.h", "struct mjOption_ {", "struct mjOptions_ {"),
        ("mjtype.h", "mjDSBL_GRAVITY", "mjDSBL_WEIGHT"),
        ("mjmodel.h", "struct mjOption_ {", "struct mjOption_ {\n  int odd;"),
    ],
)
def test_headers_of_another_form_are_refused(tmp_path: Path, change: tuple[str, str, str]) -> None:
    pytest.importorskip("mujoco")
    with pytest.raises(UnsupportedError, match=r"in a way that is not known here .*: install mujoco 4$"):
        schema_of(headers(tmp_path, [change]))


def test_headers_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="this version of MuJoCo describes its models in a way"):
        schema_of(tmp_path)


def test_options_stand_one_behind_the_other(tmp_path: Path) -> None:
    """Doubles of eight bytes and integers of four; lengths are numbers or names."""
    pytest.importorskip("mujoco")
    fields = ("mjtNum first", "mjtNum three[3]", "mjtNum named[mjNTEST]", "int a", "float b[2]", "int c")
    more = "\n  ".join(("struct mjOption_ {", *(f"{field};" for field in fields), ""))
    end = "\n} mjOption;\n#define mjNTEST 2\nstruct mjRest_ {"
    schema = schema_of(headers(tmp_path, [("mjmodel.h", "struct mjOption_ {", f"{more}{end}")]))
    assert schema.options == {"first": 0, "three": 8, "named": 32, "a": 48, "b": 52, "c": 60}
    assert schema.constants["mjNTEST"] == 2 and schema.constants["mjDSBL_CONSTRAINT"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<texture file="t.png"/>', r"<texture> file='t\.png': files of meshes and height fields alone are read"),
        ('<mesh file="a\\b.stl"/>', r"<mesh> file='a.*b\.stl' has a backslash"),
        ('<mesh file="m.stl"/>', r"<mesh> file='m\.stl', which does not exist"),
    ],
)
def test_files_of_assets_that_are_not_read(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        take_files(loaded(tmp_path, f"<asset>{text}</asset>"), Folders(tmp_path), 100)
    with pytest.raises(ModelError, match=r"<compiler>: the folder of meshes 'C:x' has a colon"):
        take_files(loaded(tmp_path, '<compiler meshdir="C:x"/><mesh file="m.stl"/>'), Folders(tmp_path), 100)


def test_files_of_assets_get_words_of_ours_and_share_the_bytes(tmp_path: Path) -> None:
    """Endings stay, if they are some; what is left out does not count."""
    for name, size in (("m.stl", 4), ("h.png", 5), ("odd.a-b", 1), ("large.obj", 11)):
        (tmp_path / name).write_bytes(bytes(size))
    text = '<mesh file="m.stl"/><hfield name="n" file="h.png"/><mesh file="odd.a-b"/>'
    root = loaded(tmp_path, text)
    taken = take_files(root, Folders(tmp_path), 10)
    assert {word: (path.name, len(data)) for word, (path, data) in taken.items()} == {
        "file0.stl": ("m.stl", 4),
        "file1.png": ("h.png", 5),
        "file2": ("odd.a-b", 1),
    }
    assert [node.attributes for node in root.children] == [
        {"file": "file0.stl", "name": "m"},
        {"file": "file1.png", "name": "n"},
        {"file": "file2", "name": "odd"},
    ]
    with pytest.raises(ModelError, match="is larger than 0 bytes"):
        take_files(loaded(tmp_path, text), Folders(tmp_path), 9)
    left: list[Any] = []
    root = loaded(tmp_path, '<mesh file="large.obj"/><mesh file="m.stl"/>')
    taken = take_files(root, Folders(tmp_path), 100, 10, lambda node, findings: left.append((node, findings)))
    assert list(taken) == ["file0.stl"] and "is larger than 10 bytes" in str(left[0][1][0])
    assert take_files(loaded(tmp_path, '<mesh file="large.obj"/>'), Folders(tmp_path), 11, 12).keys() == {"file0.obj"}


def test_what_a_file_may_have_at_most() -> None:
    assert (xml.MAX_BYTES, xml.MAX_ELEMENTS, xml.MAX_DEPTH) == (1 << 24, 500_000, 64)
    assert (mjcf_tree.MAX_DEPTH, mjcf_tree.MAX_FILES, mjcf_tree.MAX_BODIES) == (400, 64, 4096)
    assert mjcf_compiler.LARGEST == 1 << 28


def test_a_file_is_looked_for_beside_the_main_one_then_beside_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "near.xml").write_text("<x><near/></x>")
    (tmp_path / "s" / "part.xml").write_text('<x><include file="near.xml"/><include file="main2.xml"/></x>')
    root = loaded(tmp_path, '<include file="s/part.xml"/>', main2="<x><far/></x>")
    places = {node.tag: (Path(node.file).relative_to(tmp_path).as_posix(), node.folder) for node in root.children}
    assert places == {"near": ("s/near.xml", tmp_path / "s"), "far": ("main2.xml", tmp_path)}


@pytest.mark.parametrize(
    ("name", "ending"), [("a.stl", ".stl"), ("a.b.OBJ", ".OBJ"), ("a", ""), ("a.st-l", ""), ("a.123456789", "")]
)
def test_the_ending_of_a_file_is_a_short_word(tmp_path: Path, name: str, ending: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert list(take_files(loaded(tmp_path, f'<mesh file="{name}"/>'), Folders(tmp_path), 1)) == [f"file0{ending}"]


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
