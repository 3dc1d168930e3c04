"""The shapes that a model file shows: files of meshes are opened only if a user asks, in folders that are allowed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from condyle.errors import Finding, ModelError, ModelWarning, UnsupportedError, listed
from condyle.model.array import frozen
from condyle.readers import xml
from condyle.readers.folders import Folders
from condyle.readers.mjcf_compile import Limits
from condyle.readers.mjcf_tree import ENCODINGS, MAX_DEPTH
from condyle.readers.mjcf_visuals import mjcf_visuals
from condyle.readers.report import Report
from condyle.readers.shapes import MeshFile, Solid, Visual
from condyle.readers.urdf import origin_of
from condyle.readers.xml import Element
from condyle.specification.choices import BUNDLED

MESH_KINDS = ("stl", "obj")
MOST_BYTES, MOST_IN_ALL = 64 << 20, 512 << 20
PACKAGE = "package://"


def read_visuals(source: str | os.PathLike[str], assets: Sequence[str | os.PathLike[str]] = ()) -> list[Visual]:
    """The shapes of the <visual> elements of a URDF file, or of the geoms of an MJCF file.

    Meshes lie in the file's folder or in those of assets; package://NAME/... of a URDF file is looked for in the first
    folder above one of these whose name is NAME, and below each of them. A mesh that is not there, lies outside, is
    too large or of another format is left out: a ModelWarning names each with file and line, a ModelError does where
    nothing is left to draw. UnsupportedError for a file of another kind.
    """
    if not isinstance(source, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"meshes={source!r}, expected the path of the robot's model file")
    if isinstance(assets, (str, os.PathLike)):
        raise ModelError(f"assets={assets!r}, expected several folders, such as assets=({str(assets)!r},)")
    if source in BUNDLED:
        raise UnsupportedError(f"meshes: the bundled {source} has none; name a model file of your own")
    path = Path(source)
    root = xml.parse(xml.read_bytes(path), str(path), depth=MAX_DEPTH, encodings=ENCODINGS)
    folders = Folders(path.parent, assets)
    if root.tag == "robot":
        found, left_out = _Urdf(path, folders).read(root)
    elif root.tag == "mujoco":
        found, left_out = mjcf_visuals(root, path, folders, Limits(), (MOST_BYTES, MOST_IN_ALL))
    else:
        raise UnsupportedError(f"meshes: {path} is no URDF or MJCF file; only meshes of these are drawn")
    if left_out and not found:
        raise ModelError(left_out)
    if left_out:
        notes = [replace(f, severity="note", message=f"{f.message}: it is not drawn") for f in left_out]
        warnings.warn(ModelWarning(listed(notes), notes), stacklevel=4)
    return found


class _Urdf:
    """The shapes of one URDF file."""

    def __init__(self, path: Path, folders: Folders) -> None:
        self.path, self.folders, self.report = path, folders, Report(str(path))
        self.left_out: list[Finding] = []
        self.bytes = 0

    def read(self, root: Element) -> tuple[list[Visual], list[Finding]]:
        """The shapes, and what was left out. ModelError for numbers that are none and for too much in all."""
        found: list[Visual] = []
        for link in root.all("link"):
            name = link.get("name") or ""
            for visual in link.all("visual"):
                for shape in [shape for geometry in visual.all("geometry") for shape in geometry.children]:
                    made = self.shape(shape, f"link {name!r}")
                    if made is not None:
                        found.append(Visual(name, origin_of(visual, f"link {name!r}", self.report), made))
        if errors := [finding for finding in self.report.findings if finding.severity == "error"]:
            raise ModelError(errors)
        return found, self.left_out

    def shape(self, node: Element, element: str) -> MeshFile | Solid | None:
        """None for what is left out."""
        if node.tag == "mesh":
            return self.mesh(node, element)
        if node.tag == "box":
            return Solid("box", 0.5 * self.report.vector(node, element, "size", (0.0, 0.0, 0.0)))
        if node.tag not in ("sphere", "cylinder", "capsule"):
            return None
        radius = self.report.number(node, element, "radius", None)
        half = radius if node.tag == "sphere" else 0.5 * self.report.number(node, element, "length", None)
        return Solid(node.tag, np.array((radius, radius, half)))

    def mesh(self, node: Element, element: str) -> MeshFile | None:
        scale = frozen(self.report.vector(node, element, "scale", (1.0, 1.0, 1.0)), 3)
        name = node.get("filename") or ""
        try:
            kind, data = _opened(name, self.folders, (str(self.path), node.line))
        except ModelError as error:
            self.left_out += error.findings
            return None
        self.bytes += len(data)
        if self.bytes > MOST_IN_ALL:
            raise ModelError(f"meshes: {self.path} names more than {MOST_IN_ALL >> 20} MiB of them")
        return MeshFile(kind, name, data, scale)


def _opened(name: str, folders: Folders, where: tuple[str, int]) -> tuple[str, bytes]:
    """The kind and the bytes of a mesh. ModelError."""
    kind = name.rpartition(".")[2].lower()
    what = f"mesh {name!r}"
    if kind not in MESH_KINDS:
        cure = "convert it, or look at the robot without meshes"
        raise ModelError([Finding("error", f"{what} is neither STL nor OBJ", *where, cure=cure)])
    _, data = folders.read(_places(name, folders), MOST_BYTES, what, where)
    return kind, data


def _places(name: str, folders: Folders) -> list[Path]:
    """Where a file of this name may be; whether it may be opened there is checked by `Folders`."""
    if not name.startswith(PACKAGE):
        return [root / name.removeprefix("file://") for root in folders.roots]
    package, _, rest = name.removeprefix(PACKAGE).partition("/")
    above = [up for root in folders.roots for up in (root, *root.parents) if up.name == package]
    return [*(up / rest for up in above), *(root / package / rest for root in folders.roots)]
