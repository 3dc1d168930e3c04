"""The meshes that a URDF file shows: opened only when a user asks for them, and only in folders that are allowed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from condyle.choices import BUNDLED
from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.array import Array, frozen
from condyle.model.placement import Placement
from condyle.readers import xml
from condyle.readers.folders import Folders
from condyle.readers.report import Report
from condyle.readers.urdf import origin_of

KINDS = ("stl", "obj")
MOST_BYTES, MOST_IN_ALL = 64 << 20, 512 << 20
PACKAGE = "package://"


@dataclass(frozen=True, slots=True, eq=False)
class Visual:
    """One mesh: its link, where it stands in the link's frame, scale (3,), "stl" or "obj", and the file's bytes."""

    link: str
    placement: Placement
    scale: Array
    kind: str
    name: str
    data: bytes


def read_visuals(source: str | os.PathLike[str], assets: Sequence[str | os.PathLike[str]] = ()) -> list[Visual]:
    """The STL and OBJ meshes of the <visual> elements of a URDF file; other shapes are left out.

    Meshes lie in the file's folder or in those of assets; package://NAME/... is looked for in the first folder above
    one of these whose name is NAME, and below each of them. ModelError with file and line for a mesh that is not
    there, lies outside, is too large or of another format; UnsupportedError for what is no URDF file.
    """
    if isinstance(assets, (str, os.PathLike)):
        raise ModelError(f"assets={assets!r}, expected several folders, such as assets=({str(assets)!r},)")
    if source in BUNDLED:
        raise UnsupportedError(f"meshes: the bundled {source} has none; name a URDF file of your own")
    path = Path(source)
    root = xml.parse(xml.read_bytes(path), str(path))
    if root.tag != "robot":
        raise UnsupportedError(f"meshes: {path} is no URDF file; only meshes of these are drawn")
    folders, report = Folders(path.parent, assets), Report(str(path))
    found: list[Visual] = []
    for link in root.all("link"):
        element = f"link {link.get('name')!r}"
        for visual in link.all("visual"):
            meshes = [mesh for shape in visual.all("geometry") for mesh in shape.all("mesh")]
            for mesh in meshes:
                place = origin_of(visual, element, report)
                scale = frozen(report.vector(mesh, element, "scale", (1.0, 1.0, 1.0)), 3)
                name = mesh.get("filename") or ""
                kind, data = _opened(name, folders, (str(path), mesh.line))
                found.append(Visual(link.get("name") or "", place, scale, kind, name, data))
                if sum(len(one.data) for one in found) > MOST_IN_ALL:
                    raise ModelError(f"meshes: {path} names more than {MOST_IN_ALL >> 20} MiB of them")
    if errors := [finding for finding in report.findings if finding.severity == "error"]:
        raise ModelError(errors)
    return found


def _opened(name: str, folders: Folders, at: tuple[str, int]) -> tuple[str, bytes]:
    """The kind and the bytes of a mesh. ModelError."""
    kind = name.rpartition(".")[2].lower()
    what = f"mesh {name!r}"
    if kind not in KINDS:
        cure = "convert it, or look at the robot without meshes"
        raise ModelError([Finding("error", f"{what} is neither STL nor OBJ", *at, cure=cure)])
    _, data = folders.read(_places(name, folders), MOST_BYTES, what, at)
    return kind, data


def _places(name: str, folders: Folders) -> list[Path]:
    """Where a file of this name may be; whether it may be opened there is checked by `Folders`."""
    if not name.startswith(PACKAGE):
        return [root / name.removeprefix("file://") for root in folders.roots]
    package, _, rest = name.removeprefix(PACKAGE).partition("/")
    above = [up for root in folders.roots for up in (root, *root.parents) if up.name == package]
    return [*(up / rest for up in above), *(root / package / rest for root in folders.roots)]
