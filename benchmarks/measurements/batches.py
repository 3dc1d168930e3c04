"""From 16 states to 65536, beside the time that moving the same bytes takes: float64, one thread, out= reused.

The floor reads as many bytes as the inputs have and writes as many as the outputs have, with streaming stores and
without, and the better one counts (see probes.c); it takes its turns in the same process.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Subject, bytes_of, pinned, reused
from benchmarks.probes import mover

BATCHES = (16, 64, 256, 4096, 65536)
LARGEST_BYTES = 3 << 30


def measure(subject: Subject) -> dict[str, Any]:
    dynamics, all_states = subject.dynamics(), subject.states(max(BATCHES))
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            states = all_states.first(n)
            inputs, outputs = bytes_of(name, states)
            if inputs + outputs > LARGEST_BYTES:
                continue
            calls = {
                "condyle": reused(dynamics, name, states),
                "floor-cached": mover(inputs, outputs, streaming=False),
                "floor-streamed": mover(inputs, outputs, streaming=True),
            }
            with pinned():
                functions[name][str(n)] = {"bytes": inputs + outputs, **subject.times(calls, n)}
    return {"functions": functions}
