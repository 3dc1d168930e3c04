"""Ours beside every rival that is installed: float64, one thread, one core, N = 256, dense NumPy in, out= reused.

Answers are compared first. A rival that cannot be built or lacks a function is left out, with the reason in the file.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import BATCH, Subject, pinned, reused
from condyle.cli import rivals
from condyle.cli.rivals.agreement import agreement
from condyle.cli.rivals.rival import Rival
from condyle.errors import CondyleError

OURS = {"condyle": "cpu", "condyle-c": "c"}


def measure(subject: Subject) -> dict[str, Any]:
    robot, states = subject.robot, subject.states(BATCH)
    ours = {engine: subject.dynamics(target) for engine, target in OURS.items()}
    others, absent = _opened(subject)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        calls = {engine: reused(dynamics, name, states) for engine, dynamics in ours.items()}
        agreed: dict[str, float] = {}
        for other, rival in others.items():
            if name not in rival.algorithms or name in absent.get(other, {}):
                continue
            try:
                agreed[other] = agreement(robot, ours["condyle"], rival, name)
            except CondyleError as error:
                absent.setdefault(other, {})[name] = str(error)
                continue
            calls[other] = rival.call(name, states.arguments(name))
        with pinned():
            functions[name] = {"ns": subject.times(calls, BATCH), "agreement": agreed}
        _show(subject, name, functions[name]["ns"])
    about = {other: {**rival.about, "algorithms": dict(rival.algorithms)} for other, rival in others.items()}
    return {"nv": robot.nv, "batch": BATCH, "functions": functions, "rivals": about, "absent": absent}


def _opened(subject: Subject) -> tuple[dict[str, Rival], dict[str, dict[str, str]]]:
    others: dict[str, Rival] = {}
    absent: dict[str, dict[str, str]] = {}
    for name in rivals.NAMES:
        try:
            others[name] = rivals.opened(name, subject.robot)
        except CondyleError as error:  # noqa: PERF203
            absent[name] = {"": str(error)}
    return others, absent


def _show(subject: Subject, name: str, ns: dict[str, dict[str, float]]) -> None:
    ours = ns["condyle"]["median"]
    line = "".join(f"  {engine} {of['median']:.1f} ({of['median'] / ours:.1f}x)" for engine, of in ns.items())
    print(f"{subject.case.name:24s}{name:5s}{line}", flush=True)
