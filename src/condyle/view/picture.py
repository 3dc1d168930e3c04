"""A picture as data: lines, ellipses and words at pixels, y down. Writers of SVG and PNG turn it into files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from condyle.model.array import Array
from condyle.view.camera import Camera

Pixel = tuple[float, float]
WIDTH, HEIGHT, MARGIN = 760.0, 640.0, 56.0
LETTER = 6.3
"""Pixels of a letter, about: names that would cover another are left out."""


@dataclass(frozen=True, slots=True)
class Line:
    """Straight lines through points; style is a word of `theme.STYLES`; title: what it shows."""

    points: tuple[Pixel, ...]
    style: str
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Ellipse:
    """angle [degrees]: of the first radius, clockwise on the screen from the right."""

    centre: Pixel
    radii: Pixel
    angle: float
    style: str
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """Text; anchor: "start", "middle" or "end" of it is at the point."""

    pixel: Pixel
    text: str
    style: str
    anchor: str = "start"


Item = Line | Ellipse | Words


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    width: float
    height: float
    items: tuple[Item, ...]


@dataclass
class Sheet:
    """Collects the items of a picture; the box of the given points (n, 2) [m] fits into it."""

    camera: Camera
    scale: float
    middle: Array
    items: list[Item] = field(default_factory=list[Item])
    taken: list[tuple[float, float, float, float]] = field(default_factory=list[tuple[float, float, float, float]])

    @classmethod
    def around(cls, camera: Camera, seen: Array) -> Sheet:
        low, high = seen.min(axis=0), seen.max(axis=0)
        room = np.array((WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN - 40.0))
        scale = float(np.min(room / np.maximum(high - low, 1e-6)))
        return cls(camera, scale, 0.5 * (low + high))

    def pixel(self, point: Array) -> Pixel:
        """Of a point (3,) of the world."""
        x, y = ((self.camera.flat(point) - self.middle) * self.scale).tolist()
        return WIDTH / 2 + x, HEIGHT / 2 + 6.0 - y

    def line(self, points: Sequence[Array], style: str, opacity: float = 1.0, title: str = "") -> None:
        self.items.append(Line(tuple(map(self.pixel, points)), style, opacity, title))

    def dot(self, point: Array, radius: float, style: str, opacity: float = 1.0, title: str = "") -> None:
        self.items.append(Ellipse(self.pixel(point), (radius, radius), 0.0, style, opacity, title))

    def ellipse(self, centre: Array, columns: Array, style: str, opacity: float, title: str) -> None:
        """An ellipsoid with these half-axes (columns) as it is seen."""
        first, second, angle = self.camera.outline(columns)
        radii = (max(first * self.scale, 0.5), max(second * self.scale, 0.5))
        self.items.append(Ellipse(self.pixel(centre), radii, -math.degrees(angle), style, opacity, title))

    def arrow(self, start: Array, end: Array, style: str, opacity: float = 1.0, title: str = "") -> None:
        """A line with a head of two strokes; seen along its own direction it is a dot."""
        (x0, y0), (x1, y1) = self.pixel(start), self.pixel(end)
        length = math.hypot(x1 - x0, y1 - y0)
        if length < 3.0:
            self.dot(start, 3.0, f"{style} solid", opacity, title)
            return
        head = min(8.0, 0.4 * length) / length
        dx, dy = (x1 - x0) * head, (y1 - y0) * head
        sides = [(x1 - dx + 0.45 * turn * dy, y1 - dy - 0.45 * turn * dx) for turn in (1.0, -1.0)]
        self.items.append(Line(((x0, y0), (x1, y1), sides[0], (x1, y1), sides[1]), style, opacity, title))

    def words(self, pixel: Pixel, text: str, style: str, anchor: str = "start") -> bool:
        """Text, unless it would cover other text or leave the picture; whether it was put."""
        wide = LETTER * len(text)
        left = pixel[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        box = (left, pixel[1] - 10.0, left + wide, pixel[1] + 3.0)
        inside = box[0] >= 2.0 and box[2] <= WIDTH - 2.0 and box[1] >= 2.0 and box[3] <= HEIGHT - 2.0
        if not inside or any(_overlap(box, other) for other in self.taken):
            return False
        self.taken.append(box)
        self.items.append(Words(pixel, text, style, anchor))
        return True


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
