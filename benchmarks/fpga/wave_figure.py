"""The streams of an accelerator as a waveform, read from the VCD of its simulation: tasks, stalls, results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import pyplot, save

STREAMS = {"s_axis": ("tasks", "#1b6ca8"), "m_axis": ("results", "#b04a2f")}
BITS = ("tvalid", "tready", "tlast")
ROW, HIGH, SLOPE, BREAK, LEFT = 0.62, 0.36, 0.12, 1.0, 0.24
MARGIN = 1
"""Cycles shown before and behind what is of interest."""


class Stream(NamedTuple):
    """Of each cycle the bits, as the rising edge at its end finds them, and the data where it is valid."""

    bits: dict[str, str]
    data: list[int | None]

    def moves(self, k: int) -> bool:
        return self.bits["tvalid"][k] == self.bits["tready"][k] == "1"


class Beat(NamedTuple):
    """One beat on its stream: the cycles of it, the tag of its packet, its number in there."""

    first: int
    stop: int
    tag: int
    place: int


def read(path: Path) -> dict[str, Stream]:
    """Both streams from the first task on, up to the end."""
    from vcdvcd import VCDVCD

    vcd: Any = VCDVCD(str(path))
    named = {signal.rpartition(".")[2].partition("[")[0]: vcd[signal] for signal in vcd.signals}
    edges = [time for time, value in named["aclk"].tv if value == "1"]
    first = next(k for k, time in enumerate(edges) if named["s_axis_tvalid"][time - 1] == "1")
    edges = edges[first - MARGIN :]
    found: dict[str, Stream] = {}
    for name in STREAMS:
        bits = {what: "".join(named[f"{name}_{what}"][time - 1] for time in edges) for what in BITS}
        data = [named[f"{name}_tdata"][time - 1] for time in edges]
        found[name] = Stream(bits, [None if set(row) - {"0", "1"} else int(row, 2) for row in data])
    return found


def beats(stream: Stream) -> list[Beat]:
    """All beats that moved, each from the cycle on in which it was offered."""
    found: list[Beat] = []
    begun, tag, place = -1, 0, 0
    for k, valid in enumerate(stream.bits["tvalid"]):
        if valid != "1":
            continue
        begun = k if begun < 0 else begun
        if stream.moves(k):
            data = stream.data[k]
            tag = (data or 0) >> 16 & 0xFFFF if place == 0 else tag
            found.append(Beat(begun, k + 1, tag, place))
            begun, place = -1, 0 if stream.bits["tlast"][k] == "1" else place + 1
    return found


def windows(streams: dict[str, Stream]) -> list[range]:
    """The cycles to show: the first task; a beat of a task that waits; the first two results."""
    tasks, results = (beats(streams[name]) for name in STREAMS)
    waiting = [beat for beat in tasks if beat.stop - beat.first > 1]
    ends = [beat.stop for beat in results if beat.place == 1]
    spans = [(tasks[0].first, next(beat.stop for beat in tasks if beat.place == 3))]
    spans += [(beat.first - MARGIN, beat.stop) for beat in waiting[:1]]
    spans.append((results[0].first, ends[1]))
    return [range(max(0, a - MARGIN), b + MARGIN) for a, b in spans]


def draw(path: Path, out: Path) -> None:
    """One SVG; its description holds the bits of all cycles. Without Matplotlib none."""
    plots = pyplot()
    if plots is None:
        return
    streams = read(path)
    shown = windows(streams)
    wide = sum(map(len, shown)) + BREAK * (len(shown) - 1)
    figure, axes = plots.subplots(figsize=(11.0, 4.1), layout="constrained")
    axes.set(xlim=(-LEFT * wide, 1.01 * wide), ylim=(-2 * 4 * ROW - 1.35, 0.75))
    axes.axis("off")
    at = 0.0
    for k, window in enumerate(shown):
        _clock(axes, at, window)
        for which, (name, (_, colour)) in enumerate(STREAMS.items()):
            _stream(axes, at, window, streams[name], -ROW * (1 + 4 * which) - 0.55 * which, colour)
        at += len(window)
        if k + 1 < len(shown):
            axes.text(at + BREAK / 2, -4 * ROW, "⋯", ha="center", va="center", fontsize=14)
            at += BREAK
    _names(axes, -LEFT * wide)
    described = "; ".join(f"{name} {what} {bits}" for name, of in streams.items() for what, bits in of.bits.items())
    save(plots, figure, out, described)


def _names(axes: Any, left: float) -> None:
    axes.text(-0.3, 0.18, "cycle", ha="right", va="center")
    axes.text(-0.3, -ROW + HIGH / 2 + 0.1, "aclk", ha="right", va="center", family="monospace")
    for which, (name, (said, colour)) in enumerate(STREAMS.items()):
        top = -ROW * (1 + 4 * which) - 0.55 * which
        axes.text(left, top - 2 * ROW, said, color=colour, weight="bold", va="center")
        for row, what in enumerate((*BITS, "tdata")):
            y = top - ROW * (row + 1) + HIGH / 2
            axes.text(-0.3, y, f"{name}_{what}", ha="right", va="center", family="monospace")


def _clock(axes: Any, at: float, window: range) -> None:
    low = -ROW + 0.1
    x = [at + k + step for k in range(len(window)) for step in (0, 0, 0.5, 0.5, 1)]
    axes.plot(x, [low, low + HIGH, low + HIGH, low, low] * len(window), color="#444444", lw=1)
    axes.vlines(x[::5], -8 * ROW - 0.95, low, color="#dddddd", lw=0.6, zorder=0)
    for k, cycle in enumerate(window):
        axes.text(at + k + 0.5, 0.18, f"{cycle}", ha="center", va="center", fontsize=8, color="#444444")


def _stream(axes: Any, at: float, window: range, stream: Stream, top: float, colour: str) -> None:
    for row, what in enumerate(BITS):
        _bit(axes, at, [stream.bits[what][k] for k in window], top - ROW * (row + 1), colour)
    low = top - ROW * 4
    last: dict[int, list[float]] = {}
    for beat in beats(stream):
        first, stop = max(beat.first, window.start), min(beat.stop, window.stop)
        if first >= stop:
            continue
        a, b = at + first - window.start, at + stop - window.start
        x = [a, a + SLOPE, b - SLOPE, b, b - SLOPE, a + SLOPE, a]
        y = [low + HIGH / 2, low + HIGH, low + HIGH, low + HIGH / 2, low, low, low + HIGH / 2]
        axes.fill(x, y, facecolor=f"{colour}22", edgecolor=colour, lw=1)
        axes.text((a + b) / 2, low + HIGH / 2 - 0.02, f"{beat.place}", ha="center", va="center")
        last.setdefault(beat.tag, []).extend((a, b))
    for tag, ends in last.items():
        axes.text((min(ends) + max(ends)) / 2, low - 0.2, f"tag {tag}", ha="center", va="center", color=colour)


def _bit(axes: Any, at: float, values: list[str], low: float, colour: str) -> None:
    """A line, grey where the bit is unknown."""
    x, known = [at + k + end for k in range(len(values)) for end in (0, 1)], [value for value in values for _ in (0, 1)]
    y = [{"0": low, "1": low + HIGH}.get(value, float("nan")) for value in known]
    axes.plot(x, y, color=colour, lw=1.4)
    unknown = [value not in ("0", "1") for value in known]
    axes.fill_between(x, low, low + HIGH, where=unknown, facecolor="#dddddd", lw=0)
