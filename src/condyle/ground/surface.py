"""Heights of the ground from a grid of numbers: a bicubic B-spline surface.

Kernels cannot take an entry by an index that differs from state to state, so every node of the grid has its weight in
every state, zero for most: weights of x and y apart, and products with the grid for each foot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condyle.errors import ShapeError, UnsupportedError
from condyle.ground.feet import is_number, numbers
from condyle.symbolic import Symbols
from condyle.symbolic.elementwise import numpy as np

MOST = 64
"""Nodes along one axis: above this the weights alone are longer than a robot's dynamics."""


@dataclass(frozen=True)
class Grid:
    """The nodes of a height field; the heights themselves are given with each state.

    shape: numbers of nodes along x and y, 2 to 64 each. spacing [m]: between neighbours along x and y, or one number
    for both. origin [m]: x and y of node (0, 0). Heights (nx, ny) [m] are the control values of a uniform bicubic
    B-spline: slopes and curvatures are continuous; a plane is exact from one node inside the border on; a bump of one
    node has 4/9 of its height. Outside the grid the ground continues at the heights of its border. Errors: ShapeError,
    UnsupportedError.
    """

    shape: tuple[int, int]
    spacing: float | tuple[float, float] = 1.0
    origin: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        shape, origin = numbers(self.shape, 2), numbers(self.origin, 2)
        if shape is None or not all(n == int(n) and 2 <= n <= MOST for n in shape):
            raise ShapeError(f"Grid: shape={self.shape!r}; give the nodes along x and y, 2 to {MOST} each: (8, 8)")
        spacing = numbers((self.spacing, self.spacing) if is_number(self.spacing) else self.spacing, 2)
        if spacing is None or min(spacing) <= 0.0:
            raise UnsupportedError(f"Grid: spacing={self.spacing!r}; give a positive number of metres, or two")
        if origin is None:
            raise UnsupportedError(f"Grid: origin={self.origin!r}; give x and y of node (0, 0) in metres")
        object.__setattr__(self, "shape", (int(shape[0]), int(shape[1])))
        object.__setattr__(self, "spacing", spacing)
        object.__setattr__(self, "origin", origin)

    @property
    def spacings(self) -> tuple[float, float]:
        """Along x and along y [m]."""
        assert isinstance(self.spacing, tuple)  # made so at the beginning
        return self.spacing

    @property
    def nodes(self) -> tuple[Any, Any]:
        """x (nx,) and y (ny,) of the nodes [m]."""
        x, y = (o + d * np.arange(n) for o, d, n in zip(self.origin, self.spacings, self.shape, strict=True))
        return x, y

    def height(self, heights: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return the height [m] at x, y [m] and its derivatives by x and y; heights (nx, ny) [m]. ShapeError."""
        heights = heights if isinstance(heights, Symbols) else np.asarray(heights, np.float64)
        if heights.shape != self.shape:
            raise ShapeError(f"heights have shape {heights.shape}, expected {self.shape}, that of the grid")
        dx, dy = self.spacings
        along, slope = weights((x - self.origin[0]) / dx, self.shape[0])
        across, tilt = weights((y - self.origin[1]) / dy, self.shape[1])
        rows = heights @ across
        return along @ rows, (slope @ rows) / dx, (along @ (heights @ tilt)) / dy


def weights(place: Any, n: int) -> tuple[Any, Any]:
    """The weight (n,) of each node at a place in units of their spacing, and its derivative by the place.

    The row of nodes goes on beyond both ends, at the heights of the ends; two such nodes suffice where places are
    clipped, and there all derivatives are zero already.
    """
    place = np.clip(place, -1.0, float(n))
    values, slopes = zip(*(_basis(place - float(k)) for k in range(-2, n + 2)), strict=True)
    return _folded(values), _folded(slopes)


def _folded(entries: tuple[Any, ...]) -> Any:
    """What belongs to nodes beyond the ends is the ends'."""
    return np.stack([entries[0] + entries[1] + entries[2], *entries[3:-3], entries[-3] + entries[-2] + entries[-1]])


def _basis(t: Any) -> tuple[Any, Any]:
    """The cubic B-spline of unit spacing around 0, ((2 - |t|)^3 - 4 (1 - |t|)^3) / 6, and its derivative.

    A bracket counts where it is positive.
    """
    c, e = np.clip(t, -2.0, 2.0), np.clip(t, -1.0, 1.0)
    far, near = np.abs(c), np.abs(e)
    value = ((2.0 - far) ** 3 - 4.0 * (1.0 - near) ** 3) / 6.0
    return value, e * (2.0 * near - 4.0) + c * (2.0 - 0.5 * far)


# What is zero on one side and grows like x on the other, smoothly.


def ramp(x: Any, width: Any) -> Any:
    """0 for x <= 0, x - width / 2 for x >= width; between them its slope is s^2 (3 - 2 s), s = x / width.

    First and second derivatives are continuous; it never falls.
    """
    s = np.clip(x / width, 0.0, 1.0)
    return width * s**3 * (1.0 - 0.5 * s) + np.maximum(x - width, 0.0)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from 0 to x."""
    s, rest = np.clip(x / width, 0.0, 1.0), np.maximum(x - width, 0.0)
    return width**2 * s**4 * (0.25 - 0.1 * s) + 0.5 * rest * (width + rest)
