"""Two threads and one: wall time, float64, out= reused, for many states packed arrays too.

`1 packed beside`: one thread while another process makes the same calls on its own arrays on another core. Twice the
time of one thread over that is what two cores of this machine can give: caches, memory and power are shared.
On a machine of one core there is nothing to measure.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.bench import Subject, bytes_of, pinned, reused
from benchmarks.measurements.packed import packed
from condyle.cli.bound import Call
from condyle.functions import function_of

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
            # the same memory for all: where it lies changes a small batch by a tenth
            outputs = states.outputs(function_of(name))
            calls = {str(threads): reused(dynamics[threads], name, states, outputs) for threads in THREADS}
            if n >= MANY:
                calls |= {f"{threads} packed": packed(dynamics[threads], name, states) for threads in THREADS}
            cell = functions[name][str(n)] = subject.times(calls, n, clock="wall")
            if n >= MANY:
                with beside(calls["1 packed"]), pinned():
                    cell |= subject.times({"1 packed beside": calls["1 packed"]}, n, clock="wall")
    return {"functions": functions}


@contextmanager
def beside(call: Call) -> Iterator[None]:
    """Meanwhile another process calls without end, on the first core; what it writes is its own."""
    parent, child = os.getpid(), os.fork()
    if child == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        while os.getppid() == parent:
            call()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
