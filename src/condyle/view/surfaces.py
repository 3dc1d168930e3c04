"""The ground that a user gives, as it is drawn: a net of points, and the normal at a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import UnsupportedError
from condyle.model.array import LARGEST, Array, moderate, reals
from condyle.symbolic import Symbols
from condyle.view.ground import nice

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
