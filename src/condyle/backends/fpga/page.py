"""One HTML page of an accelerator: the pipeline as a drawing, its timetable, resources and errors. No scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import cast

from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.drawing import STYLE, dsps, pipeline, timetable
from condyle.backends.fpga.report import Json, array_dsp, cycles, said_box, said_latency, words_held
from condyle.pages import scrolled, whole
from condyle.text import printable

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


def page(acc: Accelerator, found: Mapping[str, Json], robot: str = "") -> str:
    """The page of an accelerator and its report. robot: what the page calls it, else the name of the module."""
    title = f"{printable(robot) or found['name']}: {', '.join(acc.plan.functions)}"
    percent = f"{acc.dsp} DSPs, {found['dsp_percent']} % of an {found['device']}"
    clock = f"{found['assumed_clock_mhz']:g}"
    parts = [
        f"<p>Words {escape(str(found['word']))}; a task every {cycles(acc.ii)}; {percent}.</p>",
        f"<p>Times are for an assumed clock of {clock} MHz. No clock was measured.</p>",
        f"<p>The box of the inputs: {escape(said_box(found)).replace('≤', '&le;')}.</p>",
        *(f"<p><b>{escape(str(warning))}</b></p>" for warning in cast("list[Json]", found["warnings"])),
        *_section("Pipeline", PIPELINE, scrolled(pipeline(acc))),
        *_section("DSPs in use", "", dsps(acc)),
        *_section("Functions", FUNCTIONS, scrolled(_functions(found)), FLAGGED),
        *_section("Errors", ERRORS, scrolled(_errors(found))),
        *_section("Timetable", TIMETABLE),
        *(f"<h3>{name}</h3><p>{STAGES[name]}</p>{scrolled(timetable(acc, name))}" for name in acc.arrays),
        *_section("Arrays", ARRAYS, scrolled(_arrays(acc, found))),
        *_section("Formats of signals", FORMATS, scrolled(_formats(found))),
    ]
    return whole(title, parts, STYLE)


def _section(title: str, about: str, *parts: str) -> list[str]:
    return [f"<h2>{title}</h2>", *(f"<p>{x}</p>" if x and x[0] != "<" else x for x in (about, *parts) if x)]


def _functions(found: Mapping[str, Json]) -> str:
    rows: list[list[Json]] = []
    for name, row in cast("dict[str, dict[str, Json]]", found["functions"]).items():
        errors = cast("dict[str, float]", row["errors"])
        rates = cast("dict[str, Json]", row["boundary"])
        known = [rates[what] for what in ("task_bytes", "result_bytes", "chip_million_per_s", "board_million_per_s")]
        flagged = f"{100.0 * errors.get('clamped', 0.0):.2g} %"
        known = [name, said_latency(row), row["assumed_us"], row["ii"], row["dsp"], *known, flagged, row["states"]]
        rows.append(known)
    heads = ["function", "latency, cycles", "latency, &micro;s", "interval, cycles", "DSPs", "bytes of a task"]
    heads += ["bytes of a result", "million tasks/s: accelerator", "with bus and link", "flagged states"]
    return _table([*heads, "states sampled"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Json]]) -> str:
    lines = ["".join(f"<th>{head}" for head in heads), *("".join(f"<td>{cell}" for cell in row) for row in rows)]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _errors(found: Mapping[str, Json]) -> str:
    """A row for each output: quantiles, and the maximum of the samples."""
    rows: list[list[Json]] = []
    ends = {"median": "_p50", "90 % of the states": "_p90", "99 % of the states": "_p99", "maximum": ""}
    for name, row in cast("dict[str, dict[str, Json]]", found["functions"]).items():
        errors = cast("dict[str, float]", row["errors"])
        for output in (key.removesuffix("_absolute") for key in errors if key.endswith("_absolute")):
            pairs = ((errors[f"{output}_absolute{end}"], errors[f"{output}_relative{end}"]) for end in ends.values())
            rows.append([name, escape(output), *(f"{absolute:.2g} ({relative:.1g})" for absolute, relative in pairs)])
    return _table(["function", "output", *ends], rows)


def _formats(found: Mapping[str, Json]) -> str:
    functions = cast("dict[str, dict[str, Json]]", found["functions"])
    rows = [[name, *_signals(row)] for name, row in functions.items()]
    return _table(["function", "signals: proven", "sampled"], rows)


def _signals(row: Mapping[str, Json]) -> list[int]:
    signals = cast("dict[str, int]", row["signals"])
    return [signals["proven"], signals["sampled"]]


def _arrays(acc: Accelerator, found: Mapping[str, Json]) -> str:
    rows: list[list[Json]] = []
    known = cast("dict[str, dict[str, Json]]", found["arrays"])
    for name, array in acc.arrays.items():
        counts = (len(array.datapath.ops), sum(array.units.values()), array_dsp(acc, name))
        rows.append([name, *counts, words_held(acc, name), *_signals(known[name])])
    heads = ["array", "operations", "units", "DSPs", "registers, in words", "signals: proven", "sampled"]
    return _table(heads, rows)
