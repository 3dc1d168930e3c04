"""The elements of an MJCF file, included files put in their places as MuJoCo does, each with its file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from pathlib import Path

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.readers import xml
from condyle.readers.folders import Folders
from condyle.readers.xml import Element
from condyle.text import few

MAX_DEPTH = 400
MAX_FILES = 64
ENCODINGS = ("utf-8", "us-ascii", "ascii")
_ESCAPES = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def read_tree(root: Element, path: Path, folders: Folders) -> Element:
    """The tree of the file whose root element is given. ModelError for includes that MuJoCo or `folders` refuse."""
    reader = _Includes(path, folders)
    return reader.node(root, str(path), path.parent, 0)


def oddity(name: str) -> tuple[str, str] | None:
    """What is wrong with a file's name that has a meaning of its own in MuJoCo or on another system, and the cure."""
    if "://" in name:
        cure = "URIs such as package:// are not resolved: write the path from the model's folder; assets= allows others"
        return "is a URI, expected a path", cure
    if "\\" in name:
        return "has a backslash, which parts folders on some systems only", "write / between folders"
    if ":" in name:
        return "has a colon, which names a drive or a device on some systems", "rename the file"
    return ("has a zero byte", "rename the file") if "\0" in name else None


class _Includes:
    """One tree, and what it has included."""

    def __init__(self, path: Path, folders: Folders) -> None:
        self.top = path.parent
        self.folders = folders
        self.seen = {Path(os.path.realpath(path))}
        self.count = 0

    def node(self, element: Element, file: str, folder: Path, depth: int) -> Element:
        self.count += 1
        if depth > MAX_DEPTH or self.count > xml.MAX_ELEMENTS:
            message = f"more than {xml.MAX_ELEMENTS} elements, or nested deeper than {MAX_DEPTH}"
            raise ModelError([Finding("error", message, file, element.line)])
        node = Element(element.tag, element.attributes, element.line, [], file, folder)
        for child in element.children:
            if child.tag == "include":
                node.children += self.included(child, file, folder, depth)
            else:
                node.children.append(self.node(child, file, folder, depth + 1))
        return node

    def included(self, element: Element, file: str, folder: Path, depth: int) -> list[Element]:
        """What an <include> stands for: looked for beside the main file, then beside the including one."""
        at = (file, element.line)
        name = element.get("file")
        if not name or element.children:
            wrong = "children" if element.children else "no file"
            raise ModelError([Finding("error", f"<include> has {wrong}", *at)])
        odd = oddity(name)
        if odd is not None:
            raise ModelError([Finding("error", f"<include> file={name!r} {odd[0]}", *at, cure=odd[1])])
        what = f"<include> file={name!r}: includes {name!r}"
        true, data = self.folders.read((self.top / name, folder / name), xml.MAX_BYTES, what, at)
        if true in self.seen:
            raise ModelError([Finding("error", f"{what}, which is already included", *at)])
        self.seen.add(true)
        if len(self.seen) > MAX_FILES:
            raise ModelError([Finding("error", f"more than {MAX_FILES} included files", *at)])
        home = (folder if not (self.top / name).exists() else self.top) / name
        root = xml.parse(data, str(home), depth=MAX_DEPTH, encodings=ENCODINGS)
        if not root.children:
            raise ModelError([Finding("error", f"{what}, which is empty", *at)])
        return self.node(root, str(home), home.parent, depth).children


def write_tree(root: Element) -> tuple[bytes, list[Element]]:
    """A document of the same elements, a line each, and the element of each line: MuJoCo reads no other text."""
    lines: list[str] = []
    nodes: list[Element] = []

    def put(node: Element) -> None:
        words = "".join(f' {name}="{escape(value).translate(_ESCAPES)}"' for name, value in node.attributes.items())
        lines.append(f"<{node.tag}{words}>")
        nodes.append(node)
        for child in node.children:
            put(child)
        lines[-1] += f"</{node.tag}>"

    put(root)
    return "\n".join(lines).encode(), nodes


# How this version of MuJoCo saves a compiled model: the tables in its own header files, nothing of its code.


_WIDTHS = {"mjtNum": "<f8", "int": "<i4", "float": "<f4", "mjtByte": "|u1", "mjtBool": "|u1", "char": "|u1"}
_FORMS = {**_WIDTHS, "mjtSize": "<i8"}
_MACRO = re.compile(r"#define\s+(MJMODEL_\w+)[^\S\n]*\\\n((?:.*\\\n)*.*)")
_ROW = re.compile(r"\b(X[A-Z]*)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\b(MJMODEL_POINTERS_\w+)")
_FIELD = re.compile(r"^\s*(mjtNum|int|float)\s+(\w+)(?:\[(\w+)\])?;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """An array of the saved model: name, NumPy type, the count of its rows, what its columns are the product of."""

    name: str
    form: str
    rows: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """Sizes in the order of the file, arrays in that order, byte offsets of options, numbers with names."""

    sizes: tuple[str, ...]
    arrays: tuple[Row, ...]
    options: Mapping[str, int]
    constants: Mapping[str, int]


@lru_cache(maxsize=8)
def schema_of(folder: Path) -> Schema:
    """The schema that the header files in `folder` say; UnsupportedError if they are of another form."""
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((folder).glob("mj*.h"))}
        macros = {match[1]: match[2] for match in _MACRO.finditer(texts["mjxmacro.h"])}
        sizes = tuple(re.findall(r"\bX\(\s*(\w+)\s*\)", macros["MJMODEL_SIZES"]))
        struct = re.search(r"struct mjOption_ \{(.*?)\n\} mjOption;", texts["mjmodel.h"], re.DOTALL)
        constants = {
            match[1]: int(match[2])
            for text in texts.values()
            for match in re.finditer(r"#define (mj\w+)\s+(\d+)\b", text)
        }
        bits = re.findall(r"(mjDSBL_[A-Z]+)\s*=\s*1\s*<<\s*(\d+)", "".join(texts.values()))
        constants |= {name: 1 << int(bit) for name, bit in bits}
        if struct is None or "mjDSBL_GRAVITY" not in constants:
            raise KeyError("mjOption")
        if not re.search(r"X\s*\(\s*mjtNum,\s*actuator_armature,", texts["mjxmacro.h"]):
            raise KeyError("actuator_armature")  # older than 4
        return Schema(sizes, tuple(_rows("MJMODEL_POINTERS", macros)), _offsets(struct.group(1), constants), constants)
    except (OSError, KeyError, ValueError) as error:
        raise UnsupportedError(
            f"this version of MuJoCo describes its models in a way that is not known here ({error!r}): install mujoco 4"
        ) from None


def _rows(macro: str, macros: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    for match in _ROW.finditer(macros[macro]):
        if match[3]:
            rows += _rows(match[3], macros)
        else:
            kind, name, count, columns = (word.strip() for word in match[2].split(","))
            factors = re.findall(r"\w+", columns.replace("MJ_M", ""))
            rows.append(Row(name, _FORMS[kind], count, tuple(factors)))
    return rows


def _offsets(struct: str, constants: Mapping[str, int]) -> dict[str, int]:
    """Where each option stands in its struct; doubles come first, so that nothing is padded."""
    offsets: dict[str, int] = {}
    at = 0
    for kind, name, count in _FIELD.findall(struct):
        width = 8 if kind == "mjtNum" else 4
        if at % width:
            raise ValueError(f"mjOption.{name}")
        offsets[name] = at
        at += width * (1 if not count else int(count) if count.isdigit() else constants[count])
    return offsets


# What cannot change a mass, a joint or a frame is left out before MuJoCo reads a model: neither opened nor run.
#
# A geom is kept if its mass may count, if it is a simple shape that collides, or a tendon runs around it; a mesh or
# height field if a geom that is kept is made of it.


_SECTIONS = ("size", "visual", "statistic", "custom", "sensor", "keyframe", "contact")
_ASSETS = ("texture", "material", "skin", "model")
_UNDER_BODIES = ("camera", "light")
_IN_DEFAULTS = ("texture", "material", "camera", "light", "pair")
_LINKS = ("material", "texture")
"""Attributes that name what is left out."""
_PLACES = ("worldbody", "body", "frame", "replicate")
_SIMPLE = ("sphere", "capsule", "cylinder", "box")


def prune_sections(root: Element) -> None:
    """Take out the sections that only a simulation or a picture needs."""
    root.attributes = {}  # a model's name is for people
    root.children = [child for child in root.children if child.tag not in _SECTIONS]
    for node in root.walk():
        if node.tag == "compiler":
            node.children = []  # <lengthrange> simulates
        out = {"asset": _ASSETS, "default": _IN_DEFAULTS}.get(node.tag, _UNDER_BODIES if node.tag in _PLACES else ())
        node.children = [child for child in node.children if child.tag not in out]
        for name in _LINKS:
            node.attributes.pop(name, None)
        if node.tag == "site" and node.attributes.pop("mesh", None) is not None:
            node.attributes.pop("type", None)  # the picture of a site does not move it


def take_unmodelled(root: Element) -> dict[str, list[Element]]:
    """Take out flexes, and what plugins do for sensors and actuators; all that was taken, by what a person calls it."""
    taken: dict[str, list[Element]] = {"flexes": [], "plugins": []}
    for section in list(root.children):
        if section.tag in ("deformable", "extension"):
            root.children.remove(section)
            taken["flexes" if section.tag == "deformable" else "plugins"] += section.children or [section]
        drop = {"actuator": ("plugin",), "equality": ("flex", "flexstrain", "flexvert")}.get(section.tag, ())
        taken["plugins"] += [child for child in section.children if child.tag == "plugin" and child.tag in drop]
        section.children = [child for child in section.children if child.tag not in drop]
    return {what: nodes for what, nodes in taken.items() if nodes}


def prune_geoms(root: Element, static: bool) -> list[Element]:
    """Take out geoms whose mass counts nowhere and that are no shapes which collide, and meshes and height fields that
    no kept geom needs; the geoms of moving bodies that collide and are not of `_SIMPLE`.

    static: the masses of bodies that cannot move count as well (they will be made movable).
    """
    pruner = _Geoms.from_root(root, static)
    for section in root.children:
        if section.tag == "worldbody":
            pruner.place(section, False, True, None)
    for section in root.children:
        if section.tag == "asset":
            section.children = [child for child in section.children if pruner.needs(child)]
    return pruner.left_out


@dataclass(slots=True)
class _Geoms:
    """Which geoms count, by the simple rules that `place` and `counts` have."""

    classes: dict[str | None, dict[str, str]]
    wrapped: tuple[str, ...]
    everywhere: bool
    static: bool
    needed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    left_out: list[Element] = field(default_factory=list[Element])

    @staticmethod
    def from_root(root: Element, static: bool) -> _Geoms:
        compilers = [node for node in root.children if node.tag == "compiler"]
        everywhere = any(node.get("inertiafromgeom") == "true" for node in compilers)
        total = any("settotalmass" in node.attributes for node in compilers)  # then each mass moves all others
        tendons = [node for section in root.children if section.tag == "tendon" for node in section.walk()]
        wrapped = tuple(node.get("geom") or "" for node in tendons if node.tag == "geom")
        return _Geoms(_classes(root), wrapped, everywhere, static or total)

    def place(self, node: Element, moves: bool, explicit: bool, name: str | None) -> None:
        """explicit: the body has its inertia written out, or is the world; name: of the class for geoms inside."""
        kept: list[Element] = []
        for child in node.children:
            if child.tag == "body":
                fixed = not (moves or _has(child, ("joint", "freejoint")))
                written = not self.everywhere and any(grandchild.tag == "inertial" for grandchild in child.children)
                free = fixed and not self.static
                self.place(child, not fixed or self.static, written or free, child.get("childclass") or name)
            elif child.tag in _PLACES:
                self.place(child, moves, explicit, child.get("childclass") or name)
            elif child.tag == "geom" and not self.keep(child, moves, explicit, name):
                continue
            kept.append(child)
        node.children = kept

    def keep(self, geom: Element, moves: bool, explicit: bool, name: str | None) -> bool:
        given = self.classes.get(geom.get("class") or name, {}) | geom.attributes
        collides = moves and any(given.get(word, "1").strip() != "0" for word in ("contype", "conaffinity"))
        is_simple = "mesh" not in given and given.get("type", "sphere") in _SIMPLE
        if collides and not is_simple:
            self.left_out.append(geom)
        own = geom.get("name")
        wrapped = own is not None and any(word.startswith(own) for word in self.wrapped)  # copies have longer names
        if not wrapped and not (collides and is_simple) and (explicit or _weightless(given)):
            return False
        self.needed |= {(kind, given[kind]) for kind in ("mesh", "hfield") if kind in given}
        return True

    def needs(self, asset: Element) -> bool:
        return asset.tag not in ("mesh", "hfield") or (asset.tag, asset_name(asset)) in self.needed


def asset_name(node: Element) -> str:
    """A mesh or height field without a name has its file's, without folder and ending."""
    name = node.get("name")
    stem = (node.get("file") or "").replace("\\", "/").rpartition("/")[2]
    return name or stem.rpartition(".")[0] or stem


def _weightless(attributes: dict[str, str]) -> bool:
    try:
        return float(attributes.get("mass") or attributes.get("density") or "1") == 0.0
    except ValueError:
        return False  # MuJoCo will say what is wrong


def _has(body: Element, tags: tuple[str, ...]) -> bool:
    """Whether a body has such an element of its own, in a frame too."""
    return any(child.tag in tags or (child.tag != "body" and _has(child, tags)) for child in body.children)


def _classes(root: Element) -> dict[str | None, dict[str, str]]:
    """What each class of defaults says of geoms, what it inherits included; None is the class of all."""
    found: dict[str | None, dict[str, str]] = {None: {}}
    tops = [node for node in root.children if node.tag == "default"]
    for node in tops:  # of all tops first: they are one class
        found[None] |= _geom_attributes(node)
    todo = [(node, found[None]) for node in reversed(tops)]
    found["main"] = found[None]
    while todo:
        node, inherited = todo.pop()
        for child in node.children:
            if child.tag == "default":
                given = inherited | _geom_attributes(child)
                found[child.get("class")] = given
                todo.append((child, given))
    found[None] = found["main"]
    return found


def _geom_attributes(node: Element) -> dict[str, str]:
    own: dict[str, str] = {}
    for child in node.children:
        if child.tag == "geom":
            own |= child.attributes
    return own


# What is looked at in an MJCF file before MuJoCo's compiler sees it: numbers, names, copies, parts not supported.


MAX_BODIES = 4_096
_REFUSED = ("plugin", "composite", "flexcomp", "attach")
"""They run code or make bodies while MuJoCo reads the file, how many nobody has checked."""
_TEXTS = frozenset(
    (
        *("name", "class", "childclass", "file", "content_type", "model", "prefix", "sep", "target"),
        *("meshdir", "texturedir", "assetdir", "mesh", "hfield", "material", "flex"),
        *("joint", "joint1", "joint2", "jointinparent", "body", "body1", "body2", "geom"),
        *("site", "site1", "site2", "refsite", "slidersite", "cranksite", "sidesite"),
        *("tendon", "tendon1", "tendon2", "plugin", "instance", "key", "value"),
    )
)
"""Attributes that hold names; every other one holds numbers or words of MuJoCo's own."""
_NOT_FINITE = re.compile(r"nan|inf", re.IGNORECASE)


def check_tree(root: Element, file: str) -> None:
    """Raise for parts that are not supported, numbers that are none, names that MuJoCo misreads, too many bodies.

    ModelError with all findings; UnsupportedError naming the elements.
    """
    findings = [finding for node in root.walk() for finding in (*_numbers(node), *_formats(node))]
    if _copies(root) > MAX_BODIES:
        findings.append(Finding("error", f"more than {MAX_BODIES} bodies", file))
    if findings:
        raise ModelError(findings)
    refused = [node for node in root.walk() if node.tag in _REFUSED]
    if refused:
        places = few([f"<{node.tag}> ({place(node, file)})" for node in refused], 3)
        raise UnsupportedError(f"{file}: {places}: not supported; take them out of the file to load the tree")


def place(node: Element, file: str) -> str:
    """Where an element stands: its line, and its file if that is an included one."""
    return f"line {node.line}" if node.file == file else f"{node.file}:{node.line}"


def _numbers(node: Element) -> list[Finding]:
    """NaN and infinity in any of C's spellings: MuJoCo takes NaN for "not given", and computes with infinity."""
    return [
        node.error(f"<{node.tag}> {key}={value[:60]!r} is not finite")
        for key, value in node.attributes.items()
        if key not in _TEXTS and _NOT_FINITE.search(value)
    ]


def _formats(node: Element) -> list[Finding]:
    """MuJoCo 4.0 hands some names on as the format of its messages."""
    cure = "MuJoCo's compiler would take it for a format: choose another name"
    return [
        node.error(f"<{node.tag}> {key}={value[:60]!r} has a per cent sign", cure)
        for key, value in node.attributes.items()
        if "%" in value
    ]


def _copies(root: Element) -> int:
    """How many bodies and geoms there will be once every <replicate> is written out."""
    total = 0
    todo = [(root, 1)]
    while todo:
        node, times = todo.pop()
        if node.tag == "replicate":
            times = min(times * max(1, _integer(node.get("count") or "1")), MAX_BODIES + 1)
        total += times if node.tag == "body" or (node.tag in ("geom", "site") and times > 1) else 0
        todo.extend((child, times) for child in node.children)
    return total


def _integer(text: str) -> int:
    match = re.match(r"\s*\+?(\d{1,18})", text)
    return int(match.group(1)) if match else 0
