"""What is drawn of a robot, fixed on its bodies: ellipsoids, links, axes, ranges, frames, shapes of a model file."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ModelError
from condyle.model.array import Array, transpose
from condyle.model.named import suggest
from condyle.model.parts import Body, Frame, Joint, RobotData
from condyle.model.placement import Placement
from condyle.readers.shapes import MeshFile, Solid, Triangles, Visual

# Triangles of mesh files, STL and OBJ: one pass over the lines, so the time is in proportion to the size.
#
# STL: 80 bytes, the number of triangles as a little-endian uint32, 50 bytes for each; or text, whose lines `vertex x y
# z` are the corners in turn. OBJ: `v x y z` is a vertex, `f a b c ...` a polygon of vertices, which are counted from 1
# or, if negative, back from the last one; what follows a slash, texture and normal, is not read. All other lines are
# left out, so that no file of materials is opened.


# Shapes of a model file as triangles on the bodies of a robot.


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


WORLD_BODY = "world"


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
            if visual.link == WORLD_BODY:
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


WORLD = -1
SHORT = 1e-3
"""Links shorter than this [m] are not drawn."""
CORNERS = 33
"""Points of an arc."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point (3,) [m] in the frame of a body; body -1 is the world."""

    body: int
    position: Array


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """The solid ellipsoid, uniform in density, that has a body's mass and inertia.

    centre: the body's com. axes (3, 3): columns are the principal axes, right-handed, in body axes. radii (3,) [m].
    """

    name: str
    centre: Point
    axes: Array
    radii: Array
    mass: float


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A straight line from joint to joint, named after the body that it shows."""

    name: str
    start: Point
    end: Point


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The axis of a joint: a unit vector (3,) in the frame of the body that `point` is on."""

    name: str
    type: str
    point: Point
    direction: Array


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Where a joint with limits can go: an arc about its axis, or a line along it, and a pointer at its q.

    centre: of the joint's frame, on the body before. axes (3, 3): columns are the pointer at q = 0, a third direction,
    and the joint's axis, on that body. pointer: the centre on the joint's own body, direction: of the pointer there.
    """

    name: str
    slides: bool
    lower: float
    upper: float
    centre: Point
    axes: Array
    pointer: Point
    direction: Array

    def outline(self, radius: float) -> list[Point]:
        """From end to end: a sector, at most one turn, or a line with its two ends across."""
        if self.slides:
            steps = [
                (k, q) for q, ways in ((self.lower, (-0.3, 0.3, 0.0)), (self.upper, (0.0, 0.3, -0.3))) for k in ways
            ]
            corners = np.array([(k * radius, 0.0, q) for k, q in steps])
        else:
            angles = np.linspace(self.lower, min(self.upper, self.lower + 2.0 * math.pi), CORNERS)
            corners = np.zeros((CORNERS + 2, 3))
            corners[1:-1, :2] = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return [Point(self.centre.body, self.centre.position + self.axes @ corner) for corner in corners]

    def pointing(self, radius: float) -> list[Point]:
        """The two ends of the pointer."""
        ends = (-0.5, 0.5) if self.slides else (0.0, 1.2)
        return [Point(self.pointer.body, self.pointer.position + k * radius * self.direction) for k in ends]


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A named frame: its origin, and its axes in the body (columns)."""

    name: str
    origin: Point
    axes: Array


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Everything that is drawn of one robot in any state."""

    ellipsoids: tuple[Ellipsoid, ...]
    links: tuple[Link, ...]
    axes: tuple[Axis, ...]
    ranges: tuple[Range, ...]
    marks: tuple[Mark, ...]


def parts_of(robot: RobotData, frames: Iterable[str] | None = None) -> Parts:
    """The parts of a robot; frames: names of `robot.frames`, None for all. ModelError for an unknown name."""
    if isinstance(frames, str) or not isinstance(frames, Iterable | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"frames={frames!r}, expected a list of names of frames, such as {list(robot.frames)[:1]}")
    named = tuple(robot.frames) if frames is None else tuple(frames)
    for name in named:
        if name not in robot.frames:
            raise ModelError(f"there is no frame {name!r}{suggest(name, tuple(robot.frames))}")
    marks = [
        Mark(name, Point(robot.frames[name][0], p.translation), p.rotation)
        for name in named
        for p in [_placement_of(robot, name)]
    ]
    bodies = [*enumerate(robot.bodies), *(() if robot.base is None else ((WORLD, robot.base),))]
    ellipsoids = [ellipsoid(body, index) for index, body in bodies]
    solid = tuple(e for e in ellipsoids if e is not None)
    return Parts(solid, tuple(_links(robot)), tuple(_axes(robot)), tuple(_ranges(robot)), tuple(marks))


def _placement_of(robot: RobotData, name: str) -> Placement:
    return robot.frames[name].placement


def ellipsoid(body: Body, index: int) -> Ellipsoid | None:
    """The equivalent ellipsoid; None for a body without mass.

    A solid ellipsoid of radii a, b, c has I_xx = m (b² + c²) / 5 and so on, so that a² = 5 (I_yy + I_zz - I_xx) / 2m.
    Where the moments break the triangle inequality no ellipsoid has them; the radius is 0 there.
    """
    if body.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(body.inertia)
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, range(3)] < 0.0, -1.0, 1.0)  # the same signs on every machine
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    squares = 2.5 / body.mass * (float(moments.sum()) - 2.0 * moments)
    return Ellipsoid(body.name, Point(index, body.com), axes, np.sqrt(np.maximum(squares, 0.0)), body.mass)


def moved_origin(joint: Joint, index: int) -> Point:
    """The origin of the moved joint frame, on the joint's own body."""
    return Point(index, -(transpose(joint.after.rotation) @ joint.after.translation))


def _links(robot: RobotData) -> list[Link]:
    """From each joint to the next and to closures; to the farthest frame or the com where neither follows.

    Along joints that slide, too.
    """
    found: list[Link] = []
    for index, joint in enumerate(robot.joints):
        name, start = robot.bodies[index].name, moved_origin(joint, index)
        ends = [other.placement.translation for other in robot.joints if other.parent == index]
        ends += _closures(robot, index)
        if not ends:
            ends = [_tip(robot, index, start.position)]
        found += [Link(name, start, Point(index, end)) for end in ends if np.linalg.norm(end - start.position) > SHORT]
        fixed_on = Point(joint.parent, joint.placement.translation)
        if not joint.kind.is_free and any(
            k not in joint.kind.angles for k in range(joint.kind.nq - 4 * joint.kind.has_quaternion)
        ):
            found.append(Link(name, fixed_on, start))
        if joint.parent == WORLD and not joint.kind.is_free and np.linalg.norm(fixed_on.position) > SHORT:
            found.append(Link("world", Point(WORLD, np.zeros(3)), fixed_on))
    return found


def _closures(robot: RobotData, index: int) -> list[Array]:
    """Where loop closures hold a body."""
    ends: list[Array] = []
    for one in robot.contacts:
        for name, place in ((one.frame, one.placed), (one.other, one.anchored)):
            frame = None if name is None else robot.frames[name]
            if frame is not None and frame.body == index:
                ends.append(frame.placement.apply(place.translation))
    return ends


def _tip(robot: RobotData, index: int, start: Array) -> Array:
    """Where a last link ends: at its farthest frame, or at its com where all its frames are at the joint."""
    ends = [frame.placement.translation for frame in robot.frames.values() if frame.body == index]
    farthest = max(ends, key=lambda end: float(np.linalg.norm(end - start)), default=start)
    return farthest if np.linalg.norm(farthest - start) > SHORT else robot.bodies[index].com


def _axes(robot: RobotData) -> list[Axis]:
    found: list[Axis] = []
    for index, joint in enumerate(robot.joints):
        if joint.kind.axes:
            at, turn = Point(joint.parent, joint.placement.translation), joint.placement.rotation
            found.append(Axis(joint.name, joint.type, at, turn @ joint.axis))
        if joint.second_axis is not None:  # fixed on the body, which turns about it last
            on_body = transpose(joint.after.rotation) @ joint.second_axis
            found.append(Axis(joint.name, joint.type, moved_origin(joint, index), on_body))
    return found


def _ranges(robot: RobotData) -> list[Range]:
    """Of joints that turn or slide between two limits; the pointer points to the next joint, or to the com."""
    found: list[Range] = []
    for index, joint in enumerate(robot.joints):
        if joint.type not in ("revolute", "prismatic"):
            continue
        lower, upper = float(joint.lower[0]), float(joint.upper[0])
        if not (math.isfinite(lower) and math.isfinite(upper)):
            continue
        following = (other.placement.translation for other in robot.joints if other.parent == index)
        end = joint.after.apply(next(following, robot.bodies[index].com))
        ways = (way - joint.axis * float(joint.axis @ way) for way in (end, np.eye(3)[np.abs(joint.axis).argmin()]))
        across = next(way / np.linalg.norm(way) for way in ways if np.linalg.norm(way) > SHORT)
        axes = np.stack([across, across, joint.axis], axis=1)
        axes[:, 1] = np.cross(joint.axis, across)
        centre, pointer = Point(joint.parent, joint.placement.translation), moved_origin(joint, index)
        direction = transpose(joint.after.rotation) @ across
        turned = joint.placement.rotation @ axes
        found.append(Range(joint.name, joint.type == "prismatic", lower, upper, centre, turned, pointer, direction))
    return found
