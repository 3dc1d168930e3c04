"""Shapes of a model file as triangles on the bodies of a robot."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ModelError
from condyle.model.array import Array
from condyle.model.parts import Frame
from condyle.readers.visuals import MeshFile, Solid, Triangles, Visual

# Triangles of mesh files, STL and OBJ: one pass over the lines, so the time is in proportion to the size.
#
# STL: 80 bytes, the number of triangles as a little-endian uint32, 50 bytes for each; or text, whose lines `vertex x y
# z` are the corners in turn. OBJ: `v x y z` is a vertex, `f a b c ...` a polygon of vertices, which are counted from 1
# or, if negative, back from the last one; what follows a slash, texture and normal, is not read. All other lines are
# left out, so that no file of materials is opened.


LONGEST_LINE = 1 << 20
MOST_TRIANGLES = 1 << 22
"""Twice as many as 64 MiB usually hold; a polygon of two bytes a corner would be twelve times as large in memory."""
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84


def read_mesh(kind: str, name: str, data: bytes) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) and faces (m, 3) of their indices. ModelError, with the line of what cannot be read."""
    try:
        vertices, faces = _obj(data) if kind == "obj" else _stl(data)
    except ValueError as error:
        raise ModelError(f"mesh {name!r} cannot be read: {error}") from None
    if not faces.size or not np.isfinite(vertices).all():
        raise ModelError(f"mesh {name!r} holds no triangles, or numbers that are not finite")
    return vertices, faces


def _stl(data: bytes) -> tuple[Array, NDArray[np.int64]]:
    if len(data) >= HEADER and len(data) == HEADER + TRIANGLE.itemsize * int.from_bytes(data[80:HEADER], "little"):
        corners = np.reshape(np.frombuffer(data, TRIANGLE, offset=HEADER)["corners"], (-1, 3)).astype(np.float64)
    else:
        numbers = array("d")
        for line, words in _lines(data):
            if words[0].lower() == b"vertex":
                numbers.extend(_vertex(line, words))
        corners = np.reshape(np.array(numbers, np.float64), (-1, 3))
    if len(corners) % 3:
        raise ValueError(f"{len(corners)} corners are no triangles")
    return corners, np.reshape(np.arange(len(corners), dtype=np.int64), (-1, 3))


def _obj(data: bytes) -> tuple[Array, NDArray[np.int64]]:
    numbers, indices = array("d"), array("q")
    for line, words in _lines(data):
        if words[0] == b"v":
            numbers.extend(_vertex(line, words))
        elif words[0] == b"f":
            first, *rest = _polygon(line, words, len(numbers) // 3)
            for second, third in pairwise(rest):
                indices.extend((first, second, third))
            if len(indices) > 3 * MOST_TRIANGLES:
                raise ValueError(f"there are more than {MOST_TRIANGLES} triangles")
    vertices = np.reshape(np.array(numbers, np.float64), (-1, 3))
    faces = np.reshape(np.array(indices, np.int64), (-1, 3))
    if faces.size and not faces.max() < len(vertices):
        raise ValueError(f"a face has the vertex {faces.max() + 1}, and there are {len(vertices)}")
    return vertices, faces


def _lines(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The lines that are not empty, in words, with their numbers; a backslash continues one on the next."""
    words: list[bytes] = []
    length = line = 0
    for line, text in enumerate(BytesIO(data), start=1):
        length += len(text)
        if length > LONGEST_LINE:
            raise ValueError(f"line {line} is longer than {LONGEST_LINE} bytes")
        words += text.split()
        if words and words[-1].endswith(b"\\"):
            words += words.pop()[:-1].split()
            continue
        if words:
            yield line, words
        words, length = [], 0
    if words:
        yield line, words


def _vertex(line: int, words: list[bytes]) -> tuple[float, float, float]:
    """What follows x, y, z is a weight or a colour."""
    try:
        x, y, z = map(float, words[1:4])
    except ValueError:
        raise ValueError(f"line {line} is no vertex of three numbers") from None
    return x, y, z


def _polygon(line: int, words: list[bytes], vertices: int) -> list[int]:
    """Indices from 0; vertices: how many stand above."""
    try:
        corners = [int(word.partition(b"/")[0]) for word in words[1:]]
    except ValueError:
        corners = []
    if not corners or min(corners) < -vertices or 0 in corners or max(corners).bit_length() > 63:
        raise ValueError(f"line {line} is no face of vertices")
    return [corner - 1 if corner > 0 else vertices + corner for corner in corners]


# Balls, boxes, cylinders, capsules and ellipsoids as triangles.


AROUND, RINGS = 24, 9
"""Corners of a circle, and circles from the equator of a ball to its pole, both counted."""


def triangles_of(solid: Solid) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) [m] and faces (m, 3), outwards by the right hand."""
    if solid.kind == "box":
        return _turned(np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]), solid.size)
    angles = np.arange(AROUND) * (2.0 * np.pi / AROUND)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if solid.kind == "cylinder":
        return _turned(circle, solid.size)
    steep = np.linspace(0.0, 0.5 * np.pi, RINGS)
    return _ball(circle, np.cos(steep), np.sin(steep), solid)


def _turned(outline: Array, size: Array) -> tuple[Array, NDArray[np.int64]]:
    """A prism over an outline in the plane."""
    n = len(outline)
    walls = [np.column_stack([outline, np.full(n, z)]) for z in (-1.0, 1.0)]
    return np.concatenate([*walls, [(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]]) * size, _strips(n, 2)


def _ball(circle: Array, wide: Array, high: Array, solid: Solid) -> tuple[Array, NDArray[np.int64]]:
    """A ball, an ellipsoid, or a capsule, whose halves are apart."""
    capsule = solid.kind == "capsule"
    radii = np.array((solid.size[0], solid.size[0], solid.size[0])) if capsule else solid.size
    shift = np.array((0.0, 0.0, solid.size[2] if capsule else 0.0))
    both = list(zip(wide.tolist(), high.tolist(), strict=True))[:-1]  # without the pole
    south = [np.column_stack([w * circle, np.full(AROUND, -h)]) * radii - shift for w, h in reversed(both)]
    north = [np.column_stack([w * circle, np.full(AROUND, h)]) * radii + shift for w, h in both]
    rings = [*south, *north] if capsule else [*south, *north[1:]]
    poles = np.array([(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]) * radii + np.stack([-shift, shift])
    return np.concatenate([*rings, poles]), _strips(AROUND, len(rings))


def _strips(n: int, rings: int) -> NDArray[np.int64]:
    """Faces between rings of n corners, from below; the last two corners close both ends."""
    faces: list[tuple[int, int, int]] = []
    low, high, top = n * rings, n * rings + 1, n * (rings - 1)
    for k in range(n):
        j = (k + 1) % n
        for ring in range(rings - 1):
            a, b = n * ring, n * (ring + 1)
            faces += [(a + k, a + j, b + j), (a + k, b + j, b + k)]
        faces += [(low, j, k), (high, top + k, top + j)]
    return np.array(faces, np.int64)


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
