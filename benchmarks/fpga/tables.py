"""Rewrites benchmarks/FPGA.md from results/fpga.json alone.

python -m benchmarks.fpga.tables            rewrite
python -m benchmarks.fpga.tables --check    exit status 1 if it is out of date
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from benchmarks.fpga import boxes, choices, ecp5, goals, host, integers, levels, resources, words
from benchmarks.fpga.text import Found, certificate, entries_of, goal, prose
from benchmarks.results import FOLDER, ROOT
from benchmarks.sections import table

FILE, PAGE = FOLDER / "fpga.json", ROOT / "benchmarks" / "FPGA.md"
HEAD = """\
`python -m benchmarks.fpga` measures these results and keeps them in [results/fpga.json](results/fpga.json). `python -m
benchmarks.fpga.tables` writes this page from that file. [FPGA accelerators](../docs/how-to/fpga.md) explains the
accelerator and its options.

* **Functions**: id is inverse dynamics, fd forward dynamics, m the mass matrix M, minv its inverse. did and dfd are the
  derivatives of id and fd. difd is dfd with M⁻¹ as an input. *All seven* are these.
* **Latency**: clock cycles from a task to its result, with no other task in the accelerator.
* **Interval**: the least number of clock cycles from one task of a function to the next.
* **DSPs**: DSP48E2 blocks of an XCVU9P, if the table names no other part.
* **Word**: the bits of a signal. In 27x18 the second factor of a product is cut to 18 bits, so one DSP computes it.
* **Box**: the largest |v| and |a| of the inputs, in SI units.
* **Flagged**: the result has `out_flag`. An input was outside the box, or a signal was clamped.
* **-**: not measured, or not part of the design.

The line below a table has the days and commits of its measurements, and the tools; `+changes` is a commit with further
changes."""
MACHINE = "The machine is {machine}. If a table was measured on another processor, the line below it names that one."
TIMES = {"iiwa14": {"wall_s": 30}, "atlas": {"wall_s": 300, "peak_gib": 4}}
"""The goals of an export: at most so much."""
SUITE_S = 360


def generating(found: Found) -> list[str]:
    """Time and memory of `condyle export ROBOT --target verilog` with default options. The number in brackets is the
    goal: not more than this. The elapsed time depends on what else the machine did; the load average before the run
    shows it."""
    rows = [
        [
            robot,
            f"{entry['wall_s']:.0f}{goal(TIMES.get(robot, {}).get('wall_s'))}",
            f"{entry['processor_s']:.0f}",
            f"{entry['peak_mb'] / 1024:.2f}{goal(TIMES.get(robot, {}).get('peak_gib'))}",
            f"{entry['verilog_mb']:.1f}",
            f"{entry['load']:.1f}",
        ]
        for robot, entry in found.get("generation", {}).items()
    ]
    heads = ["robot", "elapsed time, s", "processor time, s", "peak memory, GiB", "Verilog, MB"]
    return table([*heads, "load average before"], rows)


def simulation(found: Found) -> list[str]:
    """`condyle fpga simulate ROBOT --tool verilator --states N` compares every bit of every result of the Verilog with
    the integer model. A mismatch is a result with a wrong bit.

    There are four patterns of stalls: at both ends; at none; at the input most of the time; at the output most of the
    time. The table has how many of them a design was simulated with. The time includes building the simulator and
    computing the results of the model."""
    rows = [
        [
            _simulated(row),
            *(f"{entry[key]:,}".replace(",", " ") for key in ("states", "tasks", "cycles")),
            str(entry["patterns"]),
            "0" if entry["right"] else "WRONG",
            f"{entry['processor_s']:.0f}",
            f"{entry['peak_mb'] / 1024:.1f}",
        ]
        for row, entry in found.get("simulation", {}).items()
    ]
    heads = ["robot, functions", "states for each function", "tasks", "clock cycles", "patterns of stalls"]
    return table([*heads, "mismatches", "processor time, s", "peak memory, GiB"], rows)


def _simulated(row: str) -> str:
    robot, _, functions = row.partition(" ")
    return f"{robot}, {functions or 'all seven'}"


def axi(found: Found) -> list[str]:
    """`NAME_axi` of iiwa14, simulated: tasks of one function, one after the other, at an assumed
    clock of 125 MHz.

    * **Stream**: the bits of a beat, and what the words on the bus are (`--float32`, or integers).
    * **Share of the limit**: of the highest possible rate. That is one beat in each cycle of the stream with more
      beats; or one task in each interval, if that is slower.
    * **Latency**: cycles from the first beat of a task to the first beat of its result.
    * **Added by the boundary**: that latency less the latency of the accelerator `NAME` alone."""
    rows = [
        [
            _stream(row),
            function,
            str(entry["interval"]),
            *(f"{of[f'{what}_{unit}']}" for what in ("task", "result") for unit in ("beats", "bytes")),
            f"{1e-6 * of['per_s']:.1f}",
            f"{100 * of['share']:.1f} %",
            f"{of['latency']}",
            f"{of['added']}",
        ]
        for row, entry in found.get("axi", {}).items()
        for function, of in entry["functions"].items()
    ]
    heads = ["stream", "function", "interval", "task: beats", "task: bytes", "result: beats", "result: bytes"]
    return table([*heads, "million tasks a second", "share of the limit", "latency", "added by the boundary"], rows)


def _stream(row: str) -> str:
    """Of a row "iiwa14 512 float32"."""
    _, bits, *words = row.split()
    return f"{bits} bits, {words[0] if words else 'integers'}"


def suite(found: Found) -> list[str]:
    """The tests of the FPGA target, run by `pytest -n auto --dist worksteal`. The elapsed time depends on what else the
    machine did. Processor time divided by the number of cores depends less on it. The number in brackets is the goal:
    the elapsed time of both parts together is not more than this."""
    rows = [
        [
            name,
            str(entry["passed"]),
            f"{entry['wall_s']:.0f}",
            f"{entry['processor_s']:.0f}",
            str(entry["cores"]),
            f"{entry['processor_s'] / entry['cores']:.0f}{goal(SUITE_S)}",
            f"{entry['load']:.1f}",
            f"{entry['load_after']:.1f}",
        ]
        for name, entry in found.get("suite", {}).items()
    ]
    heads = ["part", "tests", "elapsed time, s", "processor time, s", "cores", "processor time / cores, s"]
    return table([*heads, "load average before", "after"], rows)


SECTIONS = (
    ("Latency, interval and DSPs", "cycles", goals.goals),
    ("Time to export", "generation", generating),
    ("Errors", "errors", goals.errors),
    ("Goals of errors", "errors", goals.limits),
    ("Words with errors within 1 %", "errors", goals.words),
    ("What a word costs", "words", words.words),
    ("Boxes", "boxes", boxes.boxes),
    ("Integers in Python", "integers", integers.integers),
    ("LUTs, registers and block RAM", "counts", resources.counts),
    ("Logic levels", "levels", levels.levels),
    ("Place and route on ECP5", "ecp5", ecp5.ecp5),
    ("Long simulation", "simulation", simulation),
    ("AXI boundary", "axi", axi),
    ("The host beside one core", "host", host.host),
    ("Time of the tests", "suite", suite),
    *choices.SECTIONS,
)
"""Title, section of the results, and the function that makes the table. Its docstring is the text above the table."""


def page(whole: dict[str, Any]) -> str:
    """All of FPGA.md."""
    found, machine = whole["measurements"], whole["machine"]
    about = f"{machine['cpu']}, {machine['cores']} cores, with Python {machine['python']} and NumPy {machine['numpy']}"
    lines = ["# FPGA results", "", *prose(HEAD), MACHINE.format(machine=about), ""]
    for title, section, made in SECTIONS:
        if entries := entries_of(found, section, title):
            lines += [f"## {title}", "", *prose(made.__doc__ or ""), "", *made(found), certificate(entries), ""]
    return "\n".join(lines).rstrip() + "\n"


def read() -> dict[str, Any]:
    """The results, rows in the order of their sections' lists."""
    whole: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    for section, rows in whole["measurements"].items():
        order: tuple[str, ...] = import_module(f"benchmarks.fpga.{section}").ROWS
        whole["measurements"][section] = {row: rows[row] for row in order if row in rows}
    return whole


def main() -> int:
    text = page(read())
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
