"""Shapes of model files: those that collide, and those that are shown, whose files are opened only if a user asks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from condyle.errors import Finding, ModelError, ModelWarning, UnsupportedError, listed
from condyle.model.array import Array, frozen, moderate
from condyle.model.description import Description
from condyle.model.parts import FileNotes
from condyle.model.placement import Placement, matrix_of
from condyle.model.shapes import SHAPE_KINDS, Shape
from condyle.model.state import names_of
from condyle.readers import xml
from condyle.readers.folders import Folders
from condyle.readers.mjcf_compiler import Limits, compile_tree, library
from condyle.readers.mjcf_model import Bytes, Compiled, DamagedError, Ints, asset_name, take_files
from condyle.readers.mjcf_tree import (
    ENCODINGS,
    MAX_DEPTH,
    Schema,
    check_tree,
    prune_sections,
    read_tree,
    schema_of,
    take_unmodelled,
)
from condyle.readers.urdf import origin_of
from condyle.readers.xml import Element, Report
from condyle.specification.integrators import BUNDLED
from condyle.text import printable

# Shapes that a model file shows, as data.


SOLIDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


@dataclass(frozen=True, slots=True, eq=False)
class MeshFile:
    """A mesh as its file has it. kind: "stl" or "obj". name: of the file. data: its bytes. scale (3,)."""

    kind: str
    name: str
    data: bytes
    scale: Array


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """One of `SOLIDS`. size (3,) [m]: half-lengths along x, y, z; of a capsule without its half-balls."""

    kind: str
    size: Array


@dataclass(frozen=True, slots=True, eq=False)
class Triangles:
    """vertices (n, 3) [m], faces (m, 3) of their indices."""

    vertices: Array
    faces: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Visual:
    """One shape, its link, and where it stands in the link's frame."""

    link: str
    placement: Placement
    shape: MeshFile | Solid | Triangles


# The geoms and meshes of a compiled model, out of the bytes that MuJoCo saves; every index is checked.


SHOWN = 3
"""Geoms of this group and above are hidden in MuJoCo's own viewer, unless one asks for them."""
MESH = 7
SHAPES = {2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}
"""Of mjtGeom; planes, height fields and signed distances are not drawn."""


def visuals_of(data: bytes, schema: Schema, missing: Container[str]) -> tuple[list[Visual], list[str]]:
    """The shapes on bodies, and the names in `missing` of meshes that a shown geom has. DamagedError."""
    reader = Bytes(data, schema)
    bodies, meshes = names_of(reader.names("body", "nbody"), "body"), reader.names("mesh", "nmesh")
    numbers = [reader.integers(f"geom_{word}") for word in ("type", "group", "bodyid", "dataid")]
    kinds, groups, owners, ids = ([int(x) for x in of] for of in numbers)
    sizes, positions, turns = (reader.floats(f"geom_{word}") for word in ("size", "pos", "quat"))
    shells = _Shells(reader)
    found: list[Visual] = []
    unseen: dict[str, None] = {}
    for k, kind in enumerate(kinds):
        if groups[k] >= SHOWN or (kind != MESH and kind not in SHAPES):
            continue
        if not 0 <= owners[k] < len(bodies) or (kind == MESH and not 0 <= ids[k] < len(meshes)):
            raise DamagedError("geoms")
        if kind == MESH and meshes[ids[k]] in missing:
            unseen[meshes[ids[k]]] = None
            continue
        shape = shells.triangles(ids[k]) if kind == MESH else _solid(SHAPES[kind], sizes[k])
        if not (moderate(positions[k]) and moderate(turns[k]) and turns[k].any()):
            raise DamagedError("geoms")
        place = Placement(matrix_of(np.roll(turns[k], -1)), positions[k])
        found.append(Visual(bodies[owners[k]], place, shape))
    return found, list(unseen)


def _solid(kind: str, size: Array) -> Solid:
    """MuJoCo's sizes as half-lengths along x, y and z."""
    if not moderate(size):
        raise DamagedError("geom_size")
    radius, half = float(size[0]), float(size[1])
    if kind == "sphere":
        return Solid(kind, np.full(3, radius))
    return Solid(kind, np.array((radius, radius, half)) if kind in ("capsule", "cylinder") else size)


class _Shells:
    """The triangles of each mesh, cut out of arrays of all."""

    def __init__(self, reader: Bytes) -> None:
        self.vertices, self.faces = reader.floats("mesh_vert"), reader.integers("mesh_face")
        of = {word: reader.integers(f"mesh_{word}") for word in ("vertadr", "vertnum", "faceadr", "facenum")}
        self.where: dict[str, Ints] = of

    def triangles(self, mesh: int) -> Triangles:
        first, count = int(self.where["vertadr"][mesh]), int(self.where["vertnum"][mesh])
        start, number = int(self.where["faceadr"][mesh]), int(self.where["facenum"][mesh])
        fine = 0 <= first <= first + count <= len(self.vertices) and 0 <= start <= start + number <= len(self.faces)
        vertices, faces = self.vertices[first : first + count], self.faces[start : start + number]
        fine = fine and len(faces) > 0 and int(faces.min()) >= 0 and int(faces.max()) < count
        if not fine or not moderate(vertices):
            raise DamagedError("meshes")
        return Triangles(vertices, faces)


# The geoms that an MJCF file shows, placed by MuJoCo's own compiler in a child process.


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


# Collision shapes of model files: spheres, capsules, boxes and cylinders; what else there is, is named and left out.
#
# A shape changes no motion by itself. So one that cannot be is left out as a mesh is, and never an error.


MJCF_KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
"""Of mjtGeom."""


class Shapes:
    """Shapes that were read, and in words what is left out."""

    def __init__(self) -> None:
        self.shapes, self.left_out = list[Shape](), list[str]()

    def add(self, kind: str, size: Sequence[float], frame: str, place: Placement, name: str, where: str) -> None:
        try:
            self.shapes.append(Shape(kind, tuple(size), frame, place, name))
        except UnsupportedError:
            self.leave(f"{where}: its sizes are {tuple(size)}")

    def leave(self, what: str) -> None:
        self.left_out.append(printable(what))

    def put_into(self, draft: Description) -> Description:
        notes = (draft.file_notes or FileNotes())._replace(shapes=tuple(self.left_out))
        return replace(draft, shapes=tuple(self.shapes), file_notes=notes)


def urdf_shapes(root: Element, file: str) -> Shapes:
    """The <collision> shapes of a <robot> element."""
    shapes = Shapes()
    for link in root.all("link"):
        name = link.get("name") or ""
        for collision in link.all("collision"):
            for solid in (solid for geometry in collision.all("geometry") for solid in geometry.children):
                report, where = Report(file), f"{solid.tag[:40]} of {name!r} (line {solid.line})"
                place, size = origin_of(collision, name, report), _size(solid, name, report)
                if wrong := [finding.message for finding in report.findings if finding.severity == "error"]:
                    shapes.leave(f"{where}: {'; '.join(wrong)}")
                elif size is None:
                    shapes.leave(where)
                else:
                    shapes.add(solid.tag, size, name, place, collision.get("name") or "", where)
    return shapes


def _size(node: Element, link: str, report: Report) -> list[float] | None:
    """None of what is no shape; what is wrong with it goes to the report."""
    if node.tag == "box":
        return (0.5 * report.vector(node, link, "size", (0.0, 0.0, 0.0))).tolist()
    if node.tag not in SHAPE_KINDS:
        return None
    halves = [] if node.tag == "sphere" else [0.5 * report.number(node, link, "length", None)]
    return [report.number(node, link, "radius", None), *halves]


def mjcf_shapes(model: Compiled, bodies: Sequence[str], others: Iterable[Element], snap: float) -> Shapes:
    """The geoms of bodies that collide and are such shapes. others: geoms that collide and are none."""
    shapes = Shapes()
    for node in others:
        shapes.leave(f"geom {node.get('name') or ''!r} (line {node.line})")
    collide: list[int] = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0)).tolist()
    for k in collide:
        kind, body = MJCF_KINDS.get(int(model.geom_type[k])), bodies[int(model.geom_bodyid[k])]
        if kind is not None and body != bodies[0]:
            place = Placement(matrix_of(np.roll(model.geom_quat[k], -1)), model.geom_pos[k]).snapped(snap)
            size: list[float] = model.geom_size[k, : SHAPE_KINDS[kind]].tolist()
            shapes.add(kind, size, body, place, model.names["geom"][k], f"{kind} of {body!r}")
    return shapes
