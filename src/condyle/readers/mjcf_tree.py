"""The elements of an MJCF file, included files put in their places as MuJoCo does, each with its file and line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class Node:
    """An element, the file and line where it stands, and the folder of that file."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    folder: Path
    children: list[Node]

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def walk(self) -> Iterator[Node]:
        """This element and all below it, in the order of the text."""
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def error(self, message: str, cure: str | None = None) -> Finding:
        return Finding("error", message, self.file, self.line, cure=cure)


def read_tree(root: Element, path: Path, folders: Folders) -> Node:
    """The tree of the file whose root element is given. ModelError for includes that MuJoCo or `folders` refuse."""
    reader = _Includes(path, folders)
    return reader.node(root, str(path), path.parent, 0)


def is_odd(name: str) -> bool:
    """Whether a file's name has a meaning of its own in MuJoCo or on another system."""
    return "\\" in name or ":" in name or "\0" in name


class _Includes:
    """One tree, and what it has included."""

    def __init__(self, path: Path, folders: Folders) -> None:
        self.top = path.parent
        self.folders = folders
        self.seen = {Path(os.path.realpath(path))}
        self.count = 0

    def node(self, element: Element, file: str, folder: Path, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH or self.count > xml.MAX_ELEMENTS:
            message = f"more than {xml.MAX_ELEMENTS} elements, or nested deeper than {MAX_DEPTH}"
            raise ModelError([Finding("error", message, file, element.line)])
        node = Node(element.tag, element.attributes, file, element.line, folder, [])
        for child in element.children:
            if child.tag == "include":
                node.children += self.included(child, file, folder, depth)
            else:
                node.children.append(self.node(child, file, folder, depth + 1))
        return node

    def included(self, element: Element, file: str, folder: Path, depth: int) -> list[Node]:
        """What an <include> stands for: looked for beside the main file, then beside the including one."""
        at = (file, element.line)
        name = element.get("file")
        if not name or element.children or is_odd(name):
            what = f"<include> file={name!r} leaves the model's directory" if name else "<include> has no file"
            raise ModelError([Finding("error", "<include> has children" if element.children else what, *at)])
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


def write_tree(root: Node) -> tuple[bytes, list[Node]]:
    """A document of the same elements, a line each, and the element of each line: MuJoCo reads no other text."""
    lines: list[str] = []
    nodes: list[Node] = []

    def put(node: Node) -> None:
        words = "".join(f' {name}="{escape(value).translate(_ESCAPES)}"' for name, value in node.attributes.items())
        lines.append(f"<{node.tag}{words}>")
        nodes.append(node)
        for child in node.children:
            put(child)
        lines[-1] += f"</{node.tag}>"

    put(root)
    return "\n".join(lines).encode(), nodes
