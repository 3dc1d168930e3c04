"""New outputs and reused ones: float64, one thread, one core, small to large batches."""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Subject, fresh, pinned, reused

BATCHES = (16, 256, 4096)


def measure(subject: Subject) -> dict[str, Any]:
    dynamics, all_states = subject.dynamics(), subject.states(max(BATCHES))
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            states = all_states.first(n)
            calls = {"reused": reused(dynamics, name, states), "fresh": fresh(dynamics, name, states)}
            with pinned():
                functions[name][str(n)] = subject.times(calls, n)
    return {"functions": functions}
