"""Packed arrays and NumPy arrays, in and out: float64, one thread, one core, both with out= reused."""

from __future__ import annotations

from typing import Any

import condyle
from benchmarks.bench import Subject, bytes_of, pinned, reused
from condyle.cli.bound import Call, spelled_out
from condyle.cli.states import States
from condyle.functions import FUNCTIONS, function_of
from condyle.functions.quantities import MINV

BATCHES = (16, 256, 4096, 65536)
LARGEST_BYTES = 1 << 30


def measure(subject: Subject) -> dict[str, Any]:
    dynamics, all_states = subject.dynamics(), subject.states(max(BATCHES))
    functions: dict[str, Any] = {}
    for name in subject.functions:
        functions[name] = {}
        for n in BATCHES:
            states = all_states.first(n)
            if sum(bytes_of(name, states)) > LARGEST_BYTES:
                continue
            calls = {"dense": reused(dynamics, name, states), "packed": packed(dynamics, name, states)}
            with pinned():
                functions[name][str(n)] = subject.times(calls, n)
    return {"functions": functions}


def packed(dynamics: condyle.Dynamics, name: str, states: States) -> Call:
    """A call whose arguments and outputs are packed, the same ones each time."""
    function, ports = dynamics.function(name), FUNCTIONS[name].inputs
    arguments = [
        dynamics.pack(array, MINV.name if port == MINV else "")
        for port, array in zip(ports, states.arguments(function_of(name)), strict=True)
    ]
    out = function(*arguments)
    return spelled_out(function, arguments, out)
