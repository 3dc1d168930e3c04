"""What a robot touches, as it is drawn: the ground, a grid with axes in metres, and contacts, closures and feet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import UnsupportedError
from condyle.model.array import LARGEST, Array, moderate, reals, transpose
from condyle.model.contact import Contact, checked_contacts
from condyle.model.named import suggest
from condyle.model.parts import RobotData
from condyle.model.placement import Placement
from condyle.symbolic import Symbols
from condyle.view.picture import Camera, Sheet
from condyle.view.robot_parts import WORLD, Mark, Point

FLAT = 0.25
"""An axis that is seen shorter than this share of its length carries no numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """low, high (3,) [m]: the box of what is drawn, to whole steps in x and y; step [m]: of the grid, its numbers."""

    low: Array
    high: Array
    step: float

    @classmethod
    def under(cls, points: Array, floor: float) -> Ground:
        """The ground under points (n, 3)."""
        low, high = points.min(axis=0), points.max(axis=0)
        step = nice(float(np.max(high - low)) / 6.0)
        edges = np.floor(low / step) * step, np.ceil(high / step) * step
        low, high = np.array((*edges[0][:2], floor)), np.array((*edges[1][:2], max(float(high[2]), floor + step)))
        high[:2] = np.maximum(high[:2], low[:2] + step)
        return cls(low, high, step)

    @property
    def corners(self) -> Array:
        """Of the grid, (4, 3)."""
        return np.array([(x, y, self.low[2]) for x in (self.low[0], self.high[0]) for y in (self.low[1], self.high[1])])

    def upright(self, camera: Camera) -> Array:
        """The ends (2, 3) of the line that carries the heights: it stands on the corner at the left."""
        foot = min(self.corners, key=lambda point: float(camera.flat(point)[0]))
        return np.array((foot, (*foot[:2], self.high[2])))

    def ticks(self, axis: int) -> list[float]:
        """The multiples of the step along an axis."""
        first = math.ceil(float(self.low[axis]) / self.step - 1e-9)
        last = math.floor(float(self.high[axis]) / self.step + 1e-9)
        return [k * self.step for k in range(first, last + 1)]


def nice(length: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is no shorter."""
    power = 10.0 ** math.floor(math.log10(max(length, 1e-6)))
    return next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= length * (1.0 - 1e-9))


def draw_ground(sheet: Sheet, ground: Ground) -> None:
    """The grid, numbers along the edges that are nearest to the eye, and the height at the left."""
    low, high = ground.low, ground.high
    for axis in (0, 1):
        for value in ground.ticks(axis):
            ends = np.stack([low, low])
            ends[1, 1 - axis] = high[1 - axis]
            ends[:, axis] = value
            sheet.line(list(ends), "grid")
    near = np.where(sheet.camera.towards[:2] >= 0.0, high[:2], low[:2])
    for axis in (0, 1):
        edge = np.array((*near, low[2]))
        _numbers(sheet, ground, axis, edge, "xy"[axis])
    if _seen(sheet, 2):
        upright = ground.upright(sheet.camera)
        sheet.line(list(upright), "grid")
        _numbers(sheet, ground, 2, upright[0], "z")


def _seen(sheet: Sheet, axis: int) -> bool:
    return float(np.linalg.norm(sheet.camera.flat(np.eye(3)[axis]))) >= FLAT


def _numbers(sheet: Sheet, ground: Ground, axis: int, edge: Array, letter: str) -> None:
    """Numbers along one edge, and its letter at the middle, outside of the grid."""
    if not _seen(sheet, axis):
        return
    centre = sheet.pixel(0.5 * (ground.low + ground.high))

    def put(value: float, away: float, text: str, style: str) -> None:
        at = np.array(edge)
        at[axis] = value
        x, y = sheet.pixel(at)
        side = 0.0 if axis < 2 and abs(x - centre[0]) < 1.0 else math.copysign(1.0, x - centre[0])
        if axis == 2:
            sheet.words((x - away + 6.0, y + 3.0), text, style, "end")
        else:
            along = sheet.camera.flat(np.eye(3)[axis])
            steep = abs(float(along[1])) / max(float(np.linalg.norm(along)), 1e-9)
            down = 0.9 * away * math.sqrt(1.0 - steep**2) + 4.0 * steep**2
            sheet.words((x + side * away * steep, y + down), text, style, "middle")

    ticks = ground.ticks(axis)
    if axis == 2:
        x, y = sheet.pixel(np.array((*edge[:2], ground.high[2])))
        sheet.words((x, y - 8.0), f"{letter} [m]", "tick", "middle")
    else:
        middle = ticks[(len(ticks) - 1) // 2] + 0.5 * ground.step
        put(middle, 34.0, f"{letter} [m]", "tick")
    for value in ticks:
        put(value, 16.0, f"{value + 0.0:.6g}", "tick")


# The ground that a user gives, as it is drawn: a net of points, and the normal at a point.


NET = 9
"""Points of a plane's net along one side."""
FINEST = 33
"""Points of a net of heights along one side, at most."""
WALL = 0.5
"""A plane whose upward part of the normal is smaller is a wall."""
STEEP = 0.9
"""A plane whose normal has a larger part along x has its net along y and z."""


class HardPlane(Protocol):
    """What is read of a `condyle.ground.Plane`."""

    @property
    def normal(self) -> Any: ...
    @property
    def offset(self) -> Any: ...


class SmoothGround(Protocol):
    """What is read of a `condyle.ground.Ground`."""

    @property
    def feet(self) -> Sequence[Any]: ...
    @property
    def height(self) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """net (n, m, 3) [m]: points of the ground, in the world of one robot.

    grid, heights: the height field; None where it is a plane with this normal (3,), of length 1.
    """

    net: Array
    normal: Array
    grid: Any = None
    heights: Array | None = None

    @property
    def floor(self) -> float | None:
        """The lowest height of the net [m]; None of a wall."""
        return float(self.net[..., 2].min()) if self.normal[2] > WALL else None

    def normal_at(self, point: Array) -> Array:
        """The unit vector (3,) from the ground to the robot, at or below a point (3,)."""
        if self.grid is None:
            return self.normal
        _, by_x, by_y = self.grid.height(self.heights, float(point[0]), float(point[1]))
        outwards = np.array((-by_x, -by_y, 1.0), np.float64)
        return outwards / np.linalg.norm(outwards)


def surface_of(
    ground: HardPlane | SmoothGround, heights: ArrayLike | None, spread: Array, size: float
) -> tuple[Surface, tuple[Any, ...]]:
    """The ground under points `spread` (n, 3), and its feet. UnsupportedError, ShapeError."""
    if isinstance(ground, type):
        raise UnsupportedError(f"ground={ground.__name__}: give one of this class, such as {ground.__name__}(...)")
    if hasattr(ground, "feet"):
        grid, feet = getattr(ground, "height", None), tuple(getattr(ground, "feet", ()))
        if grid is None:
            _no_heights(heights)
            return _plane((0.0, 0.0, 1.0), 0.0, spread, size), feet
        return _field(grid, heights), feet
    if not (hasattr(ground, "normal") and hasattr(ground, "offset")):
        raise UnsupportedError(f"ground={ground!r}: give a Plane or a Ground of condyle.ground")
    normal, offset = (getattr(ground, word) for word in ("normal", "offset"))
    if isinstance(normal, Symbols) or isinstance(offset, Symbols):
        raise UnsupportedError("ground: its normal or its offset is a symbol; give a plane of numbers")
    if not moderate((*normal, offset)):
        raise UnsupportedError(f"ground={ground!r}: a number of it is not finite, or beyond {LARGEST:.0e}")
    _no_heights(heights)
    return _plane(normal, float(offset), spread, size), ()


def _no_heights(heights: ArrayLike | None) -> None:
    if heights is not None:
        raise UnsupportedError(
            "heights: this ground has no grid; leave them out, or give Ground(..., height=Grid(...))"
        )


def _plane(normal: Sequence[float], offset: float, spread: Array, size: float) -> Surface:
    """A square of the plane below or beside all points."""
    along = np.asarray(normal, np.float64)
    along = along / np.linalg.norm(along)
    low, high = spread.min(axis=0), spread.max(axis=0)
    first = np.array((1.0, 0.0, 0.0)) if abs(along[0]) < STEEP else np.array((0.0, 1.0, 0.0))
    first = first - along * (along @ first)
    first = first / np.linalg.norm(first)
    second = np.cross(along, first)
    half = nice(0.5 * float(np.linalg.norm((high - low)[:2])) + 0.2 * size)
    step = 2.0 * half / (NET - 1)
    # lines at round numbers, which stay where the robot moves a little
    middle = np.array([step * round(x / step) for x in (0.5 * (low + high)).tolist()], np.float64)
    centre = middle - along * (along @ middle - offset)
    steps = np.linspace(-half, half, NET)
    net: Array = centre + steps[:, None, None] * first + steps[None, :, None] * second
    return Surface(net, along)


def _field(grid: Any, heights: ArrayLike | None) -> Surface:
    """The whole height field, a point at each node and between them where there are few."""
    if heights is None:
        raise UnsupportedError(f"heights are missing; give an array {grid.shape} [m], the shape of the ground's grid")
    given = reals("heights", heights).astype(np.float64)
    if given.shape == tuple(grid.shape) and not moderate(given):
        raise UnsupportedError(f"heights: a number is not finite, or beyond {LARGEST:.0e}")
    sides = [np.linspace(float(of[0]), float(of[-1]), min(2 * len(of) - 1, FINEST)) for of in grid.nodes]
    net = [[(x, y, float(grid.height(given, x, y)[0])) for y in sides[1].tolist()] for x in sides[0].tolist()]
    return Surface(np.array(net), np.array((0.0, 0.0, 1.0)), grid, given)


# Contacts, loop closures and feet as they are drawn: two frames each, fixed on bodies, and how far they are apart.


CLOSED = 1e-6
"""A contact whose errors [m, rad] are no larger counts as closed."""
FOOT = "foot"
"""The kind of a mark that shows a foot of a smooth ground."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactMark:
    """One contact, closure or foot.

    frame: the frame of the contact, on its body. anchor: the frame where it is held; None where the contact names none.
    turns: the entries of the rotation that are held as well, of 0, 1, 2. has_normal: whether it is with the ground.
    """

    name: str
    kind: str
    frame: Mark
    anchor: Mark | None
    turns: tuple[int, ...]
    has_normal: bool


def contact_marks(robot: RobotData, contacts: Sequence[Contact], feet: Sequence[object] = ()) -> list[ContactMark]:
    """The marks of contacts, then of feet (`condyle.ground.Foot`). UnsupportedError for one that cannot be."""
    found: list[ContactMark] = []
    taken = set[str]()
    for one in checked_contacts(robot, contacts):
        name = _fresh(one.title, taken)
        own = _mark(robot, name, one.frame, one.placed)
        anchor = None
        if one.other is not None:
            anchor = _mark(robot, name, one.other, one.anchored)
        elif one.anchor is not None:
            anchor = Mark(name, Point(WORLD, one.anchor.translation), one.anchor.rotation)
        turns = tuple(row - 3 for row in one.rows if row >= 3)
        found.append(ContactMark(name, one.kind, own, anchor, turns, not one.is_loop))
    for foot in feet:
        frame, point = str(getattr(foot, "frame", foot)), getattr(foot, "point", (0.0, 0.0, 0.0))
        if frame not in robot.frames:
            known = suggest(frame, tuple(robot.frames))
            raise UnsupportedError(f"ground: foot {frame!r}: there is no such frame{known}")
        name = _fresh(f"foot {frame!r}", taken)
        own = _mark(robot, name, frame, Placement.from_rpy(point))
        found.append(ContactMark(name, FOOT, own, None, (), True))
    return found


def _fresh(name: str, taken: set[str]) -> str:
    """The name, or the first of `name (2)`, `name (3)` that is not taken."""
    tried, count = name, 1
    while tried in taken:
        count += 1
        tried = f"{name} ({count})"
    taken.add(tried)
    return tried


def _mark(robot: RobotData, name: str, frame: str, inner: Placement) -> Mark:
    body, placement = robot.frames[frame]
    place = placement.compose(inner)
    return Mark(name, Point(body, place.translation), place.rotation)


def openings(mark: ContactMark, frame: tuple[Array, Array], anchor: tuple[Array, Array]) -> tuple[float, float]:
    """How far a contact is from its anchor: [m], and [rad] of what is held of the rotation.

    frame, anchor: rotation (3, 3) and origin (3,) of each frame in the world. The numbers are the lengths of the two
    parts of `constraint_errors`.
    """
    (turn, at), (held_turn, held_at) = frame, anchor
    kept = rotation_vector(transpose(held_turn) @ turn)[list(mark.turns)]
    return float(np.linalg.norm(at - held_at)), float(np.linalg.norm(kept))


def rotation_vector(turn: Array) -> Array:
    """The logarithm (3,) [rad] of a rotation matrix (3, 3); of half a turn one of the two, which are opposite.

    `algorithms.contacts.logarithm`, which is compiled, is for angles below half a turn only.
    """
    twice = np.array((turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]))
    sine, cosine = 0.5 * float(np.linalg.norm(twice)), 0.5 * (float(np.trace(turn)) - 1.0)
    if sine < 1e-12:
        if cosine > 0.0:
            return np.zeros(3)
        column = (turn + np.eye(3))[:, int(turn.diagonal().argmax())]  # turn + 1 is 2 n n^T, n the axis
        return column * (math.pi / float(np.linalg.norm(column)))
    return twice * (math.atan2(sine, cosine) / (2.0 * sine))


def said(mark: ContactMark, opening: tuple[float, float]) -> str:
    """How far a contact is open, in words; "" where it is closed."""
    metres, radians = opening
    if max(metres, radians) <= CLOSED:
        return ""
    return f"{metres:.3g} m" + (f", {radians:.3g} rad" if mark.turns else "")
