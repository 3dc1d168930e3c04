"""The geoms and meshes of a compiled model, out of the bytes that MuJoCo saves; every index is checked."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from condyle.model.array import Array, moderate
from condyle.model.placement import Placement, matrix_of
from condyle.model.unnamed import names_of
from condyle.readers.mjcf_compiled import Bytes, DamagedError, Ints
from condyle.readers.mjcf_schema import Schema
from condyle.readers.shapes import Solid, Triangles, Visual

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
