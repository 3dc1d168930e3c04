# matplotlib's types leave its keywords open
# pyright: reportUnknownMemberType=false
"""A picture as PNG, by matplotlib (extra `plots`)."""

from __future__ import annotations

from pathlib import Path

from condyle.errors import UnsupportedError
from condyle.view.picture import Ellipse, Line, Picture
from condyle.view.svg import DARK, LIGHT, LINES, SIZES, STROKES

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
