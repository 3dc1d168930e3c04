"""From 16 states to 65536, beside the time that moving the same bytes takes: float64, one thread, out= reused.

The floor reads the same inputs and writes the same outputs and does nothing else, with streaming stores and without,
and the better one counts (see probes.c); it takes its turns in the same process.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Subject, bytes_of, pinned, reused
from benchmarks.probes import mover
from condyle.functions import function_of

BATCHES = (16, 64, 256, 4096, 65536)
LARGEST_BYTES = 3 << 30


def measure(subject: Subject) -> dict[str, Any]:
    dynamics, all_states = subject.dynamics(), subject.states(max(BATCHES))
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            states = all_states.first(n)
            total = sum(bytes_of(name, states))
            if total > LARGEST_BYTES:
                continue
            outputs = states.outputs(function_of(name))
            calls = {
                "condyle": reused(dynamics, name, states, outputs),
                "floor-cached": mover(states.arguments(function_of(name)), outputs, streaming=False),
                "floor-streamed": mover(states.arguments(function_of(name)), outputs, streaming=True),
            }
            with pinned():
                functions[name][str(n)] = {"bytes": total, **subject.times(calls, n)}
    return {"functions": functions}
