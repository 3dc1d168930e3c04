"""DERIVATIVES.md from results/derivatives.json, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks import results
from benchmarks.sections import number, table

SOURCE = results.FOLDER / "derivatives.json"
PATH = results.ROOT / "benchmarks" / "DERIVATIVES.md"
HEAD = """# Derivatives and users' functions

Made by `python -m benchmarks.derivatives --table` from [derivatives.json](results/derivatives.json). Times are
nanoseconds a state, the least of interleaved samples, with dense NumPy arrays and `out=`. Each derivative is compared
with a function of the library.
"""
GOALS = {
    "vjp_fd": ("fd", 3.0),
    "jvp_id": ("id", 2.5),
    "hessian_fd": ("dfd", 15.0),
}
"""At most so many times another function, on panda."""
BESIDE = {"vjp_fd": "fd", "jvp_fd": "fd", "jvp_id": "id", "vjp_id": "id", "hessian_id": "did", "hessian_fd": "dfd"}
FASTER = {"hessian_fd": 8.0}
"""At least so many times as fast as CasADi's C."""
COLD = {"panda reach": 0.3, "atlas-floating vjp_fd": 4.0, "talos-reduced-floating vjp_fd": 4.0}
"""Seconds allowed."""
COST, SHARE = 1.6, 0.5


def page() -> str:
    if not SOURCE.exists():
        return HEAD
    whole: dict[str, Any] = json.loads(SOURCE.read_text())
    parts = whole["measurements"]
    facts = [f"| {key} | {value} |" for key, value in whole["machine"].items()]
    body = [line for name, entry in parts.get("rates", {}).items() for line in _rates(name, entry)]
    body += [line for entry in parts.get("cost", {}).values() for line in _cost(entry)]
    body += _network(parts.get("network", {}))
    body += _cold(parts.get("cold", {}))
    return "\n".join([HEAD, "| | |", "|---|---|", *facts, "", *body]).rstrip() + "\n"


def _said(entry: dict[str, Any]) -> str:
    return f"{entry['date']}, commit {entry['commit'][:10]}, load {entry['load']}."


def _rates(robot: str, entry: dict[str, Any]) -> list[str]:
    least = {name: spread["minimum"] for name, spread in entry["ns"].items()}
    rows = [_rate(robot, name, least) for name in least if not name.startswith("casadi")]
    heads = ["function", "ns", "compared with", "ratio of times", "goal", "met"]
    heads += ["CasADi's C, ns", "times our time", "goal", "met"]
    return [f"## {robot}, nv {entry['nv']}", "", _said(entry), "", *table(heads, rows)]


def _rate(robot: str, name: str, least: dict[str, float]) -> list[str]:
    row = [name, number(least[name])]
    beside = BESIDE.get(name, "")
    beside = beside if beside in least else ""
    ratio = least[name] / least[beside] if beside else 0.0
    goal = GOALS[name][1] if name in GOALS and robot == "panda" else None
    row += [beside, number(ratio) if beside else "", *_met(goal, goal is not None and ratio <= goal)]
    theirs = least.get(f"casadi {name}")
    if theirs is None:
        return [*row, "", "", "", ""]
    wanted = FASTER.get(name)
    faster = theirs / least[name]
    return [*row, number(theirs), number(faster), *_met(wanted, wanted is not None and faster >= wanted)]


def _met(goal: float | None, met: bool) -> Sequence[str]:
    return ("", "") if goal is None else (f"{goal:g}", "yes" if met else "no")


def _cost(entry: dict[str, Any]) -> list[str]:
    least = {name: spread["minimum"] for name, spread in entry["ns"].items()}
    ratio = (least["cost"] + least["gradient"]) / (least["fk"] + least["jac"])
    rows = [[*map(number, least.values()), number(ratio), *_met(COST, ratio <= COST)]]
    heads = [*least, "cost and gradient over fk and jac", "goal", "met"]
    title = ["## A tracking cost and its gradient by q, v and u, panda", "", _said(entry), ""]
    return [*title, *table(heads, rows)]


def _network(found: dict[str, Any]) -> list[str]:
    if not found:
        return []
    rows: list[list[str]] = []
    for name, entry in found.items():
        least = [number(entry["ns"][kind]["minimum"]) for kind in ("value", "by_x", "by_weights", "numpy")]
        shares = [f"{entry['share']:.2f}", f"{entry['ceiling']:.2f}", f"{SHARE:g}"]
        rows.append([name, *least, *shares, "yes" if entry["share"] >= SHARE else "no"])
    entry = next(iter(found.values()))
    heads = ["activation", "value", "Jacobian by x", "cotangents of all weights", "NumPy's value"]
    text = (
        f"The layers have {', '.join(map(str, entry['sizes']))} values. Weights are inputs that all states share, so "
        "cotangents are summed over the states. *Share* is the share of the multiply-add peak, measured in the same "
        "run. *Limit* is this share if every instruction took the time of a multiply-add."
    )
    lines = ["## A network", "", f"{text} {_said(entry)}", ""]
    return [*lines, *table([*heads, "share", "limit", "goal", "met"], rows)]


def _cold(found: dict[str, Any]) -> list[str]:
    if not found:
        return []
    rows: list[list[str]] = []
    for name, entry in found.items():
        least = entry["wall_s"]["minimum"]
        goal = COLD.get(name)
        spread = [number(entry["wall_s"][kind]) for kind in ("minimum", "median")]
        rows.append([name, *spread, number(entry["cpu_s"]["minimum"]), *_met(goal, goal is not None and least < goal)])
    heads = ["function", "least s", "median s", "least processor time, s", "goal, s", "met"]
    text = "Each is traced, differentiated, compiled and called once, in a process of its own with an empty cache."
    return ["## First calls", "", text, "", *table(heads, rows)]
