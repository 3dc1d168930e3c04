"""One HTML page of an accelerator: the pipeline as a drawing, its timetable, resources and errors. No scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import cast

from condyle.backends.fpga.binding import Binding
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.report import Json, array_dsp, cycles, said_box, said_latency, words_held
from condyle.text import printable

STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "svg text{font:12px system-ui,sans-serif;fill:#222}h2{font-size:1.15em;margin:1.8em 0 .4em}p{color:#555}"
    "table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}"
    "td{white-space:nowrap;vertical-align:top}td:first-child,th:first-child{text-align:left}"
)
COLOURS = {"R": "#8ecae6", "D": "#219ebc", "M": "#ffb703", "x": "#cdb4db", "in": "#d9d9d9"}
PLACES = {
    "trig": (10, 70, "Trigonometry"),
    "dynamics": (300, 20, "Forward-Backward"),
    "mass": (300, 130, "Backward-Forward"),
    "solve": (600, 130, "Schedule: Minv (tau - c)"),
    "derivatives": (600, 20, "Schedule: -Minv dtau"),
    "step": (600, 245, "Schedule: next state"),
}
EDGES = (
    ("trig", "dynamics", "dynamics_in"),
    ("trig", "mass", "mass_in"),
    ("dynamics", "derivatives", "dtau"),
    ("mass", "solve", "inverse"),
    ("dynamics", "solve", "c"),
    ("solve", "step", "solved"),
)
STAGES = (
    "Stages of joints from 0: Rf, Rb the forward and the backward step of inverse dynamics, Df, Db those of its "
    "derivatives, Mb the backward step of the mass matrix; M its factors and its inverse, x all that an array does."
)
WIDE, HIGH, ROW, LEFT, CHART = 200, 70, 16, 110, 760


def page(acc: Accelerator, found: Mapping[str, Json], robot: str = "") -> str:
    """The page of an accelerator and its report. robot: what the page calls it, else the name of the module."""
    title = f"{printable(robot) or found['name']}: {', '.join(acc.plan.functions)}"
    percent = f"{acc.dsp} DSPs, {found['dsp_percent']} % of an {found['device']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Words {escape(str(found['word']))}; a task every {cycles(acc.ii)}; {percent}.</p>",
        f"<p>Times are at an assumed {found['assumed_clock_mhz']} MHz: no clock was measured.</p>",
        *(f"<p><b>{escape(str(warning))}</b></p>" for warning in cast("list[Json]", found["warnings"])),
        "<h2>Pipeline</h2>",
        _drawing(acc),
        "<h2>Functions</h2>",
        _functions(found),
        "<h2>Timetable</h2>",
        "<p>Cycles from a task's entry into the array; each stage from its first operand to its last result.</p>",
        f"<p>{STAGES}</p>",
        *(_timetable(acc, name) for name in acc.arrays),
        "<h2>Arrays</h2>",
        _arrays(acc, found),
        f"<p>The box: {escape(said_box(found)).replace('≤', '&le;')}.</p>",
        "<p>Proven: signals whose format holds all of the box, by norms. Sampled ones are guarded by the flag.</p>",
        "<p>Errors are those of random states of the box without a flag; a maximum of samples is not a bound.</p>",
    ]
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    return f"{head}\n<style>{STYLE}</style></head>\n<body>" + "\n".join(parts) + "\n</body></html>\n"


def _drawing(acc: Accelerator) -> str:
    """Arrays as boxes, queues as marks on the arrows with their depth."""
    marker = '<marker id="to" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    shapes = [f'<defs>{marker}<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>']
    for start, end, queue in EDGES:
        if start in acc.arrays and end in acc.arrays:
            depth = acc.depths[queue]
            shapes.append(_arrow(PLACES[start], PLACES[end], f"queue of {depth}"))
    if acc.plan.fed_back:
        text = f"feedback: a, queue of {acc.depths['back']}"
        shapes.append(
            f'<path d="M700 200V235H110V140" fill="none" stroke="#555" marker-end="url(#to)"/>'
            f'<text x="320" y="230">{text}</text>'
        )
    if acc.plan.has_rounds:
        text = f"feedback: the next stage's state, queue of {acc.depths['round']}"
        shapes.append(
            f'<path d="M600 275H90V140" fill="none" stroke="#555" marker-end="url(#to)"/>'
            f'<text x="250" y="270">{text}</text>'
        )
    for name, array in acc.arrays.items():
        x, y, label = PLACES[name]
        stages = len(Binding(array.schedule).stages)
        shapes.append(
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="#f1faee" stroke="#1d3557"/>'
            f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{label}</text>'
            f'<text x="{x + 10}" y="{y + 38}">{stages} stages, {array_dsp(acc, name)} DSPs</text>'
            f'<text x="{x + 10}" y="{y + 56}">{array.schedule.latency} cycles, {words_held(acc, name)} words</text>'
        )
    height = 320 if "step" in acc.arrays else 245
    return f'<svg viewBox="0 0 830 {height}" width="100%" role="img" aria-label="pipeline">{"".join(shapes)}</svg>'


def _arrow(start: tuple[int, int, str], end: tuple[int, int, str], text: str) -> str:
    x0, y0, x1, y1 = start[0] + WIDE, start[1] + HIGH // 2, end[0], end[1] + HIGH // 2
    return (
        f'<path d="M{x0} {y0}L{x1} {y1}" stroke="#555" marker-end="url(#to)"/>'
        f'<text x="{(x0 + x1) // 2 - 30}" y="{(y0 + y1) // 2 - 5}" font-size="10">{text}</text>'
    )


def _timetable(acc: Accelerator, name: str) -> str:
    """A bar for each stage; the lines are where results leave."""
    schedule = acc.arrays[name].schedule
    binding = Binding(schedule)
    scale = (CHART - LEFT) / max(schedule.latency, 1)
    rows: list[str] = []
    stages = [(stage, ops) for stage, ops in binding.stages.items() if ops and stage != "in"]
    for k, (stage, ops) in enumerate(stages):
        first, last = min(schedule.start[op] for op in ops), max(schedule.ready[op] for op in ops)
        units = sum(n for pool, n in schedule.units.items() if pool[0] == stage)
        y = k * ROW
        rows.append(
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{stage}</text>'
            f'<rect x="{LEFT + scale * first:.1f}" y="{y + 2}" width="{max(1.0, scale * (last - first)):.1f}" '
            f'height="{ROW - 4}" fill="{COLOURS.get(stage[:1], "#ccc")}"><title>{stage}: cycles {first} to {last}, '
            f"{len(ops)} operations, {units} units, each for {schedule.ii} cycles</title></rect>"
        )
    height = len(stages) * ROW
    for cycle in range(0, schedule.latency + 1, _tick(schedule.latency)):
        x = LEFT + scale * cycle
        rows.append(
            f'<path d="M{x:.1f} 0V{height + 4}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="{height + 16}" text-anchor="middle" fill="#555">{cycle}</text>'
        )
    for group, tap in schedule.taps.items():
        x = LEFT + scale * tap
        rows.append(
            f'<path d="M{x:.1f} 0V{height}" stroke="#c1121f"/><text x="{x - 4:.1f}" y="{height + 32}" '
            f'text-anchor="end">{group} {tap}</text>'
        )
    return f'<h3>{name}</h3><svg viewBox="0 0 {CHART + 10} {height + 38}" width="100%">{"".join(rows)}</svg>'


def _tick(latency: int) -> int:
    """Cycles from one mark of the axis to the next."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, latency) if latency <= 16 * step)


RATES = ("bytes of a task", "of a result", "million a second of the chip", "of the board")


def _functions(found: Mapping[str, Json]) -> str:
    rows: list[list[Json]] = []
    for name, row in cast("dict[str, dict[str, Json]]", found["functions"]).items():
        errors = cast("dict[str, float]", row["errors"])
        known = [name, said_latency(row), *(row[column] for column in ("ii", "dsp", "assumed_us")), _proven(row)]
        rates = cast("dict[str, Json]", row["boundary"])
        known += [rates[what] for what in ("task_bytes", "result_bytes", "chip_million_per_s", "board_million_per_s")]
        rows.append([*known, f"{errors.get('clamped', 0.0):.2g}", _errors(errors), row["states"]])
    heads = ["function", "latency in cycles", "cycles between results", "DSPs", "assumed us"]
    return _table([*heads, "proven, sampled", *RATES, "flagged part", "errors: absolute (relative)", "samples"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Json]]) -> str:
    lines = ["".join(f"<th>{head}" for head in heads), *("".join(f"<td>{cell}" for cell in row) for row in rows)]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _errors(errors: Mapping[str, float]) -> str:
    """A line for each output and quantile, and for the maximum of the samples."""
    outputs = [name.removesuffix("_absolute") for name in errors if name.endswith("_absolute")]
    ends = {"median": "_p50", "90 %": "_p90", "99 %": "_p99", "maximum": ""}
    lines = (
        f"{name} {said} {errors[f'{name}_absolute{end}']:.2g} ({errors[f'{name}_relative{end}']:.1g})"
        for name in outputs
        for said, end in ends.items()
    )
    return "<br>".join(map(escape, lines))


def _proven(row: Mapping[str, Json]) -> str:
    signals = cast("dict[str, int]", row["signals"])
    return f"{signals['proven']}, {signals['sampled']}"


def _arrays(acc: Accelerator, found: Mapping[str, Json]) -> str:
    rows: list[list[Json]] = []
    known = cast("dict[str, dict[str, Json]]", found["arrays"])
    for name, array in acc.arrays.items():
        counts = (len(array.datapath.ops), sum(array.schedule.units.values()), array_dsp(acc, name))
        rows.append([name, *counts, words_held(acc, name), _proven(known[name])])
    return _table(["array", "operations", "units", "DSPs", "words held", "proven, sampled"], rows)
