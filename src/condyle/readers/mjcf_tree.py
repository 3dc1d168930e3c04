"""The elements of an MJCF file, included files put in their places as MuJoCo does, each with its file and line."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from condyle.errors import Finding, ModelError
from condyle.readers import xml
from condyle.readers.folders import Folders
from condyle.readers.xml import Element

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
