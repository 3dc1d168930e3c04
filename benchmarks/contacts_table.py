"""CONTACTS.md from results/contacts.json, and from nothing else."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import results
from benchmarks.sections import number, table

SOURCE = results.FOLDER / "contacts.json"
PATH = results.ROOT / "benchmarks" / "CONTACTS.md"
HEAD = """# Motion with contacts

Made by `python -m benchmarks.contacts --table` from [contacts.json](results/contacts.json). Times are nanoseconds a
state, the least of alternating samples, at N = 256 on one thread, in float64 unless the table says otherwise. Ours are
calls with `out=`. Pinocchio's are a loop in C++ in the same process, whose answers stay in C++. All contacts are
active; flags are inputs. Pinocchio's derivatives need the results of `constraintDynamics`. *Alone* is the time of
`computeConstraintDynamicsDerivatives` without that call.
"""
FOUR = {"cfd / fd": 3.0, "constraintDynamics / cfd": 30.0, "derivatives alone / dcfd": 8.0}
GOALS = {
    "hyq-floating": FOUR,
    "anymal-floating": FOUR,
    "talos-reduced-floating": {"constraintDynamics / cfd": 10.0, "derivatives alone / dcfd": 5.0},
}
RATIOS = {
    "cfd / fd": ("cfd", "fd"),
    "dcfd / dfd": ("dcfd", "dfd"),
    "step with contacts / step": ("step, contacts", "step"),
    "cfd, float32 / float64": ("cfd, float32", "cfd"),
    "dcfd, float32 / float64": ("dcfd, float32", "dcfd"),
    "aba / fd": ("pinocchio aba", "fd"),
    "constraintDynamics / cfd": ("pinocchio motion", "cfd"),
    "derivatives alone / dcfd": ("pinocchio slopes", "dcfd"),
    "derivatives with constraintDynamics / dcfd": ("pinocchio both", "dcfd"),
}
LOWER = ("cfd / fd",)
NAMES = {
    "pinocchio aba": "Pinocchio's aba",
    "pinocchio motion": "Pinocchio's constraintDynamics",
    "pinocchio slopes": "its derivatives alone",
    "pinocchio both": "its derivatives with constraintDynamics",
}
"""Names of calls in the table, where the results file has others."""
CLOSED = 1e-6


def page() -> str:
    if not SOURCE.exists():
        return HEAD
    whole: dict[str, Any] = json.loads(SOURCE.read_text())
    facts = [f"| {key} | {value} |" for key, value in whole["machine"].items()]
    of = whole["measurements"]
    body = [line for name, entry in of.get("contacts", {}).items() for line in robot(name, entry)]
    body += [line for entry in of.get("closure", {}).values() for line in closure(entry)]
    return "\n".join([HEAD, "| | |", "|---|---|", *facts, "", *body]).rstrip() + "\n"


def robot(name: str, entry: dict[str, Any]) -> list[str]:
    ns = {key: cell["minimum"] for key, cell in entry["ns"].items()}
    rival, kind = entry["rival"], {"point": "3-D", "plane": "6-D"}[entry["kind"]]
    certificate = (
        f"{entry['date']}, commit {entry['commit'][:10]}, load {entry['load']}; {entry['contacts']} {kind} contacts; "
        f"Pinocchio {rival['version']}, Eigen {rival['eigen']}, by {rival['compiler']}, `{rival['flags']}`."
    )
    times = [[NAMES.get(key, key), number(value), operations(entry, key)] for key, value in ns.items()]
    ratios = [[key, *judged(name, key, ns[above] / ns[below])] for key, (above, below) in RATIOS.items()]
    flags = sorted(cell["minimum"] for cell in entry["flags"].values())
    apart = ", ".join(f"{function} {value:.0e}" for function, value in entry["differences"].items())
    said = (
        f"`cfd` takes {number(flags[0])} to {number(flags[-1])} ns with each of {len(flags) - 1} patterns of flags and "
        f"with random flags, a difference of {100.0 * (flags[-1] / flags[0] - 1.0):.1f} %. Pinocchio's answers differ "
        f"by at most {apart}, relative to the largest entry. J a + gamma is at most {entry['violation']:.0e} of the "
        "largest acceleration."
    )
    title = [f"## {name}, nv {entry['nv']}", "", certificate, ""]
    heads = [["call", "ns a state", "operations"], ["ratio of times", "measured", "goal", "met"]]
    return [*title, *table(heads[0], times), *table(heads[1], ratios), said, ""]


def operations(entry: dict[str, Any], key: str) -> str:
    """Products and sums."""
    row = entry["operations"].get(key)
    return "" if row is None else str(row["mul"] + row["add"])


def judged(name: str, key: str, ratio: float) -> list[str]:
    goal = GOALS[name].get(key)
    if goal is None:
        return [f"{ratio:.2f}", "", ""]
    met = ratio <= goal if key in LOWER else ratio >= goal
    return [f"{ratio:.2f}", ("at most " if key in LOWER else "") + f"{goal:g}", "yes" if met else "no"]


def closure(entry: dict[str, Any]) -> list[str]:
    kp, kd = entry["gains"]
    certificate = (
        f"{entry['date']}, commit {entry['commit'][:10]}. Three bars under gravity, {entry['steps']} steps of "
        f"{1e3 * entry['dt']:g} ms. The table has the largest distance of the two ends, in m, with gains of {kp:g} "
        f"1/s^2 and {kd:g} 1/s and without gains. The goal is {CLOSED:g} m."
    )
    rows = [
        [
            integrator,
            f"{apart['with gains']:.1e}",
            f"{apart['without']:.1e}",
            "yes" if apart["with gains"] < CLOSED else "no",
        ]
        for integrator, apart in entry.items()
        if isinstance(apart, dict)
    ]
    heads = ["integrator", "with gains", "without gains", "goal met with gains"]
    return ["## A closed four-bar", "", certificate, "", *table(heads, rows)]
