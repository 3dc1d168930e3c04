"""Figures as data: lines over numbers, or stacked bars; drawn as SVG by Matplotlib."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import pyplot

Points = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Lines:
    """label: (x, y). log: the axes with a logarithmic scale. points: of labels that are not joined by a line."""

    x: str
    y: str
    lines: Mapping[str, Points]
    log: str = "xy"
    points: Mapping[str, Points] = field(default_factory=dict[str, Points])

    def draw(self, axes: Any) -> None:
        for label, (x, y) in self.lines.items():
            axes.plot(x, y, label=label, linewidth=1.2, marker="." if len(x) < 20 else "")
        for label, (x, y) in self.points.items():
            axes.plot(x, y, "x", label=label, color="black")  # black: the page's ink
        axes.set(xlabel=self.x, ylabel=self.y)
        for axis in self.log:
            axes.set(**{f"{axis}scale": "log"})
        if "x" in self.log:  # the numbers themselves, not powers of ten
            ticks = sorted({float(value) for x, _ in self.lines.values() for value in x})
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45 if len(ticks) > 8 else 0)
            axes.set_xticks([], minor=True)
        axes.grid(visible=True, alpha=0.25)

    def empty(self) -> bool:
        return not any(len(x) for x, _ in self.lines.values())


@dataclass(frozen=True)
class Bars:
    """label of a bar: its parts, from the left, in the order of `parts`."""

    x: str
    parts: Sequence[str]
    bars: Mapping[str, Sequence[float]]

    def draw(self, axes: Any) -> None:
        labels = list(self.bars)
        left = [0.0] * len(labels)
        for k, part in enumerate(self.parts):
            width = [self.bars[label][k] for label in labels]
            axes.barh(labels, width, left=left, label=part, height=0.6)
            left = [a + b for a, b in zip(left, width, strict=True)]
        axes.set(xlabel=self.x)
        axes.invert_yaxis()

    def empty(self) -> bool:
        return not self.bars


Figure = Lines | Bars


def svg(title: str, figure: Figure) -> bytes:
    """The figure as an SVG document; nothing where there is nothing to draw, or no Matplotlib."""
    plots = None if figure.empty() else pyplot()
    if plots is None:
        return b""
    drawing, axes = plots.subplots(figsize=(5.8, 3.4), layout="constrained")
    figure.draw(axes)
    axes.set(title=title)
    axes.legend(fontsize=7)
    drawn = io.BytesIO()
    with plots.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):  # text as text; the same names each time
        drawing.savefig(drawn, format="svg", metadata={"Date": None})
    plots.close(drawing)
    return drawn.getvalue()
