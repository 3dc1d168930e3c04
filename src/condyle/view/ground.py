"""The ground under a scene: a grid with axes in metres, and the height beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array
from condyle.view.camera import Camera
from condyle.view.picture import Sheet

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
