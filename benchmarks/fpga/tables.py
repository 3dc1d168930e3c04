"""Rewrites benchmarks/FPGA.md, and the goals in docs/fpga.md, from results/fpga.json and from nothing else.

python -m benchmarks.fpga.tables            rewrite
python -m benchmarks.fpga.tables --check    exit status 1 if one of them is out of date
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from benchmarks.fpga import boxes, choices, ecp5, integers, levels
from benchmarks.fpga.errors import SLOW
from benchmarks.fpga.text import Found, certificate, dash, entries_of, error, listed, per_cent
from benchmarks.results import FOLDER, ROOT
from benchmarks.sections import FUNCTIONS, table

FILE, PAGE, DOCS = FOLDER / "fpga.json", ROOT / "benchmarks" / "FPGA.md", ROOT / "docs" / "fpga.md"
HEAD = (
    "Made by `python -m benchmarks.fpga.tables` from [results/fpga.json](results/fpga.json), which `python -m "
    "benchmarks.fpga` measures. What the words mean is in [docs/fpga.md](../docs/fpga.md)."
)
BEGIN, END = "<!-- fpga goals: begin -->", "<!-- fpga goals: end -->"
SHOWN = ("id", "difd", "fd")
NONE = (None, None, None)
GOALS: dict[str, dict[str, Any]] = {
    "iiwa14 32": {"latency": (95, 110, 260), "interval": (4, 6, 8), "share": 62},
    "iiwa14 27x18": {"latency": (75, 95, 220), "interval": (2, 2, 4), "share": 62},
    "iiwa14 27x18 difd": {"latency": (None, 90, None), "interval": (None, 1, None), "share": 85},
    "hyq 27x18": {"latency": NONE, "interval": (None, 3, None), "share": 62},
    "atlas 27x18": {"latency": NONE, "interval": (None, 16, None), "share": 95},
}
"""The most that is wanted: cycles of SHOWN, per cent of the device's DSPs."""
LIMITS = {
    "id, N m": (f"iiwa14 27x18 {SLOW}", "id", "tau_absolute", 5e-3),
    "id, of each joint's range": ("iiwa14 27x18", "id", "tau_relative", 5e-4),
    "did, of each column's largest": ("iiwa14 27x18", "did", None, 1e-2),
    "difd, of each column's largest": ("iiwa14 27x18", "difd", None, 1e-2),
}
"""What is wanted of errors: row, function, which of them (None: the largest relative one), the most."""
TIMES = {"iiwa14": {"wall_s": 30, "peak_mb": None}, "atlas": {"wall_s": 300, "peak_mb": 4096}}
SUITE_S = 360


def goals(found: Found) -> list[str]:
    """In brackets what was wanted. Cycles were found by simulating the Verilog, and are those of the schedule. DSPs are
    the units that the generator instantiates."""
    rows = [_goal(row, entry) for row, entry in found.get("cycles", {}).items()]
    heads = [
        "robot, functions, word",
        "DSPs allowed",
        *(f"{what} {' / '.join(SHOWN)}" for what in ("latency", "interval")),
    ]
    return table([*heads, "DSPs, share"], rows)


def _goal(row: str, entry: Found) -> list[str]:
    goal = GOALS.get(row, {"latency": NONE, "interval": NONE, "share": None})
    of = entry["simulated"]
    cycles = [
        f"{' / '.join(dash(of.get(f, {}).get(what)) for f in SHOWN)}{_wanted(goal[what])}"
        for what in ("latency", "interval")
    ]
    functions = "all seven" if len(entry["functions"]) == len(FUNCTIONS) else ", ".join(entry["functions"])
    share = f"{entry['share']:.1f} %{_wanted([goal['share']], ' %')}"
    about = f"{row.split()[0]}, {functions}, {entry['word']}"
    return [about, str(entry["budget"]), *cycles, f"{entry['dsp']}, {share}"]


def _wanted(values: Any, unit: str = "") -> str:
    return f" ({' / '.join(dash(value) for value in values)}{unit})" if any(values) else ""


def generating(found: Found) -> list[str]:
    """`condyle export ROBOT --target verilog`; in brackets what was wanted. Wall seconds depend on what else the
    machine did."""
    rows = [
        [
            robot,
            f"{entry['wall_s']:.0f}{_wanted([TIMES.get(robot, {}).get('wall_s')])}",
            f"{entry['processor_s']:.0f}",
            f"{entry['peak_mb'] / 1024:.2f}{_wanted([(TIMES.get(robot, {}).get('peak_mb') or 0) // 1024 or None])}",
            f"{entry['verilog_mb']:.1f}",
            f"{entry['load']:.1f}",
        ]
        for robot, entry in found.get("generation", {}).items()
    ]
    return table(["robot", "wall s", "processor s", "peak GiB", "Verilog MB", "load before"], rows)


def worst(errors: Found) -> float:
    return max((value for name, value in errors.items() if name.endswith("relative")), default=0.0)


def errors(found: Found) -> list[str]:
    """Of the integer model against float64, 10 000 random states of the box, tasks with a flag left out. id also in
    N m; else relative to the largest entry of a column (of each entry, for a vector), fd to the largest acceleration
    of the box. The box is the model's: v 10 and a 100 of iiwa14, 12 and 120 of HyQ, 1 and 10 of Atlas, but where a row
    says another. `flagged` is of all 70 000 tasks."""
    rows: list[list[str]] = []
    for row, entry in found.get("errors", {}).items():
        of = entry["functions"]
        relative = {name: error(of["fd"]["a_of_box"] if name == "fd" else worst(of[name])) for name in FUNCTIONS}
        flagged = sum(one["flagged"] for one in of.values())
        rows.append([row, error(of["id"]["tau_absolute"]), *relative.values(), str(flagged)])
    return table(["robot, word", "id, N m", *FUNCTIONS, "flagged"], rows)


def limits(found: Found) -> list[str]:
    """Of the same states; a joint's range is the largest torque that they need."""
    rows: list[list[str]] = []
    for what, (row, function, name, most) in LIMITS.items():
        if of := found.get("errors", {}).get(row, {}).get("functions", {}).get(function):
            rows.append([f"{row}: {what}", error(of[name] if name else worst(of)), error(most)])
    return table(["", "found", "wanted"], rows)


def words(found: Found) -> list[str]:
    """Of the same states, tasks with a flag left out."""
    rows: list[list[str]] = []
    for row, entry in found.get("errors", {}).items():
        of = entry["functions"]
        both = worst(of["minv"]), of["fd"]["a_of_box"]
        flagged = [str(of[name]["flagged"]) for name in ("minv", "fd")]
        rows.append([row, *map(per_cent, both), " / ".join(flagged), "yes" if max(both) <= 0.01 else "no"])
    return table(["robot, word", "M⁻¹", "fd", "flagged minv / fd", "within 1 %"], rows)


WHAT = ("lut", "ff", "ff_of_products", "dsp", "bram18")


def counts(found: Found) -> list[str]:
    """`make count`, all seven functions, 27x18, default budget, or so many DSPs as the name says. A function has what
    the arrays have that its tasks go through, so shared ones count in each. The boundary has 512 bits a beat and is
    not in the whole."""
    robots = _robots(found.get("counts", {}))
    heads = [f"{robot}, interval {entry['interval']}" for robot, entry in robots.items()]
    rows = [["whole", *(_counted(entry["whole"]) for entry in robots.values())]]
    for part, name in (("arrays", "`{}`"), ("functions", "{}")):
        for place in listed(place for entry in robots.values() for place in entry[part]):
            rows += [[name.format(place), *(_counted(entry[part].get(place)) for entry in robots.values())]]
    rows += [["boundary", *(_counted(entry.get("boundary")) for entry in robots.values())]]
    for name, place in (("", "whole"), (" of the boundary", "boundary")):
        most = [_loads(entry.get(place)) for entry in robots.values()]
        rows.append([f"most loads of a net{name}, clock and reset apart", *most])
    rows += [
        ["yosys: processor s, peak GiB", *(f"{e['seconds']:.0f}, {e['peak'] / 1024:.1f}" for e in robots.values())]
    ]
    return table([" / ".join(WHAT), *heads], rows)


def _robots(rows: Found) -> Found:
    """Rows of one robot together: its arrays may have been counted one by one."""
    robots: Found = {}
    for row, entry in rows.items():
        robot = robots.setdefault(row.split()[0], {"seconds": 0, "peak": 0, "arrays": {}, "functions": {}})
        robot["seconds"] += entry["processor_s"]
        robot["peak"] = max(robot["peak"], entry["peak_mb"])
        robot |= {what: entry.get(what) for what in ("interval", "whole", "boundary")}
        for part in ("arrays", "functions"):
            robot[part] |= entry[part]
    return robots


def _loads(whole: Found | None) -> str:
    most = (whole or {}).get("most_loads")
    return f"{most['loads']} ({most['net']})" if most else "-"


def _counted(cells: Found | None) -> str:
    return " / ".join(str(cells.get(key, "-")) for key in WHAT) if cells else "-"


def simulation(found: Found) -> list[str]:
    """`condyle fpga simulate ROBOT --tool verilator --states N`: every bit of every answer, under so many of the four
    patterns of stalls (both ends, none, the input, the output). Seconds hold building and the model's answers."""
    rows = [
        [
            row,
            *(f"{entry[key]:,}".replace(",", " ") for key in ("states", "tasks", "cycles")),
            str(entry["patterns"]),
            "0" if entry["right"] else "WRONG",
            f"{entry['processor_s']:.0f}",
            f"{entry['peak_mb'] / 1024:.1f}",
        ]
        for row, entry in found.get("simulation", {}).items()
    ]
    heads = [
        "robot, functions",
        "states a function",
        "tasks",
        "cycles",
        "patterns",
        "mismatches",
        "processor s",
        "peak GiB",
    ]
    return table(heads, rows)


def axi(found: Found) -> list[str]:
    """Through AXI4-Streams of so many bits, tasks of one function after the other, simulated; at an assumed 125 MHz.
    The limit is a beat in each cycle of the wider direction, or the interval where that is longer; added are cycles
    from the first beat of a task to the first of its result, beyond the accelerator's latency."""
    rows = [
        [
            f"{row}, interval {entry['interval']}: {function}",
            *(f"{of[f'{what}_beats']}, {of[f'{what}_bytes']}" for what in ("task", "result")),
            f"{1e-6 * of['per_s']:.1f}",
            f"{100 * of['share']:.1f} %",
            f"{of['latency']} ({of['added']})",
        ]
        for row, entry in found.get("axi", {}).items()
        for function, of in entry["functions"].items()
    ]
    heads = ["robot, bits", "task: beats, bytes", "result", "million tasks a second", "of the limit", "latency (added)"]
    return table(heads, rows)


def suite(found: Found) -> list[str]:
    """The FPGA target's part of the tests, `pytest -n auto --dist worksteal`. Where the load says that others worked
    too, the processor's seconds over the cores are the fair figure; in brackets what was wanted of both parts' wall."""
    rows = [
        [
            name,
            str(entry["passed"]),
            f"{entry['wall_s']:.0f}",
            f"{entry['processor_s']:.0f}",
            str(entry["cores"]),
            f"{entry['processor_s'] / entry['cores']:.0f} ({SUITE_S})",
            f"{entry['load']:.1f} / {entry['load_after']:.1f}",
        ]
        for name, entry in found.get("suite", {}).items()
    ]
    return table(["part", "tests", "wall s", "processor s", "cores", "processor s a core", "load before / after"], rows)


SECTIONS = (
    ("Goals", "cycles", goals),
    ("Generating", "generation", generating),
    ("Errors", "errors", errors),
    ("Errors and what was wanted of them", "errors", limits),
    ("Words that reach 1 %", "errors", words),
    ("Boxes", "boxes", boxes.boxes),
    ("Integers in Python", "integers", integers.integers),
    ("Tables and registers", "counts", counts),
    ("Logic levels", "levels", levels.levels),
    ("Place and route on ECP5", "ecp5", ecp5.ecp5),
    ("Long simulation", "simulation", simulation),
    ("Boundary", "axi", axi),
    ("Tests", "suite", suite),
    *choices.SECTIONS,
)
"""Title, section of the results, the table; what it is says the function's docstring."""


def page(whole: dict[str, Any]) -> str:
    """All of FPGA.md."""
    found, machine = whole["measurements"], whole["machine"]
    about = f"{machine['cpu']}, {machine['cores']} cores; Python {machine['python']}, NumPy {machine['numpy']}."
    lines = ["# FPGA results", "", f"{HEAD} {about}", ""]
    for title, section, made in SECTIONS:
        if entries := entries_of(found, section, title):
            said = " ".join((made.__doc__ or "").split())
            lines += [f"## {title}", "", said, "", *made(found), certificate(entries), ""]
    return "\n".join(lines).rstrip() + "\n"


def read() -> dict[str, Any]:
    """The results, rows in the order of their sections' lists."""
    whole: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    for section, rows in whole["measurements"].items():
        order: tuple[str, ...] = import_module(f"benchmarks.fpga.{section}").ROWS
        whole["measurements"][section] = {row: rows[row] for row in order if row in rows}
    return whole


def updated(text: str, whole: dict[str, Any]) -> str:
    """docs/fpga.md with fresh goals."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    body = "\n".join(goals(whole["measurements"])).rstrip()
    return f"{head}{BEGIN}\n{body}\n{END}{tail}"


def main() -> int:
    whole, text = read(), DOCS.read_text(encoding="utf-8")
    fresh, results = updated(text, whole), page(whole)
    if "--check" in sys.argv[1:]:
        return int(fresh != text or not PAGE.exists() or PAGE.read_text(encoding="utf-8") != results)
    DOCS.write_text(fresh, encoding="utf-8")
    PAGE.write_text(results, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
