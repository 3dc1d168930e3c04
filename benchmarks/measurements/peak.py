"""The kernels alone and a loop of independent multiply-adds: float64, one core.

A kernel is what stands between packing, sines and unpacking; it runs on one tile that stays in the nearest cache. Its
operations are those of the Program before contraction, so that a multiply-add counts as two, in both. The share is one
of the quickest samples: others on the machine only ever slow a loop down. `ceiling` is the share if every arithmetic
instruction took the time of a multiply-add: no code passes it where all go through the same units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import Subject, pinned
from benchmarks.kernels import Kernels
from benchmarks.probes import Code, peak

TILES = 64
MOVES = frozenset({"load", "store"})


def measure(subject: Subject) -> dict[str, Any]:
    kernels = Kernels(subject.robot)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        made, isa = kernels.assembled(name, sines=False), kernels.isa
        if made is None or isa is None:
            continue
        work = np.full(made.numbers[0] * isa.vector_bytes // 8, 0.5).tobytes()
        code = Code([kernel.text for kernel in made.kernels], made.constants, work)
        operations = kernels.operations(name)
        ceiling = operations / 2 / sum(i.op not in MOVES for kernel in made.kernels for i in kernel.code)
        functions[name] = {"ceiling": ceiling, **_beside_peak(subject, code, operations, isa.lanes(64))}
        print(f"{subject.case.name:24s}{name:5s}{functions[name]['share']:.3f}", flush=True)
    return {"functions": functions} if functions else {}


def _beside_peak(subject: Subject, code: Code, operations: int, lanes: int) -> dict[str, Any]:
    loop, most = peak("float64")
    with pinned():
        found = subject.times({"kernel": code.call(TILES), "peak": loop}, 1)
    rates = {
        "kernel": operations * lanes * TILES / found["kernel"]["minimum"],
        "peak": most / found["peak"]["minimum"],
    }
    return {
        **found,
        "ns_a_state": found["kernel"]["minimum"] / (TILES * lanes),
        "operations": operations,
        "gflops": rates["kernel"],
        "peak_gflops": rates["peak"],
        "share": rates["kernel"] / rates["peak"],
    }
