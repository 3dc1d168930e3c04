"""A picture as data: lines, ellipses and words at pixels, y down. Writers of SVG and PNG turn it into files."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array, transpose
from condyle.specification.integrators import VIEWS

# From points of the world to the plane of a picture: orthographic projection.


ANGLES = {"iso": (-50.0, 22.0), "front": (0.0, 0.0), "side": (-90.0, 0.0), "top": (-90.0, 90.0)}
"""Azimuth and elevation [degrees] of the eye: "front" looks along -x, "side" along y, "top" along -z."""


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """right, up, towards: unit vectors (3,) of the picture and to the eye, in world axes."""

    right: Array
    up: Array
    towards: Array

    def flat(self, points: Array) -> Array:
        """Points (..., 3) on the picture, (..., 2) [m]: to the right and up."""
        return points @ np.stack([self.right, self.up], axis=1)

    def depth(self, points: Array) -> Array:
        """How near points (..., 3) are to the eye, (...) [m]: the larger, the nearer."""
        return points @ self.towards

    def outline(self, columns: Array) -> tuple[float, float, float]:
        """The ellipse that an ellipsoid is seen as: two radii [m] and the angle [rad] of the first one.

        columns (3, 3): its half-axes. The ellipsoid is {C u, |u| = 1}; its shadow by P (2, 3) has P C Cᵀ Pᵀ.
        """
        seen = np.stack([self.right, self.up]) @ columns
        squares, axes = np.linalg.eigh(seen @ transpose(seen))
        first, second = np.sqrt(np.maximum(squares[::-1], 0.0)).tolist()
        return first, second, math.atan2(float(axes[1, 1]), float(axes[0, 1])) % math.pi


def camera(view: str) -> Camera:
    """The camera of a word. UnsupportedError."""
    if view not in VIEWS:
        raise UnsupportedError(f"view={view!r}, expected one of {', '.join(VIEWS)}")
    azimuth, elevation = map(math.radians, ANGLES[view])
    c, s = math.cos(azimuth), math.sin(azimuth)
    towards = np.array((math.cos(elevation) * c, math.cos(elevation) * s, math.sin(elevation)))
    right = np.array((-s, c, 0.0))
    return Camera(right, np.cross(towards, right), towards)


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


# A picture as SVG text: no script, no font and no file from elsewhere; dark where the reader's system is.


LIGHT = {
    "paper": "#ffffff", "ink": "#23282d", "quiet": "#5d666e", "grid": "#d9dde1", "body": "#7fa8bd", "edge": "#1f6f8b",
    "link": "#39434c", "axis": "#7a5195", "limit": "#2f7d4f", "com": "#b3261e", "force": "#c8702a",
    "contact": "#b01f7a", "ground": "#8a7a55", "x": "#d03a3a", "y": "#3a8f3a",
    "z": "#2f5fd0",
}  # fmt: skip
DARK = {
    "paper": "#15181b", "ink": "#e6e9ec", "quiet": "#a3adb5", "grid": "#353c43", "body": "#3f7f9b", "edge": "#8fcbe3",
    "link": "#c9d1d8", "axis": "#c79bea", "limit": "#7fd39b", "com": "#ff8a80", "force": "#f2a35e",
    "contact": "#ff8fd0", "ground": "#b3a27c", "x": "#ff7b7b", "y": "#7fd67f",
    "z": "#8fb0ff",
}  # fmt: skip
LINES = {
    "link": 4.0, "axis": 1.8, "limit": 1.4, "force": 2.6, "x": 1.6, "y": 1.6, "z": 1.6, "grid": 1.0, "path": 1.2,
    "contact": 1.6, "ground": 1.0,
}  # fmt: skip
"""Widths [px] of the styles that are lines."""
STROKES = {"path": "com", "com": "com", "body": "edge"}
"""The colour of a style's lines where it is not of its own name."""
SIZES = {"tick": 11, "name": 11, "title": 15, "sign": 14}
"""Of letters [px]."""


def svg(picture: Picture, theme: str = "auto") -> str:
    """The file's text; the same picture gives the same text."""
    title = escape(picture.title)
    size = f'width="{picture.width:.0f}" height="{picture.height:.0f}"'
    box = f"0 0 {picture.width:.0f} {picture.height:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{box}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{_style(theme)}</style>",
        f'<rect class="paper" {size}/>',
        *map(_item, picture.items),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style(theme: str) -> str:
    rules = _colours(DARK if theme == "dark" else LIGHT)
    if theme == "auto":
        rules += f"@media(prefers-color-scheme:dark){{{_colours(DARK)}}}"
    rules += "".join(f".{name}{{stroke-width:{width:g}}}" for name, width in LINES.items())
    rules += "".join(f"text.{name}{{font-size:{size}px}}" for name, size in SIZES.items())
    return (
        "polyline{fill:none;stroke-linejoin:round;stroke-linecap:round}text{font-family:system-ui,sans-serif;stroke:none}"
        ".path{stroke-dasharray:3 4}.com{stroke-width:1.6}text.title{font-weight:600}text[class]{stroke:none}"
        + rules
        + "text[class].name{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}"
    )


def _colours(colours: dict[str, str]) -> str:
    rules = f".paper{{fill:{colours['paper']}}}text.tick{{fill:{colours['quiet']}}}"
    rules += f"text.name,text.title{{fill:{colours['ink']}}}text[class].name{{stroke:{colours['paper']}}}"
    for style in (*LINES, "com", "body"):
        colour = colours[STROKES.get(style, style)]
        rules += f".{style}{{stroke:{colour}}}ellipse.{style}{{fill:none}}"
        rules += f"ellipse.{style}.solid,text.{style}{{fill:{colour}}}"
    return rules + f"ellipse.body{{fill:{colours['body']};fill-opacity:.45;stroke-width:1}}"


def _item(item: Item) -> str:
    if isinstance(item, Words):
        anchor = "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
        x, y = item.pixel
        return f'<text class="{item.style}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(item.text)}</text>'
    opacity = "" if item.opacity == 1.0 else f' opacity="{item.opacity:.3g}"'
    if isinstance(item, Ellipse):
        return _with_title("ellipse", f'class="{item.style}" {_ellipse(item)}{opacity}', item.title)
    return _with_title("polyline", f'class="{item.style}" points="{_points(item)}"{opacity}', item.title)


def _ellipse(item: Ellipse) -> str:
    (x, y), (first, second) = item.centre, item.radii
    turn = "" if abs(first - second) < 0.05 else f' transform="rotate({item.angle:.1f} {x:.1f} {y:.1f})"'
    return f'cx="{x:.1f}" cy="{y:.1f}" rx="{first:.1f}" ry="{second:.1f}"{turn}'


def _points(item: Line) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in item.points)


def _with_title(tag: str, attributes: str, title: str) -> str:
    return f"<{tag} {attributes}><title>{escape(title)}</title></{tag}>" if title else f"<{tag} {attributes}/>"


# A picture as PNG, by matplotlib (extra `plots`).


DPI = 144
POINTS = 0.75
"""Of a pixel."""


def write_png(picture: Picture, path: Path, theme: str) -> None:
    """Write the file; "auto" is light. UnsupportedError without matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
        from matplotlib.patches import Ellipse as Patch
        from matplotlib.patheffects import withStroke
    except ImportError as error:
        raise UnsupportedError("PNG is drawn by matplotlib: pip install 'condyle[plots]', or name a .svg") from error
    colours = DARK if theme == "dark" else LIGHT
    figure = Figure(figsize=(picture.width / 96.0, picture.height / 96.0), facecolor=colours["paper"])
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, picture.width)
    axes.set_ylim(picture.height, 0.0)
    for order, item in enumerate(picture.items, 2):
        style = item.style.split()[0]
        edge = colours.get(STROKES.get(style, style), colours["ink"])
        if isinstance(item, Line):
            xs, ys = zip(*item.points, strict=True)
            dashes = "--" if style == "path" else "-"
            axes.add_artist(
                Line2D(xs, ys, color=edge, lw=LINES[style] * POINTS, ls=dashes, alpha=item.opacity, zorder=order)
            )
        elif isinstance(item, Ellipse):
            solid = item.style.endswith("solid")
            face = edge if solid else colours["body"] if style == "body" else "none"
            alpha = item.opacity * (0.45 if style == "body" else 1.0)
            first, second = item.radii
            size = {"width": 2.0 * first, "height": 2.0 * second, "angle": item.angle}
            axes.add_patch(Patch(item.centre, **size, fc=face, ec="none", alpha=alpha, zorder=order))
            axes.add_patch(Patch(item.centre, **size, fc="none", ec=edge, lw=POINTS, alpha=item.opacity, zorder=order))
        else:
            kind = item.style.split()[-1]
            colour = {"tick": colours["quiet"], "sign": edge}.get(kind, colours["ink"])
            place = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
            axes.text(
                *item.pixel,
                item.text,
                color=colour,
                fontsize=SIZES[kind] * POINTS,
                ha=place,
                va="baseline",
                zorder=order,
                parse_math=False,
                path_effects=[withStroke(linewidth=2.0, foreground=colours["paper"])] if kind == "name" else None,
            )
    figure.savefig(path, dpi=DPI, facecolor=colours["paper"], metadata={"Software": None})
