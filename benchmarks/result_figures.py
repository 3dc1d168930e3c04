"""docs/results/figures.md: a figure of bars for each job, from results files and from nothing else.

python -m benchmarks.result_figures            rewrites the page and docs/figures/results-*.svg
python -m benchmarks.result_figures --check    exit status 1 if one of them is out of date

Every figure names the machine, the instructions and the day of its numbers. Of several ways the fastest of each
library is drawn. Bars are in proportion to the time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.first_figure import STYLE, where
from benchmarks.results import FOLDER, ROOT, newest
from benchmarks.sections import number

PAGE, FIGURES = ROOT / "docs" / "results" / "figures.md", ROOT / "docs" / "figures"
Found = dict[str, Any]
Rows = Mapping[str, float]
"""Times by who took them; the first is ours."""

HEAD = """# Results in pictures

For those who ask how fast each job is: drawn from the results files by `python -m benchmarks.result_figures`. Least
times, one thread, float64 if nothing else is said. In brackets: times as long as Condyle's first bar of the group.
"""
WIDTH, LEFT, BAR, LINE = 600, 148, 270, 21
COLOURS = (
    ".CasADi{fill:#b07d00}.crocoddyl{fill:#7a5195}.faint{fill:#5d666e}.Condyle.second{opacity:.6}"
    "@media(prefers-color-scheme:dark){.CasADi{fill:#e0b040}.crocoddyl{fill:#b98fd0}.faint{fill:#a3adb5}}"
)


@dataclass(frozen=True)
class Chart:
    """groups: what is timed, and its rows [unit]. about: what all share. machine: where it was measured, and when."""

    name: str
    title: str
    unit: str
    groups: Mapping[str, Rows]
    about: str
    machine: str
    more: str


def read(name: str) -> Found:
    return json.loads((FOLDER / f"{name}.json").read_text())


def rows(ns: Found, names: Mapping[str, tuple[str, ...]], which: str = "minimum") -> Rows:
    """By the names of the picture; of several keys the least, and what was not timed is left out."""
    every = {name: [ns[key][which] for key in keys if key in ns] for name, keys in names.items()}
    return {name: min(times) for name, times in every.items() if times}


def dynamics() -> Chart:
    files: list[Found] = [json.loads(path.read_text()) for path in newest()]
    whole = next(file for file in files if "against" in file["measurements"])
    robots = {name: whole["measurements"]["against"][name] for name in ("iiwa14", "hyq-floating")}
    names = {
        "Condyle": ("condyle",),
        "CasADi's C": ("casadi",),
        "Pinocchio": ("pinocchio", "pinocchio-gcc"),
        "MuJoCo": ("mujoco",),
    }
    exact = {name: keys for name, keys in names.items() if name != "MuJoCo"}
    calls = {"id": "inverse dynamics", "fd": "forward dynamics", "dfd": "derivatives of forward dynamics"}
    groups = {
        f"{robot}, {said}": rows(entry["functions"][key]["ns"], exact if key == "dfd" else names, "median")
        for robot, entry in robots.items()
        for key, said in calls.items()
    }
    about = f"Medians, {robots['iiwa14']['batch']} states a call; MuJoCo's finite differences are left out."
    more = "[all functions](speed.md), [all results](../../benchmarks/RESULTS.md)"
    return Chart("dynamics", "Dynamics", "ns a state", groups, about, where(whole, robots), more)


def functions() -> Chart:
    whole = read("functions")
    robots: Found = whole["measurements"]["functions"]
    calls = {"fk": "pose of a frame", "jac": "Jacobian", "com": "centre of mass", "cmm": "centroidal momentum matrix"}
    names = {"Condyle": ("dense",), "packed": ("packed",), "Pinocchio": ("pinocchio",)}
    groups = {
        f"{robot}, {said}": rows(entry["functions"][key]["ns"], names)
        for robot, entry in robots.items()
        for key, said in calls.items()
    }
    about = "256 states a call; packed: arrays in Condyle's order."
    more = "[eighteen functions](../../benchmarks/FUNCTIONS.md)"
    return Chart("functions", "Kinematics and momentum", "ns a state", groups, about, where(whole, robots), more)


def derivatives() -> Chart:
    whole = read("derivatives")
    entry = whole["measurements"]["rates"]["panda"]
    calls = {
        "jvp_id": "inverse dynamics, product with a vector",
        "vjp_fd": "forward dynamics, gradient",
        "hessian_fd": "forward dynamics, Hessian",
    }
    groups = {
        f"panda, {said}": rows(entry["ns"], {"Condyle": (key,), "CasADi's C": (f"casadi {key}",)})
        for key, said in calls.items()
    }
    about = f"{entry['batch']} states a call."
    more = "[derivatives](../../benchmarks/DERIVATIVES.md)"
    return Chart("derivatives", "Derivatives", "ns a state", groups, about, where(whole, {"": entry}), more)


def steps() -> Chart:
    whole = read("steps")
    robots: Found = whole["measurements"]["rollout"]
    names = {
        "Condyle": ("rollout",),
        "float32": ("float32",),
        "Pinocchio": ("pinocchio", "pinocchio-gcc"),
        "MuJoCo": ("mujoco", "mujoco-batch"),
    }
    groups = {robot: rows(entry["ns"], names) for robot, entry in robots.items()}
    about = "1000 rollouts of 50 steps without contacts, semi-implicit Euler."
    more = "[steps and rollouts](../../benchmarks/STEPS.md)"
    return Chart("steps", "Rollouts", "ns a step", groups, about, where(whole, robots), more)


def contacts() -> Chart:
    whole = read("contacts")
    robots: Found = whole["measurements"]["contacts"]
    calls = {"cfd": ("motion", "pinocchio motion"), "dcfd": ("its derivatives", "pinocchio both")}
    groups = {
        f"{robot}, {entry['contacts']} contacts, {said}": rows(
            entry["ns"], {"Condyle": (key,), "float32": (f"{key}, float32",), "Pinocchio": (theirs,)}
        )
        for robot, entry in robots.items()
        for key, (said, theirs) in calls.items()
    }
    about = "256 states a call, all contacts held."
    more = "[contacts](../../benchmarks/CONTACTS.md)"
    return Chart("contacts", "Contacts", "ns a state", groups, about, where(whole, robots), more)


def optimal_control() -> Chart:
    whole = read("optimal_control")
    of = whole["measurements"]
    arm, legs = of["crocoddyl"]["iiwa14"], of["trot"]["hyq"]
    eight = arm["figure of eight"]
    milli = {"Condyle": "float64", "float32": "float32", "crocoddyl": "crocoddyl"}
    groups = {
        "iiwa14, a figure of eight": {
            "Condyle": eight["us"]["float64"],
            "float32": eight["us"]["float32"],
            "crocoddyl": min(eight["crocoddyl_us_an_iteration"].values()),
        },
        "HyQ, a trot": {name: 1e3 * legs["ms_an_iteration"][key] for name, key in milli.items()},
    }
    about = "An iteration of one problem, the same cost and states; crocoddyl's FDDP and ours."
    more = "[optimal control](../how-to/optimal_control.md)"
    machine = where(whole, {"arm": arm, "legs": legs})
    return Chart("optimal-control", "Optimal control", "us an iteration", groups, about, machine, more)


def environments() -> Chart:
    whole = read("environments")
    entry = whole["measurements"]["rates"]["environments"]
    groups = {
        robot: {
            "Condyle": entry[robot]["float64, 12"]["ns"],
            "float32": entry[robot]["float32, 12"]["ns"],
            "MuJoCo": entry[robot]["mujoco_ns"],
        }
        for robot in ("go2", "g1")
    }
    about = "A step of 20 ms, 4096 robots. Ours has observation, reward and resets, MuJoCo's physics alone."
    more = "[environments](environments.md)"
    return Chart("environments", "Environments", "ns a step", groups, about, where(whole, {"": entry}), more)


def inverse_kinematics() -> Chart:
    whole = read("inverse_kinematics")
    groups = {
        robot: {
            "Condyle": entry["float64"]["target_us"],
            "float32": entry["float32"]["target_us"],
            "Pinocchio": entry["float64"]["pinocchio"]["target_us"],
        }
        for robot, entry in whole["robots"].items()
        if "pinocchio" in entry["float64"]
    }
    about = f"{whole['targets']} targets a call, time of one; the same iteration around Pinocchio's C++."
    more = "[inverse kinematics](../how-to/inverse_kinematics.md)"
    return Chart("inverse-kinematics", "Inverse kinematics", "us", groups, about, where(whole, {"": whole}), more)


def embedded() -> Chart:
    whole = read("embedded")
    calls = {"id": "inverse dynamics", "fd": "forward dynamics"}
    groups = {
        robot: {said: float(parts["cortex-m7"]["functions"][key]["instructions"][1]) for key, said in calls.items()}
        for robot, parts in whole["robots"].items()
    }
    compiler = whole["robots"]["iiwa14"]["cortex-m7"]["compiler"].split(" (")[0]
    about = "Most instructions a call of the exported C in float32, emulated by qemu; nothing was on a board."
    machine = f"Cortex-M7, emulated by qemu, {compiler}, {whole['date'][:10]}"
    more = "[microcontrollers](../how-to/embedded.md)"
    return Chart("embedded", "Microcontrollers", "instructions", groups, about, machine, more)


CHARTS = (
    dynamics,
    functions,
    derivatives,
    steps,
    contacts,
    optimal_control,
    environments,
    inverse_kinematics,
    embedded,
)


def svg(chart: Chart) -> str:
    """The picture, in the reader's light or dark colours, with its machine at the bottom."""
    longest = max(value for of in chart.groups.values() for value in of.values())
    lines, y = [f'<text class="title" x="12" y="26">{escape(chart.title)}: {escape(chart.unit)}</text>'], 30
    for group, of in chart.groups.items():
        y += LINE
        lines.append(f'<text x="12" y="{y}">{escape(group)}</text>')
        for name, value in of.items():
            y += LINE
            ratio = value / of["Condyle"] if "Condyle" in of and name != "Condyle" else None
            lines += bar(name, value, y, max(1.5, BAR * value / longest), ratio)
        y += 8
    y += LINE
    lines.append(f'<text class="faint" x="12" y="{y}">{escape(chart.machine)}</text>')
    size = f'viewBox="0 0 {WIDTH} {y + 14}" width="{WIDTH}" height="{y + 14}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(said(chart))}</title>",
            f"<style>{STYLE}{COLOURS}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{y + 14}" rx="6"/>',
            *lines,
            "</svg>\n",
        ]
    )


def bar(name: str, value: float, y: float, long: float, ratio: float | None) -> list[str]:
    """A name, its bar, its number, and how many times ours."""
    library = next((word for word in ("CasADi", "Pinocchio", "MuJoCo", "crocoddyl") if word in name), "Condyle")
    second = " second" if library == "Condyle" and ratio is not None else ""
    times = "" if ratio is None else f" ({number(ratio)} times)"
    return [
        f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{escape(name)}</text>',
        f'<rect class="{library}{second}" x="{LEFT}" y="{y - 12}" width="{long:.1f}" height="14"/>',
        f'<text x="{LEFT + long + 6:.1f}" y="{y}">{number(value)}{times}</text>',
    ]


def said(chart: Chart) -> str:
    """The picture in words."""
    groups = (f"{group}: {', '.join(f'{k} {number(v)}' for k, v in of.items())}" for group, of in chart.groups.items())
    return f"{chart.title}, {chart.unit}. {'; '.join(groups)}. {chart.machine}"


def page(charts: list[Chart]) -> str:
    parts = [
        f"## {chart.title}\n\n{chart.about} More: {chart.more}.\n\n"
        f"![{chart.title.lower()}: {chart.unit}](../figures/results-{chart.name}.svg)\n"
        for chart in charts
    ]
    return "\n".join([HEAD, *parts])


def main(place: Path = PAGE, folder: Path = FIGURES) -> int:
    charts = [make() for make in CHARTS]
    texts = {place: page(charts)} | {folder / f"results-{chart.name}.svg": svg(chart) for chart in charts}
    if "--check" in sys.argv[1:]:
        return int(any(not path.exists() or path.read_text() != text for path, text in texts.items()))
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
