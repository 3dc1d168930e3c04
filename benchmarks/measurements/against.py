"""Ours and every rival that is installed: float64, one thread, one core, N = 256, dense NumPy in, out= reused.

Where code and arrays lie in memory is luck, and now and then costs a lot: ours is compiled and timed at several
places; the place with the middle median is in the file, with the medians of all places. Answers are compared first.
A rival that cannot be built or lacks a function is left out, with the reason in the file.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import BATCH, Subject, pinned, reused
from condyle.cli import rivals
from condyle.cli.rivals.numbers import agreement
from condyle.cli.rivals.rival import Rival
from condyle.errors import CondyleError
from condyle.functions import function_of

PLACES = 3
OURS = {"condyle": "cpu", "condyle-c": "c"}


def measure(subject: Subject) -> dict[str, Any]:
    robot, states = subject.robot, subject.states(BATCH)
    ours = {engine: [subject.dynamics(target) for _ in range(PLACES)] for engine, target in OURS.items()}
    others, absent = _opened(subject)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        calls = {
            _place(engine, k): reused(dynamics, name, states)
            for engine, places in ours.items()
            for k, dynamics in enumerate(places)
        }
        agreed: dict[str, float] = {}
        for other, rival in others.items():
            if name not in rival.algorithms or name in absent.get(other, {}):
                continue
            try:
                agreed[other] = agreement(robot, ours["condyle"][0], rival, function_of(name))
            except CondyleError as error:
                absent.setdefault(other, {})[name] = str(error)
                continue
            calls[other] = rival.call(name, states.arguments(function_of(name)))
        with pinned():
            functions[name] = {**_middle(subject.times(calls, BATCH)), "agreement": agreed}
        _show(subject, name, functions[name]["ns"])
    about = {other: {**rival.about, "algorithms": dict(rival.algorithms)} for other, rival in others.items()}
    return {"nv": robot.nv, "batch": BATCH, "functions": functions, "rivals": about, "absent": absent}


def _place(engine: str, k: int) -> str:
    return f"{engine} at place {k}"


def _middle(found: dict[str, Any]) -> dict[str, Any]:
    """Of each engine of ours the place with the middle median, and the medians of all places."""
    ns: dict[str, Any] = {}
    medians: dict[str, list[float]] = {}
    for engine in OURS:
        places = sorted((found.pop(_place(engine, k)) for k in range(PLACES)), key=lambda spread: spread["median"])
        ns[engine] = places[PLACES // 2]
        medians[engine] = [spread["median"] for spread in places]
    return {"ns": {**ns, **found}, "places": medians}


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
