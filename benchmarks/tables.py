"""Rewrites docs/results/speed.md with its figure, and benchmarks/RESULTS.md, from the newest results file of each
machine, and from nothing else. The figure needs Matplotlib.

python -m benchmarks.tables            rewrite
python -m benchmarks.tables --check    exit status 1 if one of them is out of date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import sections
from benchmarks.results import newest
from benchmarks.speed_figure import draw

ROOT = Path(__file__).resolve().parent.parent
SPEED, RESULTS = ROOT / "docs" / "results" / "speed.md", ROOT / "benchmarks" / "RESULTS.md"
FIGURE = ROOT / "docs" / "figures" / "speed.svg"
HEAD = """# Speed

How fast are the functions of the equation of motion? Made by `python -m benchmarks.tables`. On your machine: `condyle
bench ROBOT --against pinocchio,casadi,mujoco --html page.html`. [All results](../../benchmarks/RESULTS.md): other
robots, machines and libraries, batch sizes, float32, threads, one state, compile times.

"""
TITLES = {
    "pinocchio-gcc": "Pinocchio by g++",
    "casadi": "C by CasADi",
    "mujoco": "MuJoCo (without finite differences)",
}
PICTURE = "![nanoseconds a state of Condyle, CasADi, Pinocchio and MuJoCo](../figures/speed.svg)"
NOTHING = "No measurement has been recorded yet.\n"


def table(paths: Sequence[Path]) -> str:
    """The figure, and the table of the first machine: ours, and how many times as long Pinocchio's C++ takes."""
    tables = [text for path in paths if (text := _machine(path))]
    return "\n".join([f"{PICTURE}\n", *tables[:1]]) if tables else NOTHING


def _machine(path: Path) -> str:
    whole: dict[str, Any] = json.loads(path.read_text())
    robots = {name: entry for name, entry in whole["measurements"].get("against", {}).items() if "rivals" in entry}
    if not robots:
        return ""
    rows = [_line(name, entry) for name, entry in robots.items()]
    head = sections.table([whole["machine"]["cpu"], "nv", *sections.FUNCTIONS], rows)
    return "\n".join([*head, _certificate(path, whole, robots), "", _others(robots)]).rstrip() + "\n"


def page(paths: Sequence[Path]) -> str:
    """All of RESULTS.md."""
    head = (
        "# Results\n\nMade by `python -m benchmarks.tables` from the newest results file of each machine.\n"
        '`panda` has its fingers locked (`load("panda")` has nv 8); `talos-reduced` is the file from which\n'
        '`load("talos")` is written; `-floating` is `floating_base=True`.\n\n'
    )
    last = max((_date(path) for path in paths), default="")
    return head + ("\n".join(_results(path, last) for path in paths) or NOTHING)


def _date(path: Path) -> str:
    return path.name[:10]


def _results(path: Path, last: str) -> str:
    whole: dict[str, Any] = json.loads(path.read_text())
    facts = [f"| {key} | {value} |" for key, value in whole["machine"].items()]
    title = [f"## {whole['machine']['cpu']}", "", f"[{path.name}](results/{path.name})"]
    if _date(path) < last:
        title += ["", f"**These figures are of {_date(path)}; the code has changed since.**"]
    parts = (f"#{line}" if line.startswith("## ") else line for line in sections.page(whole["measurements"]))
    body = [*title, "", "| | |", "|---|---|", *facts, "", *parts]
    return "\n".join(body).rstrip() + "\n"


def _line(name: str, entry: dict[str, Any]) -> list[str]:
    functions = entry["functions"]
    return [name, str(entry["nv"]), *(_cell(functions.get(key, {}).get("ns", {})) for key in sections.FUNCTIONS)]


def _cell(ns: dict[str, dict[str, float]]) -> str:
    if "condyle" not in ns:
        return "-"
    ours = ns["condyle"]["median"]
    theirs = f" ({ns['pinocchio']['median'] / ours:.1f})" if "pinocchio" in ns else ""
    return sections.number(ours) + theirs


def _others(robots: dict[str, Any]) -> str:
    """The least and the most of every other library, functions by finite differences apart."""
    found: dict[str, list[float]] = {}
    for entry in robots.values():
        for name, cell in entry["functions"].items():
            for engine, ns in cell["ns"].items():
                if "finite" not in entry["rivals"].get(engine, {}).get("algorithms", {}).get(name, "finite"):
                    found.setdefault(engine, []).append(ns["median"] / cell["ns"]["condyle"]["median"])
    words = [f"{TITLES[engine]} {min(x):.0f} to {max(x):.0f}" for engine, x in found.items() if engine in TITLES]
    return f"In the same runs, of all robots, others took so many times as long: {', '.join(words)}." if words else ""


def _certificate(path: Path, whole: dict[str, Any], robots: dict[str, Any]) -> str:
    machine = whole["machine"]
    rival = next(entry["rivals"]["pinocchio"] for entry in robots.values() if "pinocchio" in entry["rivals"])
    batch = next(iter(robots.values()))["batch"]
    dates = sorted({entry["date"][:10] for entry in robots.values()})
    commits = sorted({entry["commit"][:10] for entry in robots.values()})
    where = path.relative_to(ROOT).as_posix()
    return (
        f"Nanoseconds a state of Condyle; in brackets, how many times as long Pinocchio {rival['version']} takes. "
        f"`-floating` is `floating_base=True`. "
        f"float64, one thread, {batch} states a call, NumPy arrays in and out, medians of CPU time, in turn in one "
        f"process, {machine['instructions']}; Pinocchio by {rival['compiler']}, `{rival['flags']}`. "
        f"{', '.join(dates)}, commit {', '.join(commits)}: [results](../../{where})."
    )


def main() -> int:
    paths = newest()
    pages = {SPEED: HEAD + table(paths), RESULTS: page(paths)}
    if "--check" in sys.argv[1:]:
        return int(any(not path.exists() or path.read_text() != text for path, text in pages.items()))
    for path, text in pages.items():
        path.write_text(text)
    _draw(paths)
    return 0


def _draw(paths: Sequence[Path]) -> None:
    """The figure, of the first machine with measurements of other libraries."""
    for path in paths:
        whole: dict[str, Any] = json.loads(path.read_text())
        if against := whole["measurements"].get("against"):
            draw(against, whole["machine"]["cpu"], FIGURE)
            return


if __name__ == "__main__":
    sys.exit(main())
