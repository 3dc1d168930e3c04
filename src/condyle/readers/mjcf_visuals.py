"""The geoms that an MJCF file shows, placed by MuJoCo's own compiler in a child process."""

from __future__ import annotations

from pathlib import Path

from condyle.errors import Finding, ModelError
from condyle.readers.folders import Folders
from condyle.readers.mjcf_assets import asset_name, take_files
from condyle.readers.mjcf_checks import check_tree
from condyle.readers.mjcf_compile import Limits, compile_tree, library
from condyle.readers.mjcf_compiled import DamagedError
from condyle.readers.mjcf_geoms import visuals_of
from condyle.readers.mjcf_prune import prune_sections, take_unmodelled
from condyle.readers.mjcf_schema import schema_of
from condyle.readers.mjcf_tree import read_tree
from condyle.readers.shapes import Visual
from condyle.readers.xml import Element

TETRAHEDRON = "0 0 0 1 0 0 0 1 0 0 0 1"
_FILE_WORDS = ("file", "content_type", "scale", "refpos", "refquat", "vertex", "normal", "texcoord", "face")


def mjcf_visuals(
    top: Element, path: Path, folders: Folders, limits: Limits, most: tuple[int, int]
) -> tuple[list[Visual], list[Finding]]:
    """The shapes of geoms in groups 0 to 2, and the meshes among them that were left out.

    top: the root element of the file. most: bytes of one mesh, and of all. ModelError for what MuJoCo cannot compile;
    UnsupportedError as for `load`.
    """
    found = library()
    root = read_tree(top, path, folders)
    prune_sections(root)
    take_unmodelled(root)
    check_tree(root, str(path))
    _no_heights(root)
    missing: dict[str, list[Finding]] = {}

    def left_out(node: Element, findings: list[Finding]) -> None:
        missing[asset_name(node)] = findings
        _stand_in(node)

    root.children.append(_all_kept(root))
    files = take_files(root, folders, most[1], most[0], left_out)
    data, _ = compile_tree(found, root, files, limits)
    try:
        visuals, unseen = visuals_of(data, schema_of(found.parent / "include" / "mujoco"), missing)
    except DamagedError as error:
        message = f"MuJoCo's compiler gave no model that can be read: {error}"
        raise ModelError([Finding("error", message, str(path))]) from None
    return visuals, [finding for name in unseen for finding in missing[name]]


def _stand_in(node: Element) -> None:
    """A mesh that is not read becomes a small one, so that what names it stays sound; it is not drawn."""
    node.attributes = {key: value for key, value in node.attributes.items() if key not in _FILE_WORDS}
    node.attributes["vertex"] = TETRAHEDRON


def _no_heights(root: Element) -> None:
    """Height fields are not drawn, and their files not read: two by two numbers stand for them."""
    for node in root.walk():
        if node.tag == "hfield":
            node.attributes["name"] = asset_name(node)
            node.attributes = {key: node.attributes[key] for key in ("name", "size") if key in node.attributes}
            node.attributes |= {"nrow": "2", "ncol": "2"}


def _all_kept(root: Element) -> Element:
    """Options: geoms for the eye are kept, and no mass is too small."""
    words = {"discardvisual": "false", "boundmass": "1e-3", "boundinertia": "1e-6", "balanceinertia": "true"}
    return Element("compiler", words, root.line, [], root.file)
