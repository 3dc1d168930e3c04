"""Shapes of a model file as triangles on the bodies of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ModelError
from condyle.model.array import Array
from condyle.model.parts import Frame
from condyle.readers.shapes import MeshFile, Solid, Triangles, Visual
from condyle.view.mesh_files import read_mesh
from condyle.view.solids import triangles_of

WORLD = "world"


@dataclass(frozen=True, slots=True, eq=False)
class Shell:
    """Triangles on a body: vertices (n, 3) [m] in its frame, faces (m, 3) of their indices."""

    body: int
    vertices: Array
    faces: NDArray[np.int64]


def shells(visuals: Sequence[Visual], frames: Mapping[str, Frame]) -> tuple[Shell, ...]:
    """The shapes on the bodies that carry their links.

    ModelError for a link that the robot lacks and for a mesh that cannot be read.
    """
    found: list[Shell] = []
    for visual in visuals:
        if visual.link not in frames:
            if visual.link == WORLD:
                continue  # a robot that was loaded with a floating base has none
            raise ModelError(f"meshes: the robot has no link {visual.link!r}: name the file that it was loaded from")
        vertices, faces = _shape(visual.shape)
        frame = frames[visual.link]
        place = frame.placement.compose(visual.placement)
        found.append(Shell(frame.body, vertices @ np.transpose(place.rotation) + place.translation, faces))
    return tuple(found)


def _shape(shape: MeshFile | Solid | Triangles) -> tuple[Array, NDArray[np.int64]]:
    if isinstance(shape, Solid):
        return triangles_of(shape)
    if isinstance(shape, Triangles):
        return shape.vertices, shape.faces
    vertices, faces = read_mesh(shape.kind, shape.name, shape.data)
    return vertices * shape.scale, faces
