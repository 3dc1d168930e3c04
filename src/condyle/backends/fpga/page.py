"""One HTML page of an accelerator: the pipeline as a drawing, its timetable, resources and errors. No scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import cast

from condyle.backends.fpga.binding import Binding
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.report import Json, array_dsp, cycles, said_box, said_latency, words_held
from condyle.pages import scrolled, whole
from condyle.text import printable

STYLE = """
svg{max-width:60em}svg text{font-size:12px;fill:currentColor}.box{fill:var(--box);stroke:var(--faint)}
.arrow{fill:none;stroke:var(--faint)}.head{fill:var(--faint)}.grid{stroke:var(--line)}.tap{stroke:#c1121f}
.label{paint-order:stroke;stroke:var(--ground);stroke-width:5px;stroke-linejoin:round}
.used{fill:var(--mark)}.free{fill:var(--line)}
@media print{rect,path{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
COLOURS = {"R": "#8ecae6", "D": "#219ebc", "M": "#ffb703", "x": "#cdb4db", "in": "#d9d9d9"}
PLACES = {
    "trig": (10, 70, "Trigonometry"),
    "dynamics": (330, 20, "Forward-Backward"),
    "mass": (330, 130, "Backward-Forward"),
    "solve": (660, 130, "Schedule: Minv (tau - c)"),
    "derivatives": (660, 20, "Schedule: -Minv dtau"),
    "step": (660, 245, "Schedule: next state"),
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
ERRORS = (
    "Those of random states of the box without a flag: absolute, in the output's unit, and relative in brackets. A "
    "maximum of samples is not a bound."
)
WIDE, HIGH, ROW, LEFT, CHART = 200, 70, 16, 110, 760
BAR = 480


def page(acc: Accelerator, found: Mapping[str, Json], robot: str = "") -> str:
    """The page of an accelerator and its report. robot: what the page calls it, else the name of the module."""
    title = f"{printable(robot) or found['name']}: {', '.join(acc.plan.functions)}"
    percent = f"{acc.dsp} DSPs, {found['dsp_percent']} % of an {found['device']}"
    parts = [
        f"<p>Words {escape(str(found['word']))}; a task every {cycles(acc.ii)}; {percent}.</p>",
        f"<p>Times are at an assumed {found['assumed_clock_mhz']} MHz: no clock was measured.</p>",
        *(f"<p><b>{escape(str(warning))}</b></p>" for warning in cast("list[Json]", found["warnings"])),
        "<h2>Pipeline</h2>",
        scrolled(_drawing(acc)),
        "<h2>DSPs in use</h2>",
        scrolled(_utilisation(acc, found)),
        "<h2>Functions</h2>",
        scrolled(_functions(found)),
        "<h2>Errors</h2>",
        f"<p>{ERRORS}</p>",
        scrolled(_errors(found)),
        "<h2>Timetable</h2>",
        "<p>Cycles from a task's entry into the array; each stage from its first operand to its last result.</p>",
        f"<p>{STAGES}</p>",
        *(scrolled(_timetable(acc, name)) for name in acc.arrays),
        "<h2>Arrays</h2>",
        scrolled(_arrays(acc, found)),
        f"<p>The box: {escape(said_box(found)).replace('≤', '&le;')}.</p>",
        "<p>Proven: signals whose format holds all of the box, by norms. Sampled ones are guarded by the flag.</p>",
    ]
    return whole(title, parts, STYLE)


def _drawing(acc: Accelerator) -> str:
    """Arrays as boxes, queues as marks on the arrows with their depth."""
    marker = '<marker id="to" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    shapes = [f'<defs>{marker}<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>']
    for start, end, queue in EDGES:
        if start in acc.arrays and end in acc.arrays:
            depth = acc.depths[queue]
            shapes.append(_arrow(PLACES[start], PLACES[end], f"queue of {depth}"))
    if acc.plan.fed_back:
        text = f"feedback: a, queue of {acc.depths['back']}"
        shapes.append(
            f'<path d="M700 200V235H110V140" class="arrow" marker-end="url(#to)"/>'
            f'<text class="label" x="320" y="228">{text}</text>'
        )
    if acc.plan.has_rounds:
        text = f"feedback: the next stage's state, queue of {acc.depths['round']}"
        shapes.append(
            f'<path d="M660 275H90V140" class="arrow" marker-end="url(#to)"/>'
            f'<text class="label" x="250" y="268">{text}</text>'
        )
    for name, array in acc.arrays.items():
        x, y, label = PLACES[name]
        stages = len(Binding(array).stages)
        shapes.append(
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" class="box"/>'
            f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{label}</text>'
            f'<text x="{x + 10}" y="{y + 38}">{stages} stages, {array_dsp(acc, name)} DSPs</text>'
            f'<text x="{x + 10}" y="{y + 56}">{array.latency} cycles, {words_held(acc, name)} words</text>'
        )
    height = 320 if "step" in acc.arrays else 245
    return f'<svg viewBox="0 0 870 {height}" width="100%" role="img" aria-label="pipeline">{"".join(shapes)}</svg>'


def _arrow(start: tuple[int, int, str], end: tuple[int, int, str], text: str) -> str:
    """An arrow with its label beside it: above a level one, on the outer side of a slanting one."""
    if start[0] == end[0]:  # one box below the other
        x0 = x1 = start[0] + WIDE // 2
        y0, y1 = start[1] + HIGH, end[1]
        x, y, anchor = x0 + 8, (y0 + y1) // 2 + 4, "start"
    else:
        x0, y0, x1, y1 = start[0] + WIDE, start[1] + HIGH // 2, end[0], end[1] + HIGH // 2
        x, y, anchor = (x0 + x1) // 2, y0 - 6, "middle"
        if y0 != y1:
            beside = 16 if y1 > y0 else -14
            x, y, anchor = x0 + 5 * (x1 - x0) // 8, y0 + 5 * (y1 - y0) // 8 + beside, "end"
    return (
        f'<path d="M{x0} {y0}L{x1} {y1}" class="arrow" marker-end="url(#to)"/>'
        f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'
    )


def _utilisation(acc: Accelerator, found: Mapping[str, Json]) -> str:
    """A bar for each array and one for all: what part of the device's DSPs they take."""
    device, rows = acc.device, list[str]()
    counts = {name: array_dsp(acc, name) for name in acc.arrays}
    for k, (name, dsp) in enumerate({**counts, "all": acc.dsp}.items()):
        y, part = k * 22, dsp / device.dsp
        rows.append(
            f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{name}</text>'
            f'<rect x="{LEFT}" y="{y + 3}" width="{BAR}" height="14" class="free"/>'
            f'<rect x="{LEFT}" y="{y + 3}" width="{min(part, 1.0) * BAR:.1f}" height="14" class="used"/>'
            f'<text x="{LEFT + BAR + 8}" y="{y + 14}">{dsp} of {device.dsp}, {100.0 * part:.1f} %</text>'
        )
    label = f"DSPs of an {found['device']} in use"
    drawn = "".join(rows)
    return (
        f'<svg viewBox="0 0 {CHART + 10} {22 * len(rows)}" width="100%" role="img" aria-label="{label}">{drawn}</svg>'
    )


def _timetable(acc: Accelerator, name: str) -> str:
    """A bar for each stage; the lines are where results leave."""
    schedule = acc.arrays[name]
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
            f'<path d="M{x:.1f} 0V{height + 4}" class="grid"/>'
            f'<text x="{x:.1f}" y="{height + 16}" text-anchor="middle">{cycle}</text>'
        )
    rows.append(f'<text x="{LEFT - 8}" y="{height + 16}" text-anchor="end">cycle</text>')
    for group, tap in schedule.taps.items():
        x = LEFT + scale * tap
        rows.append(
            f'<path d="M{x:.1f} 0V{height}" class="tap"/><text x="{x - 4:.1f}" y="{height + 32}" '
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
        rows.append([*known, f"{errors.get('clamped', 0.0):.2g}", row["states"]])
    heads = ["function", "latency in cycles", "cycles between results", "DSPs", "assumed us"]
    return _table([*heads, "proven, sampled", *RATES, "flagged part", "samples"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Json]]) -> str:
    lines = ["".join(f"<th>{head}" for head in heads), *("".join(f"<td>{cell}" for cell in row) for row in rows)]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _errors(found: Mapping[str, Json]) -> str:
    """A row for each output: quantiles, and the maximum of the samples."""
    rows: list[list[Json]] = []
    ends = {"median": "_p50", "90 %": "_p90", "99 %": "_p99", "maximum": ""}
    for name, row in cast("dict[str, dict[str, Json]]", found["functions"]).items():
        errors = cast("dict[str, float]", row["errors"])
        for output in (key.removesuffix("_absolute") for key in errors if key.endswith("_absolute")):
            pairs = ((errors[f"{output}_absolute{end}"], errors[f"{output}_relative{end}"]) for end in ends.values())
            rows.append([name, escape(output), *(f"{absolute:.2g} ({relative:.1g})" for absolute, relative in pairs)])
    return _table(["function", "output", *ends], rows)


def _proven(row: Mapping[str, Json]) -> str:
    signals = cast("dict[str, int]", row["signals"])
    return f"{signals['proven']}, {signals['sampled']}"


def _arrays(acc: Accelerator, found: Mapping[str, Json]) -> str:
    rows: list[list[Json]] = []
    known = cast("dict[str, dict[str, Json]]", found["arrays"])
    for name, array in acc.arrays.items():
        counts = (len(array.datapath.ops), sum(array.units.values()), array_dsp(acc, name))
        rows.append([name, *counts, words_held(acc, name), _proven(known[name])])
    return _table(["array", "operations", "units", "DSPs", "words held", "proven, sampled"], rows)
