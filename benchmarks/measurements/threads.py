"""Two threads beside one: wall time, float64, out= reused, for many states packed arrays too.

On a machine of one core there is nothing to measure.
"""

from __future__ import annotations

import os
from typing import Any

from benchmarks.bench import Subject, bytes_of, reused
from benchmarks.measurements.packed import packed

BATCHES = (16, 32, 64, 128, 256, 4096, 65536)
MANY = 4096
THREADS = (1, 2)
LARGEST_BYTES = 1 << 30


def measure(subject: Subject) -> dict[str, Any]:
    if len(os.sched_getaffinity(0)) < max(THREADS):
        return {}
    dynamics = {threads: subject.dynamics(threads=threads) for threads in THREADS}
    all_states = subject.states(max(BATCHES))
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            states = all_states.first(n)
            if sum(bytes_of(name, states)) > LARGEST_BYTES:
                continue
            outputs = states.outputs(name)  # the same memory for all: where it lies changes a small batch by a tenth
            calls = {str(threads): reused(dynamics[threads], name, states, outputs) for threads in THREADS}
            if n >= MANY:
                calls |= {f"{threads} packed": packed(dynamics[threads], name, states) for threads in THREADS}
            functions[name][str(n)] = subject.times(calls, n, clock="wall")
    return {"functions": functions}
