"""FUNCTIONS.md from results/functions.json, and from nothing else."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import results
from benchmarks.sections import number, table

SOURCE = results.FOLDER / "functions.json"
PATH = results.ROOT / "benchmarks" / "FUNCTIONS.md"
HEAD = """# Functions compared with Pinocchio

Made by `python -m benchmarks.functions --table` from [functions.json](results/functions.json). Times are nanoseconds a
state, the least of interleaved samples: with dense NumPy arrays and `out=`, with packed arrays, and of a loop over
Pinocchio's C++ in the same process. The ratio is Pinocchio's time divided by that of a dense call, and in brackets by
that of a packed call. Bytes are those that a dense call reads and writes. The parts are rows to vectors and back, sines
and cosines, and the other arithmetic, each measured alone. They do not contain the call itself, nor the time that a
part waits for another.
"""
TWENTY = ("fk", "com", "g", "ke", "fa")
SECOND = ("jcom", "cmm", "djac", "cor")
GOALS = {
    "panda": {**dict.fromkeys((*TWENTY, *SECOND), 20.0), "jac": 15.0, "reg": 5.0},
    "hyq-floating": {**dict.fromkeys(TWENTY, 20.0), **dict.fromkeys(SECOND, 15.0), "jac": 5.0, "reg": 2.5},
}


def page() -> str:
    if not SOURCE.exists():
        return HEAD
    whole: dict[str, Any] = json.loads(SOURCE.read_text())
    machine = whole["machine"]
    robots = whole["measurements"]["functions"]
    facts = [f"| {key} | {value} |" for key, value in machine.items()]
    body = [line for name, entry in robots.items() for line in robot(name, entry)]
    return "\n".join([HEAD, "| | |", "|---|---|", *facts, "", *body]).rstrip() + "\n"


def robot(name: str, entry: dict[str, Any]) -> list[str]:
    """One robot: its batches, and its single states."""
    rows = [row(name, key, cell) for key, cell in entry["functions"].items()]
    rival = entry["rival"]
    certificate = (
        f"{entry['date']}, commit {entry['commit'][:10]}, load {entry['load']}; N = {entry['batch']}, float64, one "
        f"thread; frame `{entry['frame']}`; Pinocchio {rival['version']} by {rival['compiler']}, `{rival['flags']}`."
    )
    heads = ["function", "dense", "packed", "Pinocchio", "ratio", "goal", "met", "bytes", "parts"]
    return [f"## {name}, nv {entry['nv']}", "", certificate, "", *table(heads, rows), *singles(entry["one"])]


def row(name: str, key: str, cell: dict[str, Any]) -> list[str]:
    dense, packed, theirs = (cell["ns"][engine]["minimum"] for engine in ("dense", "packed", "pinocchio"))
    goal = GOALS[name].get(key)
    met = "" if goal is None else "yes" if theirs / dense >= goal else "no"
    ratio = f"{theirs / dense:.1f} ({theirs / packed:.1f})"
    taken, given = cell["bytes"]
    numbers = [number(x) for x in (dense, packed, theirs)]
    return [key, *numbers, ratio, "" if goal is None else f"{goal:g}", met, f"{taken} + {given}", parts(cell)]


def parts(cell: dict[str, Any]) -> str:
    """Rows, sines, the rest."""
    least = {part: spread["minimum"] for part, spread in cell.get("parts", {}).items()}
    if not least:
        return ""
    each = (least["rows"], max(least["kernel"] - least["arithmetic"], 0.0), least["arithmetic"])
    return " + ".join(map(number, each))


def singles(found: dict[str, Any]) -> list[str]:
    """One state from Python, nanoseconds a call."""
    if not found:
        return []
    rows = [
        [name, *(number(cell[engine]["minimum"]) for engine in ("out", "fresh", "pinocchio-python"))]
        for name, cell in found.items()
    ]
    heads = ["one state from Python", "`out=`", "new outputs", "Pinocchio's Python"]
    return [*table(heads, rows)]
