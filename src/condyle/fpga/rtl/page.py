"""One HTML page of an accelerator: the pipeline as a drawing, its timetable, resources and errors. No scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.report import Report, array_dsp, cycles, said_box, said_latency, words_held
from condyle.fpga.rtl.schedule import Binding
from condyle.text import printable
from condyle.text.pages import scrolled, whole

STYLE = """
svg text{font-size:12px;fill:currentColor}.box{fill:var(--box);stroke:var(--faint)}
.arrow{fill:none;stroke:var(--faint)}.head{fill:var(--faint)}.grid{stroke:var(--line)}.tap{stroke:#d62839}
.label{paint-order:stroke;stroke:var(--ground);stroke-width:5px;stroke-linejoin:round}
.bars{width:100%;max-width:60em}.bars td{border:0}.bars .bar{width:100%}.bars td:last-child{text-align:left}
.free{background:var(--line);height:14px;margin-top:.3em}.used{background:var(--mark);height:14px}
@media print{h2+p,h3+p{break-after:avoid}.wide svg{min-width:0!important}
rect,path,.free,.used{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
COLOURS = {"R": "#8ecae6", "D": "#219ebc", "M": "#ffb703", "x": "#cdb4db", "in": "#d9d9d9"}
WIDE, HIGH, ROW, LEFT, CHART = 200, 82, 16, 110, 760
FULL, EM = 870, 60
"""Width of a whole drawing, and in em."""
COLUMNS, TOP, GAP = (10, 330, 660), 20, 44
PLACES = {
    "trig": (0, 0, "sine and cosine"),
    "dynamics": (1, 0, "forward-backward sweep"),
    "mass": (1, 1, "backward-forward sweep"),
    "solve": (2, 1, "Minv (tau - c)"),
    "derivatives": (2, 0, "-Minv dtau"),
    "step": (2, 2, "next state of a step"),
}
"""Column, row, and what the array computes."""
EDGES = (
    ("trig", "dynamics", "dynamics_in"),
    ("trig", "mass", "mass_in"),
    ("dynamics", "derivatives", "dtau"),
    ("mass", "solve", "inverse"),
    ("dynamics", "solve", "c"),
    ("solve", "step", "solved"),
)
PIPELINE = (
    "A task enters at <code>trig</code>. Each box is an array with its own Verilog module. Registers are counted in "
    "words of a signal. The number of a queue is its depth: how many tasks can wait in it."
)
FUNCTIONS = (
    "Latency: from a task to its result, with no other task in the accelerator. Interval: from one task to the next. "
    "DSPs: those of all arrays that the function uses. Bytes: those of a packet at the AXI boundary. Million tasks a "
    "second: what the accelerator can do, and what the bus and the link can feed."
)
FLAGGED = "Flagged states: those with an input outside the box, or with a signal that was clamped."
ERRORS = (
    "Of the integers against float64, over random states of the box without a flag. Each cell has the absolute error "
    "in the output's SI unit, and in brackets the relative one. The maximum is that of the samples and not a bound."
)
TIMETABLE = (
    "Cycles are counted from the task's entry into the array. A bar goes from the first operand of a stage to its last "
    "result. A red line marks the cycle in which results leave the array. Stage x has the operations that belong to no "
    "single joint or column."
)
STAGES = {
    "trig": "x: sine and cosine of each angle.",
    "dynamics": "Rf, Rb: forward and backward step of inverse dynamics. Df, Db: those of its derivatives. The number "
    "is the joint, from 0.",
    "mass": "Mb: backward step of the mass matrix; the number is the joint, from 0. M: factors of the mass matrix, and "
    "its inverse.",
    "solve": "x: Minv (tau - c), the accelerations.",
    "derivatives": "-Minv times the derivatives of tau, a stage for each column.",
    "step": "x: the next state of an integration step.",
}
ARRAYS = (
    "Units: multipliers, and units for sine and cosine or for reciprocals. At an interval above 1 the operations of a "
    "stage share them, one after the other (time multiplexing). Sums have adders of their own."
)
FORMATS = (
    "Proven: the format of the signal holds every state of the box. Sampled: the format was chosen from random states; "
    "if a task exceeds it, the signal is clamped and the result flagged."
)


def page(acc: Accelerator, report: Report, robot: str = "") -> str:
    """The page of an accelerator and its report. robot: what the page calls it, else the name of the module."""
    title = f"{printable(robot) or report['name']}: {', '.join(acc.plan.functions)}"
    percent = f"{acc.dsp} DSPs, {report['dsp_percent']} % of an {report['device']}"
    parts = [
        f"<p>Words {escape(report['word'])}; a task every {cycles(acc.ii)}; {percent}.</p>",
        f"<p>Times are for an assumed clock of {report['assumed_clock_mhz']:g} MHz. No clock was measured.</p>",
        f"<p>The box of the inputs: {escape(said_box(report)).replace('≤', '&le;')}.</p>",
        *(f"<p><b>{escape(warning)}</b></p>" for warning in report["warnings"]),
        *_section("Pipeline", PIPELINE, scrolled(pipeline(acc))),
        *_section("DSPs in use", "", dsps(acc)),
        *_section("Functions", FUNCTIONS, scrolled(_functions(report["functions"])), FLAGGED),
        *_section("Errors", ERRORS, scrolled(_errors(report["functions"]))),
        *_section("Timetable", TIMETABLE),
        *(f"<h3>{name}</h3><p>{STAGES[name]}</p>{scrolled(timetable(acc, name))}" for name in acc.arrays),
        *_section("Arrays", ARRAYS, scrolled(_arrays(acc, report["arrays"]))),
        *_section("Formats of signals", FORMATS, scrolled(_formats(report["functions"]))),
    ]
    return whole(title, parts, STYLE)


def _section(title: str, about: str, *parts: str) -> list[str]:
    return [f"<h2>{title}</h2>", *(f"<p>{x}</p>" if x and x[0] != "<" else x for x in (about, *parts) if x)]


def _functions(functions: Report) -> str:
    rows: list[list[Any]] = []
    for name, row in functions.items():
        rates = row["boundary"]
        cells = [rates[what] for what in ("task_bytes", "result_bytes", "chip_million_per_s", "board_million_per_s")]
        cells += [f"{100.0 * row['errors'].get('clamped', 0.0):.2g} %", row["states"]]
        rows.append([name, said_latency(row), row["assumed_us"], row["ii"], row["dsp"], *cells])
    heads = ["function", "latency, cycles", "latency, &micro;s", "interval, cycles", "DSPs", "bytes of a task"]
    heads += ["bytes of a result", "million tasks/s: accelerator", "with bus and link", "flagged states"]
    return _table([*heads, "states sampled"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["".join(f"<th>{head}" for head in heads), *("".join(f"<td>{cell}" for cell in row) for row in rows)]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _errors(functions: Report) -> str:
    """A row for each output: quantiles, and the maximum of the samples."""
    rows: list[list[str]] = []
    ends = {"median": "_p50", "90 % of the states": "_p90", "99 % of the states": "_p99", "maximum": ""}
    for name, row in functions.items():
        errors: dict[str, float] = row["errors"]
        for output in (key.removesuffix("_absolute") for key in errors if key.endswith("_absolute")):
            pairs = ((errors[f"{output}_absolute{end}"], errors[f"{output}_relative{end}"]) for end in ends.values())
            rows.append([name, escape(output), *(f"{absolute:.2g} ({relative:.1g})" for absolute, relative in pairs)])
    return _table(["function", "output", *ends], rows)


def _formats(functions: Report) -> str:
    rows = [[name, *row["signals"].values()] for name, row in functions.items()]
    return _table(["function", "signals: proven", "sampled"], rows)


def _arrays(acc: Accelerator, arrays: Report) -> str:
    units = {name: sum(array.units.values()) for name, array in acc.arrays.items()}
    rows = [
        [name, row["operations"], units[name], row["dsp"], row["words"], *row["signals"].values()]
        for name, row in arrays.items()
    ]
    heads = ["array", "operations", "units", "DSPs", "registers, in words", "signals: proven", "sampled"]
    return _table(heads, rows)


def pipeline(acc: Accelerator) -> str:
    """Arrays as boxes, queues as marks on the arrows with their depth."""
    marker = '<marker id="to" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    shapes = [f'<defs>{marker}<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>']
    at = _corners(acc)
    for start, end, queue in EDGES:
        if start in at and end in at:
            shapes.append(_arrow(at[start], at[end], f"queue of {acc.depths[queue]}"))
    bottom = max(y for _, y in at.values()) + HIGH
    if acc.plan.fed_back:
        (x, y), (to, up) = at["solve"], at["trig"]
        text, low = f"feedback: a, queue of {acc.depths['back']}", y + HIGH + 34
        shapes.append(_feedback(f"M{x + 40} {y + HIGH}V{low}H{to + 100}V{up + HIGH}", 320, low - 7, text))
        bottom = max(bottom, low)
    if acc.plan.has_rounds:
        (x, y), (to, up) = at["step"], at["trig"]
        text, low = f"feedback: the next stage's state, queue of {acc.depths['round']}", y + HIGH // 2
        shapes.append(_feedback(f"M{x} {low}H{to + 80}V{up + HIGH}", 250, low - 7, text))
    shapes += [_box(acc, name, *corner) for name, corner in at.items()]
    return _svg("pipeline", max(x for x, _ in at.values()) + WIDE + 10, bottom + 10, shapes)


def _corners(acc: Accelerator) -> dict[str, tuple[int, int]]:
    """Of each array's box, left and top; rows without a box are left out, trig is beside the middle of its two."""
    rows = sorted({PLACES[name][1] for name in acc.arrays if name != "trig"})
    top = {row: TOP + k * (HIGH + GAP) for k, row in enumerate(rows)}
    found = {name: (COLUMNS[PLACES[name][0]], top.get(PLACES[name][1], TOP)) for name in acc.arrays}
    beside = [found[name][1] for name in ("dynamics", "mass") if name in found]
    if "trig" in found and beside:
        found["trig"] = COLUMNS[0], sum(beside) // len(beside)
    return found


def _box(acc: Accelerator, name: str, x: int, y: int) -> str:
    array = acc.arrays[name]
    lines = (
        PLACES[name][2],
        f"{len(Binding(array).stages)} stages, {array.latency} cycles",
        f"{array_dsp(acc, name)} DSPs, {words_held(acc, name)} registers",
    )
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" class="box"/>'
        f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{name}</text>'
    ) + "".join(f'<text x="{x + 10}" y="{y + 37 + 17 * k}">{line}</text>' for k, line in enumerate(lines))


def _feedback(path: str, x: int, y: int, text: str) -> str:
    return f'<path d="{path}" class="arrow" marker-end="url(#to)"/><text class="label" x="{x}" y="{y}">{text}</text>'


def _arrow(start: tuple[int, int], end: tuple[int, int], text: str) -> str:
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


def _svg(label: str, width: int, height: int, shapes: list[str]) -> str:
    """A drawing whose text has one size, also where it is narrower than a whole one."""
    em = f"min-width:{46 * width / FULL:.1f}em;max-width:{EM * width / FULL:.1f}em"
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%" style="{em}" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


def dsps(acc: Accelerator) -> str:
    """A bar for each array and one for all: what part of the device's DSPs they take."""
    rows: list[str] = []
    for name, dsp in (*((name, array_dsp(acc, name)) for name in acc.arrays), ("all", acc.dsp)):
        percent = 100.0 * dsp / acc.device.dsp
        bar = f'<div class="free"><div class="used" style="width:{min(percent, 100.0):.1f}%"></div></div>'
        rows.append(
            f'<tr><td>{name}</td><td class="bar">{bar}</td><td>{dsp} of {acc.device.dsp}, {percent:.1f} %</td></tr>'
        )
    return f'<table class="bars">{"".join(rows)}</table>'


def timetable(acc: Accelerator, name: str) -> str:
    """A bar for each stage; the lines are where results leave."""
    schedule = acc.arrays[name]
    binding, latency = Binding(schedule), schedule.latency
    scale = (CHART - LEFT) / max(latency, 1)
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
            f"{len(ops)} operations, {units} units, interval {schedule.ii}</title></rect>"
        )
    height = len(stages) * ROW
    tick = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, latency) if latency <= 16 * step)
    for cycle in range(0, latency + 1, tick):
        x = LEFT + scale * cycle
        rows.append(
            f'<path d="M{x:.1f} 0V{height + 4}" class="grid"/>'
            f'<text x="{x:.1f}" y="{height + 16}" text-anchor="middle">{cycle}</text>'
        )
    rows.append(f'<text x="{LEFT - 8}" y="{height + 16}" text-anchor="end">cycle</text>')
    marks, lines = _taps(schedule.taps, scale, height)
    return _svg(f"timetable of {name}", CHART + 10, height + 22 + 16 * lines, [*rows, *marks])


def _taps(taps: Mapping[str, int], scale: float, height: int) -> tuple[list[str], int]:
    """A line for each cycle at which results leave, with their names; a label that would meet the one before it is
    lower. How many lines of labels."""
    shapes: list[str] = []
    line, lines, before = 0, 1, 0.0
    for cycle, groups in groupby(sorted(taps, key=lambda group: taps[group]), key=lambda group: taps[group]):
        x, said = LEFT + scale * cycle, f"{', '.join(groups)} {cycle}"
        line = line + 1 if x - 7.0 * len(said) < before else 0
        lines, before = max(lines, line + 1), x
        shapes.append(
            f'<path d="M{x:.1f} 0V{height}" class="tap"/><text x="{x - 4:.1f}" y="{height + 32 + 16 * line}" '
            f'text-anchor="end">{said}</text>'
        )
    return shapes, lines
