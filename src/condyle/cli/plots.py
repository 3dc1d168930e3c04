# matplotlib's types leave its keywords open
# pyright: reportUnknownMemberType=false
"""Plots of a benchmark as SVG text: a panel a function.

Matplotlib draws (extra `plots`): axes, logarithmic ticks and layout are not ours to write again.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from condyle.errors import UnsupportedError
from condyle.functions import function_of

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
except ImportError as error:
    raise UnsupportedError("plots are drawn by matplotlib: pip install 'condyle[plots]'") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#2a8bab", "#d07a35", "#9a6fb5", "#6a9f47", "#b85555")
"""Ours first, then the others as they come; each can be seen on white and on black."""
INK, FAINT = "#23282d", "#d9dde1"
PAGES = {INK: "currentColor", FAINT: "var(--line)"}
"""What these colours are on a page: see `condyle.text.pages.STYLE`."""
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "condyle",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
PANELS = 4
MARKS = (1.0, 2.0, 5.0)
"""Where in a power of ten an axis of times has numbers."""
Times: TypeAlias = Mapping[str, Mapping[int, Mapping[str, float]]]
"""engine -> batch -> median, minimum, low, high of one function [ns]."""


def plots(times: Mapping[str, Times], engines: Sequence[str]) -> str:
    """One panel a function, all with the same axes, so that functions compare; bars where there is one batch size."""
    columns = min(PANELS, len(times))
    lines = math.ceil(len(times) / columns)
    with mpl.rc_context():
        for key, value in SETTINGS.items():
            mpl.rcParams[key] = value  # pyright: ignore[reportArgumentType]
        every = sorted({n for of in times.values() for batches in of.values() for n in batches})
        alone = every if len(every) == 1 else []
        high = 0.9 + 0.45 * len(engines) if alone else 2.5
        figure = Figure(figsize=(2.9 * columns + 0.4, high * lines + 0.4), layout="constrained")
        grid = figure.subplots(lines, columns, sharex=not alone, sharey=True, squeeze=False)
        panels: list[Axes] = [axes for line in grid for axes in line]
        for axes, (name, of) in zip(panels, times.items(), strict=False):
            (_bars if alone else _panel)(axes, name, of, engines)
        for axes in panels[len(times) :]:
            axes.set_axis_off()
        for axes in panels[len(times) - columns : len(times)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(f"time a state, {alone[0]:,} states a call" if alone else "states a call")
        if not alone:
            panels[0].set_ylim(*_around(times.values()))
            for line in grid:
                line[0].set_ylabel("time a state")
        if len(engines) > 1 and not alone:
            handles, labels = panels[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper left", ncols=len(engines), frameon=False)
        drawn = io.StringIO()
        figure.savefig(
            drawn,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg = drawn.getvalue()
    for colour, own in PAGES.items():
        svg = svg.replace(colour, own)
    return svg[svg.index("<svg") :]


def _bars(axes: Axes, name: str, times: Times, engines: Sequence[str]) -> None:
    """Of one batch size: a bar for each engine, with its median, and a line from quartile to quartile."""
    ((batch, _),) = next(iter(times.values())).items()
    for k, engine in enumerate(engines):
        if engine not in times:
            continue
        ns, colour = times[engine][batch], COLOURS[k % len(COLOURS)]
        axes.barh(k, ns["median"], height=0.6, color=colour, alpha=0.75)
        axes.plot([ns["low"], ns["high"]], [k, k], color=INK, linewidth=1.2)
        axes.annotate(
            duration(ns["median"]), (max(ns["median"], ns["high"]), k), (4, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(engines)), engines)
    axes.set_ylim(len(engines) - 0.4, -0.6)
    axes.margins(x=0.3)
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(_title(name), loc="left", fontsize=10)


def _panel(axes: Axes, name: str, times: Times, engines: Sequence[str]) -> None:
    for engine, of in times.items():
        colour = COLOURS[engines.index(engine) % len(COLOURS)]
        batches = sorted(of)
        low, high, median, minimum = ([of[n][key] for n in batches] for key in ("low", "high", "median", "minimum"))
        axes.fill_between(batches, low, high, color=colour, alpha=0.22, linewidth=0)
        axes.plot(batches, median, color=colour, linewidth=1.6, label=engine)
        axes.plot(batches, minimum, linestyle="none", marker="o", markersize=3, color=colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    every = sorted({n for of in times.values() for n in of})
    axes.set_xticks(every, [f"{n:,}" for n in every])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=MARKS))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(_title(name), loc="left", fontsize=10)


def _title(name: str) -> str:
    """Of a function that was measured, by its name in the results."""
    return f"{name}: {function_of(name).method.replace('_', ' ')}"


def _around(panels: Iterable[Times]) -> tuple[float, float]:
    """The marks below and above the times of all panels, so that their axis has two numbers at least."""
    times = [ns for panel in panels for of in panel.values() for at in of.values() for ns in at.values()]
    low, high = min(times), max(times)
    marks = [mark * 10.0**power for power in range(-3, 15) for mark in MARKS]  # in ns: 1 ps to 6 days
    below, above = (mark for mark in marks if mark < low), (mark for mark in marks if mark > high)
    return max(below, default=marks[0]), min(above, default=marks[-1])


def _tick(ns: float, position: int | None) -> str:
    del position
    return duration(ns)


def duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"
