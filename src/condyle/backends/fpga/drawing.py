"""The drawings of an accelerator's page, as SVG and HTML: its pipeline, its DSPs, the timetable of an array."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from condyle.backends.fpga.binding import Binding
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.report import array_dsp, words_held

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
    counts: Mapping[str, int] = {**{name: array_dsp(acc, name) for name in acc.arrays}, "all": acc.dsp}
    rows: list[str] = []
    for name, dsp in counts.items():
        percent = 100.0 * dsp / acc.device.dsp
        bar = f'<div class="free"><div class="used" style="width:{min(percent, 100.0):.1f}%"></div></div>'
        rows.append(
            f'<tr><td>{name}</td><td class="bar">{bar}</td><td>{dsp} of {acc.device.dsp}, {percent:.1f} %</td></tr>'
        )
    return f'<table class="bars">{"".join(rows)}</table>'


def timetable(acc: Accelerator, name: str) -> str:
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
            f"{len(ops)} operations, {units} units, interval {schedule.ii}</title></rect>"
        )
    height = len(stages) * ROW
    for cycle in range(0, schedule.latency + 1, _tick(schedule.latency)):
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


def _tick(latency: int) -> int:
    """Cycles from one mark of the axis to the next."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, latency) if latency <= 16 * step)
