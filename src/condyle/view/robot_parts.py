"""What is drawn of a robot, fixed on its bodies: ellipsoids, links, joint axes, their ranges, frames. Numbers only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from condyle.errors import ModelError
from condyle.model.array import Array, transpose
from condyle.model.named import suggest
from condyle.model.parts import Body, Joint, RobotData
from condyle.model.placement import Placement

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
