"""The first figure of README: rollouts and derivatives, compared with Pinocchio and MuJoCo, from results files.

python -m benchmarks.first_figure            rewrites docs/figures/first.svg and the caption below it in README.md
python -m benchmarks.first_figure --check    exit status 1 if one of them is out of date

Of each library the fastest way that was measured is drawn. Bars are in proportion to the time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, ROOT, newest
from benchmarks.sections import number

README, FIGURE = ROOT / "README.md", ROOT / "docs" / "figures" / "first.svg"
STEPS = FOLDER / "steps.json"
BEGIN, END = "<!-- first figure: begin -->", "<!-- first figure: end -->"
ROBOTS = {"iiwa14": "iiwa14, an arm", "hyq-floating": "HyQ, a quadruped with a floating base"}
LIBRARIES = {
    "Condyle": ("condyle", "rollout"),
    "Pinocchio": ("pinocchio", "pinocchio-gcc"),
    "MuJoCo": ("mujoco", "mujoco-batch"),
}
"""Names in the results files; of several the least time is taken."""

WIDTH, PANEL, LEFT, BAR, LINE = 860, 430, 84, 170, 21
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.paper{fill:#fff}"
    ".Condyle{fill:#1b6ca8}.Pinocchio{fill:#8a8d91}.MuJoCo{fill:#c8553d}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ec}.paper{fill:#0d1117}"
    ".Condyle{fill:#58a6e0}.Pinocchio{fill:#9aa0a6}.MuJoCo{fill:#e07a5f}}"
)


@dataclass(frozen=True)
class Panel:
    """One comparison: ns[robot][library], and where its numbers are from."""

    title: str
    ns: Mapping[str, Mapping[str, float]]
    where: str
    about: Mapping[str, Any]


def rollouts() -> Panel:
    """Least times of a step, semi-implicit Euler, the last state kept."""
    whole: dict[str, Any] = json.loads(STEPS.read_text())
    entries = {robot: whole["measurements"]["rollout"][robot] for robot in ROBOTS}
    ns = {robot: least(entry["ns"], "minimum") for robot, entry in entries.items()}
    first = next(iter(entries.values()))
    return Panel("One step of a rollout", ns, where(whole, entries), first)


def derivatives() -> Panel:
    """Medians of dfd, of the first machine with measurements of other libraries."""
    files: list[dict[str, Any]] = [json.loads(path.read_text()) for path in newest()]
    whole = next(found for found in files if "against" in found["measurements"])
    entries = {robot: whole["measurements"]["against"][robot] for robot in ROBOTS}
    ns = {robot: least(entry["functions"]["dfd"]["ns"], "median") for robot, entry in entries.items()}
    first = next(iter(entries.values()))
    return Panel("Derivatives of forward dynamics, one state", ns, where(whole, entries), first)


def least(ns: Mapping[str, Mapping[str, float]], which: str) -> dict[str, float]:
    """The fastest way of each library; libraries that were not timed are left out."""
    found = {name: [ns[way][which] for way in ways if way in ns] for name, ways in LIBRARIES.items()}
    return {name: min(times) for name, times in found.items() if times}


def where(whole: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Processor, instructions and date; an entry of another processor than its file's names its own."""
    cpus = dict.fromkeys(entry.get("cpu", whole["machine"]["cpu"]) for entry in entries.values())
    days = sorted({entry["date"][:10] for entry in entries.values()})
    return ", ".join([*cpus, whole["machine"]["instructions"].split(", ")[-1].upper(), *days])


def svg(panels: list[Panel]) -> str:
    """The picture; its colours follow the reader's light or dark scheme, on a ground of its own."""
    height = 66 + len(ROBOTS) * (len(LIBRARIES) + 1) * LINE + 14 * (len(ROBOTS) - 1)
    body = [line for k, panel in enumerate(panels) for line in drawn(panel, k * PANEL + 16)]
    spoken = "; ".join(f"{panel.title}: {said(panel)}" for panel in panels)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(spoken)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
            *body,
            "</svg>\n",
        ]
    )


def said(panel: Panel) -> str:
    return ", ".join(f"{robot} {name} {number(ns)} ns" for robot, of in panel.ns.items() for name, ns in of.items())


def drawn(panel: Panel, x: float) -> list[str]:
    """A title; a robot a group, a library a line."""
    longest = max(ns for of in panel.ns.values() for ns in of.values())
    lines, y = [f'<text class="title" x="{x}" y="26">{panel.title}</text>'], 30
    for robot, name in ROBOTS.items():
        y += LINE
        lines.append(f'<text x="{x}" y="{y}">{name}</text>')
        for library in LIBRARIES:
            y += LINE
            lines += row(panel.ns[robot], library, x, y, longest)
        y += 14
    return [*lines, f'<text x="{x}" y="{y + 14}">{escape(panel.where)}</text>']


def row(ns: Mapping[str, float], library: str, x: float, y: float, longest: float) -> list[str]:
    """The name, the bar, the time, and how many times ours."""
    label = f'<text x="{x + LEFT - 8}" y="{y}" text-anchor="end">{library}</text>'
    if library not in ns:
        return [label, f'<text x="{x + LEFT}" y="{y}">not timed</text>']
    long = max(1.5, BAR * ns[library] / longest)
    times = "" if library == "Condyle" else f" ({number(ns[library] / ns['Condyle'])} times)"
    return [
        label,
        f'<rect class="{library}" x="{x + LEFT}" y="{y - 12}" width="{long:.1f}" height="14"/>',
        f'<text x="{x + LEFT + long + 6:.1f}" y="{y}">{number(ns[library])} ns{times}</text>',
    ]


def caption(panels: list[Panel]) -> str:
    """What README says below the figure."""
    steps, dfd = panels
    return (
        f"One thread, float64; in brackets, times as long as Condyle. Left: {steps.about['rollouts']} rollouts of "
        f"{steps.about['steps']} steps without contacts, least times, {steps.where} ([steps](benchmarks/STEPS.md)). "
        f"Right: {dfd.about['batch']} states a call, medians, {dfd.where}; MuJoCo by finite differences "
        "([results](benchmarks/RESULTS.md)). Of each library the fastest way that was measured."
    )


def updated(text: str, panels: list[Panel]) -> str:
    """README with the figure and its caption between their marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    path = FIGURE.relative_to(ROOT).as_posix()
    picture = f"![nanoseconds of a step of a rollout, and of the derivatives of forward dynamics]({path})"
    return f"{head}{BEGIN}\n{picture}\n\n{caption(panels)}\n{END}{tail}"


def main(readme: Path = README, figure: Path = FIGURE) -> int:
    panels = [rollouts(), derivatives()]
    text, picture = readme.read_text(), svg(panels)
    fresh = updated(text, panels)
    if "--check" in sys.argv[1:]:
        return int(fresh != text or not figure.exists() or figure.read_text() != picture)
    readme.write_text(fresh)
    figure.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
