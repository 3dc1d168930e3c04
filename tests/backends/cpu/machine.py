"""A processor in Python: executes allocated code on one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from condyle.backends.cpu.code import SLOT, Instruction
from condyle.ir.interp import MEANING

PLAIN = {"add", "sub", "mul"}


def execute(
    code: Sequence[Instruction], registers: int, memory: Mapping[int, float], constants: Sequence[float]
) -> dict[int, float]:
    """The slots after the code; reading what nobody wrote is a KeyError."""
    slots, held = dict(memory), {}

    def value(operand: int) -> np.float64:
        if operand < 0:
            return np.float64(constants[-1 - operand])
        return np.float64(slots[operand - SLOT] if operand >= SLOT else held[operand])

    with np.errstate(all="ignore"):
        for op, to, a, b in code:
            assert 0 <= to < registers
            if op == "store":
                slots[b - SLOT] = held[to]
            elif op == "load":
                held[to] = value(b)
            elif op == "sqrt":
                held[to] = np.sqrt(value(b))
            elif op == "div":
                held[to] = value(a) / value(b)
            elif op == "xor":
                assert str(value(b)) == "-0.0"
                held[to] = -value(a)
            elif op in PLAIN:
                held[to] = MEANING[op](value(a), value(b))
            else:
                three = {"132": (to, b, a), "213": (a, to, b), "231": (a, b, to)}[op[-3:]]
                held[to] = MEANING[op[:-3]](*map(value, three))
    return {place: float(number) for place, number in slots.items()}
