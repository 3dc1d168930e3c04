"""What a dense call of 256 states is made of: float64, one thread, one core, `out=` reused, everything in turn.

`rows`: the driver with these very arrays and no kernel, so rows to tiles and tiles to rows alone. `kernel`: the machine
code on one tile in the nearest cache, `arithmetic`: the same with sines and cosines given. What the call takes beyond
`rows` and `kernel` is the call itself, and what each part waits for the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import BATCH, Subject, pinned, reused
from benchmarks.kernels import Kernels
from benchmarks.probes import Code, batches
from condyle.functions import function_of

TIMES = 8


def measure(subject: Subject) -> dict[str, Any]:
    kernels, dynamics, states = Kernels(subject.robot, subject.bound), subject.dynamics(), subject.states(BATCH)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        whole, bare, isa = kernels.assembled(name), kernels.assembled(name, sines=False), kernels.isa
        if whole is None or bare is None or isa is None:
            continue
        function = function_of(name)
        rows = batches(kernels.rows(whole), states.arguments(function), states.outputs(function), TIMES)
        tiles = TIMES * BATCH // isa.lanes(64)
        calls = {"call": reused(dynamics, name, states), "rows": rows}
        per = {"call": BATCH, "rows": TIMES * BATCH}
        for part, made in (("kernel", whole), ("arithmetic", bare)):
            work = np.full(made.numbers[0] * isa.vector_bytes // 8, 0.5).tobytes()
            code = Code([kernel.text for kernel in made.kernels], made.constants, work)
            calls[part], per[part] = code.call(tiles), TIMES * BATCH
        with pinned():
            functions[name] = subject.times(calls, per)
    return {"functions": functions} if functions else {}
