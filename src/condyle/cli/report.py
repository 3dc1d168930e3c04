"""One self-contained HTML page of a benchmark: a bar chart a function, drawn as SVG; no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from condyle.cli.common import printable
from condyle.cli.timing import Row
from condyle.signature import FUNCTIONS

WIDTH, BAR, GAP, LEFT, RIGHT = 640, 18, 6, 150, 90
COLOURS = {"condyle": "#2a6f97", "pinocchio": "#c97b3c"}
STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "svg text{font:13px system-ui,sans-serif;fill:#222}h2{font-size:1.1em;margin:1.6em 0 .3em}p{color:#555}"
)


def page(title: str, machine: str, rows: Sequence[Row]) -> str:
    """The page; all text is escaped, since a robot's name is untrusted."""
    charts = "\n".join(_section(name, [row for row in rows if row.function == name]) for name in _names(rows))
    heading = escape(printable(title))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{heading}</h1>\n<p>{escape(machine)}</p>\n"
        f"<p>Nanoseconds per state, median; the thin line spans the quartiles. Shorter is better.</p>\n{charts}\n"
        "</body></html>\n"
    )


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.function for row in rows))


def _section(name: str, rows: Sequence[Row]) -> str:
    height = len(rows) * (BAR + GAP)
    scale = (WIDTH - LEFT - RIGHT) / max(row.ns.high for row in rows)
    bars = "\n".join(_bar(row, k * (BAR + GAP), scale) for k, row in enumerate(rows))
    method = FUNCTIONS[name].method
    chart = f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" role="img" aria-label="{method}">\n{bars}\n</svg>'
    return f"<h2>{name}: {method}</h2>\n{chart}"


def _bar(row: Row, y: int, scale: float) -> str:
    middle, baseline = y + BAR / 2, y + BAR * 0.75
    width, low, high = (scale * ns for ns in (row.ns.median, row.ns.low, row.ns.high))
    return (
        f'<text x="{LEFT - 8}" y="{baseline:.1f}" text-anchor="end">{escape(row.engine)} {row.batch}</text>'
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{COLOURS.get(row.engine, "#777")}"/>'
        f'<path d="M{LEFT + low:.1f} {middle:.1f}H{LEFT + high:.1f}" stroke="#222"/>'
        f'<text x="{LEFT + high + 6:.1f}" y="{baseline:.1f}">{row.ns.median:.4g} ns</text>'
    )
