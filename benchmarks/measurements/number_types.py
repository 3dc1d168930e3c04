"""float32 and float64: one thread, one core, out= reused."""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Subject, pinned, reused

BATCHES = (256, 4096)
DTYPES = ("float64", "float32")


def measure(subject: Subject) -> dict[str, Any]:
    dynamics = {dtype: subject.dynamics(dtype=dtype) for dtype in DTYPES}
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            calls = {dtype: reused(dynamics[dtype], name, subject.states(n, dtype)) for dtype in DTYPES}
            with pinned():
                functions[name][str(n)] = subject.times(calls, n)
    return {"functions": functions}
