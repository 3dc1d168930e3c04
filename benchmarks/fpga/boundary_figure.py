"""Draws what is between a host and an accelerator, and the packets of one function, from `NAME_stream.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import pyplot, save
from condyle.fpga import Accelerator
from condyle.fpga.rtl.stream import bus, fed_by_trig, result_width, width

WIDE, TALL = 11.0, 8.35
ROW, SMALL, LETTER = 0.32, 8.5, 0.074
"""Of a beat the height, of letters the points, and the inches that one takes."""
TASK, RESULT, CORE, OTHER = "#1b6ca8", "#b04a2f", "#3f7d4e", "#666666"
COLOURS = {"q": "#d9e8f5", "v": "#c3dbef", "a": "#acceea", "tau": "#f3d9d1"}
HEADER = "#e6e6e6"
SHORT = {"flag": "F", "error": "E", "malformed": "M"}
"""Of fields of one bit in a drawing of packets."""


class Box(NamedTuple):
    """A rectangle, in inches, the lower left corner first."""

    x: float
    y: float
    wide: float
    tall: float


def draw(acc: Accelerator, stream: Mapping[str, Any], out: Path, function: str = "id") -> None:
    """One SVG. stream: what NAME_stream.json holds. Without Matplotlib none."""
    plots = pyplot()
    if plots is None:
        return
    figure, axes = plots.subplots(figsize=(WIDE, TALL))
    figure.subplots_adjust(0.0, 0.0, 1.0, 1.0)
    axes.set(xlim=(0, WIDE), ylim=(0, TALL))
    axes.axis("off")
    _way(axes, acc, stream)
    _core(axes, acc)
    _registers(axes, stream)
    for what, top, colour in (("task", 2.6, TASK), ("result", 0.85, RESULT)):
        _packet(axes, stream, function, what, top, colour)
    save(plots, figure, out)


def _way(axes: Any, acc: Accelerator, stream: Mapping[str, Any]) -> None:
    """From the host to the accelerator, left to right, and back."""
    name, beats = stream["name"], ["beats of", f"{stream['axi']} bits"]
    packers = [f"{name}_host.h", "condyle_host.py", "", "numbers", "to packets", "and back"]
    _box(axes, Box(0.1, 4.75, 1.25, 3.4), "host", packers, OTHER)
    _box(axes, Box(1.65, 4.75, 1.1, 3.4), "link", ["DMA"], OTHER)
    _box(axes, Box(3.05, 2.95, 7.85, 5.3), "", [], OTHER)
    axes.text(3.15, 8.07, f"{name}_axi", weight="bold", color=OTHER, va="center", family="monospace")
    words = [f"{bits} bits" for bits in (width(bus(acc.plan)), result_width(acc.plan))]
    sent = (("queue", beats), ("gather", _each(stream, "task", "beats")), ("unpack", ["header, words", words[0]]))
    back = (("queue", beats), ("spread", _each(stream, "result", "beats")), ("pack", ["header, words", words[1]]))
    for y, what, port, colour, boxes in ((6.8, "task", "s_axis", TASK, sent), (4.75, "result", "m_axis", RESULT, back)):
        for k, (title, lines) in enumerate(boxes):
            _box(axes, Box(3.6 + 1.45 * k, y, 1.15, 1.0), title, lines, colour)
        for ends in ((1.35, 1.65), (2.75, 3.6), (4.75, 5.05), (6.2, 6.5), (7.65, 8.1)):
            tail, head = ends if what == "task" else ends[::-1]
            _arrow(axes, (tail, y + 0.5), (head, y + 0.5), colour)
        axes.text(3.09, y + 0.57, port, color=colour, family="monospace", fontsize=SMALL)
        below, side = (0.42, "top") if what == "task" else (0.58, "bottom")
        said = "\n".join(_each(stream, what, "bytes"))
        axes.text(2.2, y + below, said, ha="center", va=side, color=colour, fontsize=SMALL)
    _arrow(axes, (7.05, 6.8), (7.05, 5.75), OTHER)
    axes.text(7.12, 6.28, "cut short,\nunknown code:\na header alone", va="center", color=OTHER, fontsize=SMALL)
    clocks = (
        "the two clocks meet in the queues"
        if stream["async_clock"]
        else "--async-clock: two clocks meet\nin the queues"
    )
    singles = (
        "float32 words on the left of gather, spread"
        if stream["float32"]
        else "--float32: words are float32 on\nthe left of gather and spread"
    )
    axes.text(3.6, 6.28, f"{clocks}\n{singles}", va="center", color=OTHER, fontsize=SMALL)


def _each(stream: Mapping[str, Any], what: str, key: str) -> list[str]:
    """Of every function a number of its packets."""
    return [f"{key} of a {what}", *(f"{name}: {of[what][key]}" for name, of in stream["functions"].items())]


def _core(axes: Any, acc: Accelerator) -> None:
    """The queues and arrays of the accelerator, with the latency of each array."""
    _box(axes, Box(8.1, 4.65, 2.7, 3.5), "accelerator: " + ", ".join(acc.plan.functions), [], CORE)
    paths = fed_by_trig(acc.plan)
    rows: list[list[str]] = [["queue of tasks"], ["trig"], paths]
    rows += [[array] for array in acc.arrays if array not in ("trig", *paths)] + [["queues of results"]]
    top, tall, gap = 7.78, 3.05 / len(rows), 0.16
    for k, row in enumerate(rows):
        for j, name in enumerate(row):
            wide, array = 2.5 / len(row), acc.arrays.get(name)
            place = Box(8.23 + j * wide, top - (k + 1) * tall + gap, wide - 0.06, tall - gap)
            _box(axes, place, name, [f"{array.latency} cycles"] if array else [], CORE)
            if k:
                middle = place.x + place.wide / 2
                _arrow(axes, (middle, place.y + place.tall + gap), (middle, place.y + place.tall), CORE)
    deep = acc.depths.values()
    said = f"a task every {acc.ii} cycles; between the arrays\n{len(deep)} queues of up to {max(deep)} words"
    axes.text(9.45, 4.54, said, ha="center", va="top", color=CORE, fontsize=SMALL)


def _registers(axes: Any, stream: Mapping[str, Any], each: int = 5) -> None:
    """The registers by address, in columns."""
    axes.text(3.2, 4.15, "registers", weight="bold", color=OTHER, va="center")
    axes.text(1.9, 3.9, "s_axil", color=OTHER, family="monospace", fontsize=SMALL)
    for k, (name, row) in enumerate(stream["registers"].items()):
        column, line = divmod(k, each)
        text = f"0x{row['address']:02x} {name}"
        axes.text(3.2 + 1.65 * column, 3.9 - 0.19 * line, text, va="center", family="monospace", fontsize=SMALL)
    axes.plot([0.72, 0.72], [4.0, 3.8], color=OTHER, lw=1.3)
    _arrow(axes, (0.72, 3.9), (0.72, 4.75), OTHER)
    _arrow(axes, (0.72, 3.8), (3.05, 3.8), OTHER)


def _packet(axes: Any, stream: Mapping[str, Any], function: str, what: str, top: float, colour: str) -> None:
    """Beats below one another, bit 0 at the right; a word may go on in the next beat."""
    packet, bits = stream["functions"][function][what], stream["axi"]
    title = f"{what} of {function}: {packet['beats']} beats of {bits} bits, the first on top"
    axes.text(0.1, top + 0.13, title, color=colour, weight="bold", va="center")
    shown = {name: at for name, at in stream["header"].items() if what == "result" or name not in SHORT}
    cells = [(SHORT.get(name, name), at["low"], at["high"], HEADER) for name, at in shown.items()]
    for word in packet["words"]:
        colour = COLOURS.get(word["word"].rpartition("_")[0], HEADER)
        cells.append((word["word"], word["low"], word["low"] + word["width"] - 1, colour))
    for beat in range(packet["beats"]):
        _beat(axes, Box(0.75, top - 0.08 - (beat + 1) * ROW, 10.1, ROW), beat, bits, cells)
    known = ", ".join(f"{short} {name}" for name, short in SHORT.items()) + "; " if what == "result" else ""
    rest = f"{known}white: " + ("ignored" if what == "task" else "zeros")
    axes.text(10.85, top + 0.13, rest, ha="right", va="center", color=OTHER, fontsize=SMALL)


def _beat(axes: Any, place: Box, beat: int, bits: int, cells: Sequence[tuple[str, int, int, str]]) -> None:
    each, middle = place.wide / bits, place.y + place.tall / 2
    axes.text(place.x - 0.1, middle, f"{beat}", ha="right", va="center", color=OTHER)
    axes.add_patch(_rectangle(place, "#ffffff", "#999999"))
    for name, low, high, colour in cells:
        a, b = max(low - beat * bits, 0), min(high + 1 - beat * bits, bits)
        if a >= b:
            continue
        cell = Box(place.x + place.wide - b * each, place.y, (b - a) * each, place.tall)
        axes.add_patch(_rectangle(cell, colour, "#333333"))
        texts = [f"{name} [{b - 1}:{a}]"] * (b - a > 1) + [name]
        fitting = [text for text in texts if len(text) * LETTER < cell.wide]
        x, side = (cell.x + cell.wide / 2, "center") if fitting else (cell.x - 0.05, "right")
        axes.text(x, middle, (fitting or texts)[0], ha=side, va="center", fontsize=SMALL)


def _rectangle(place: Box, face: str, edge: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((place.x, place.y), place.wide, place.tall, facecolor=face, edgecolor=edge, lw=0.8)


def _box(axes: Any, place: Box, title: str, lines: Sequence[str], colour: str) -> None:
    """The title is on top, or in the middle of a box that has nothing else."""
    axes.add_patch(_rectangle(place, f"{colour}14" if title else "#ffffff", colour))
    top, middle = place.y + place.tall, place.x + place.wide / 2
    high = 0.15 if lines or place.tall > 1.0 else place.tall / 2
    axes.text(middle, top - high, title, ha="center", va="center", weight="bold", color=colour)
    axes.text(middle, top - 0.28, "\n".join(lines), ha="center", va="top", fontsize=SMALL)


def _arrow(axes: Any, tail: tuple[float, float], head: tuple[float, float], colour: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=head, xytext=tail, arrowprops=style)
