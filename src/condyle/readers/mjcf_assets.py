"""Where MuJoCo would look for the files of a model; what it reads instead are the bytes that are found there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from condyle.errors import Finding, ModelError
from condyle.readers.folders import Folders
from condyle.readers.mjcf_prune import asset_name
from condyle.readers.mjcf_tree import oddity
from condyle.readers.xml import Element

LeftOut = Callable[[Element, list[Finding]], None]


def take_files(
    root: Element, folders: Folders, most: int, each: int | None = None, left_out: LeftOut | None = None
) -> dict[str, tuple[Path, bytes]]:
    """Read every file that the assets of a pruned tree name, `most` bytes in all, and name it there by a word of ours.

    Returns path and bytes by that word. ModelError for a file that is missing, no regular file or outside `folders`,
    unless left_out takes the element of a mesh and what is wrong with its file. each: bytes of one file.
    """
    home, strip = _compiler(root)
    taken: dict[str, tuple[Path, bytes]] = {}
    for node in root.walk():
        name = node.attributes.get("file")
        if name is None:
            continue
        node.attributes["name"] = asset_name(node)
        try:
            path, data = _read(node, folders, home, strip, most if each is None else min(each, most))
        except ModelError as error:
            if left_out is None:
                raise
            left_out(node, list(error.findings))
            continue
        most -= len(data)
        word = f"file{len(taken)}{_ending(name)}"
        node.attributes["file"] = word
        taken[word] = (path, data)
    return taken


def _read(node: Element, folders: Folders, home: str, strip: bool, most: int) -> tuple[Path, bytes]:
    """The path and the bytes of the file that an asset names. ModelError."""
    name = node.attributes["file"]
    if node.tag not in ("mesh", "hfield"):
        raise ModelError([node.error(f"<{node.tag}> file={name!r}: files of meshes and height fields alone are read")])
    for what, path in ((f"<{node.tag}> file={name!r}", name), (f"<compiler>: the folder of meshes {home!r}", home)):
        odd = oddity(path)
        if odd is not None:
            raise ModelError([node.error(f"{what} {odd[0]}", odd[1])])
    last = name.rpartition("/")[2] if strip else name
    places = (folders.model_folder / home / last, *(() if strip else (node.folder / last,)))
    return folders.read(places, most, f"<{node.tag}> file={name!r}", (node.file, node.line))


def _ending(name: str) -> str:
    """The ending of a file's name, by which MuJoCo knows its form."""
    ending = Path(name).suffix
    return ending if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", ending) else ""


def _compiler(root: Element) -> tuple[str, bool]:
    """The folder of meshes, and whether names lose their folders; the folder is taken out of the tree."""
    home, strip = "", False
    for node in root.children:
        if node.tag == "compiler":
            words = node.attributes
            home = words.pop("assetdir", home)
            home = words.pop("meshdir", home)
            words.pop("texturedir", None)
            strip = words.get("strippath", "true" if strip else "false") == "true"
    return home, strip
