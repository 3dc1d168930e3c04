"""Shapes of a model file as triangles: files of meshes by trimesh, which comes with viser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ModelError, UnsupportedError
from condyle.model.array import Array
from condyle.model.parts import Frame
from condyle.readers.shapes import MeshFile, Solid, Triangles, Visual
from condyle.view.solids import triangles_of

WORLD = "world"


@dataclass(frozen=True, slots=True, eq=False)
class Shell:
    """Triangles on a body: vertices (n, 3) [m] in its frame, faces (m, 3) of their indices."""

    body: int
    vertices: Array
    faces: NDArray[np.int64]


def shells(visuals: Sequence[Visual], frames: Mapping[str, Frame], missing: str) -> tuple[Shell, ...]:
    """The shapes on the bodies that carry their links; missing: what to say without trimesh.

    ModelError for a link that the robot lacks and for a mesh that cannot be read. UnsupportedError.
    """
    found: list[Shell] = []
    for visual in visuals:
        if visual.link not in frames:
            if visual.link == WORLD:
                continue  # a robot that was loaded with a floating base has none
            raise ModelError(f"meshes: the robot has no link {visual.link!r}: name the file that it was loaded from")
        vertices, faces = _shape(visual.shape, missing)
        frame = frames[visual.link]
        place = frame.placement.compose(visual.placement)
        found.append(Shell(frame.body, vertices @ np.transpose(place.rotation) + place.translation, faces))
    return tuple(found)


def _shape(shape: MeshFile | Solid | Triangles, missing: str) -> tuple[Array, NDArray[np.int64]]:
    if isinstance(shape, Solid):
        return triangles_of(shape)
    if isinstance(shape, Triangles):
        return shape.vertices, shape.faces
    try:
        trimesh: Any = import_module("trimesh")
    except ImportError as error:
        raise UnsupportedError(missing) from error
    vertices, faces = _triangles(trimesh, shape)
    return vertices * shape.scale, faces


def _triangles(trimesh: Any, shape: MeshFile) -> tuple[Array, NDArray[np.int64]]:
    """Vertices and faces; no file that the mesh names, such as materials, is opened."""
    options = {"skip_materials": True} if shape.kind == "obj" else {}
    try:
        mesh = trimesh.load(BytesIO(shape.data), file_type=shape.kind, force="mesh", process=False, **options)
        vertices, faces = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
    except Exception as error:  # whatever a damaged file makes of a reader
        raise ModelError(f"mesh {shape.name!r} cannot be read: {type(error).__name__}") from None
    sound = vertices.ndim == faces.ndim == 2 and faces.size and np.isfinite(vertices).all()
    if not sound or faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError(f"mesh {shape.name!r} holds no triangles, or numbers that are not finite")
    return vertices, faces
