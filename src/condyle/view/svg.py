"""A picture as SVG text: no script, no font and no file from elsewhere; dark where the reader's system is."""

from __future__ import annotations

from html import escape

from condyle.view.picture import Ellipse, Item, Line, Picture, Words

LIGHT = {
    "paper": "#ffffff", "ink": "#23282d", "quiet": "#5d666e", "grid": "#d9dde1", "body": "#7fa8bd", "edge": "#1f6f8b",
    "link": "#39434c", "axis": "#7a5195", "com": "#b3261e", "force": "#c8702a", "contact": "#b01f7a",
    "ground": "#8a7a55", "x": "#d03a3a", "y": "#3a8f3a",
    "z": "#2f5fd0",
}  # fmt: skip
DARK = {
    "paper": "#15181b", "ink": "#e6e9ec", "quiet": "#a3adb5", "grid": "#353c43", "body": "#3f7f9b", "edge": "#8fcbe3",
    "link": "#c9d1d8", "axis": "#c79bea", "com": "#ff8a80", "force": "#f2a35e", "contact": "#ff8fd0",
    "ground": "#b3a27c", "x": "#ff7b7b", "y": "#7fd67f",
    "z": "#8fb0ff",
}  # fmt: skip
LINES = {
    "link": 4.0, "axis": 1.8, "force": 2.6, "x": 1.6, "y": 1.6, "z": 1.6, "grid": 1.0, "path": 1.2, "contact": 1.6,
    "ground": 1.0,
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
