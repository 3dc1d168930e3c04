"""A processor in Python: executes allocated code on one state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from condyle.backends.cpu.operations import SLOT, Instruction
from condyle.operations import AMOUNTS, MEANING

ALL = (1 << 64) - 1


def bits(x: np.float64) -> int:
    return int(x.view(np.uint64))


def number(x: int) -> np.float64:
    return np.uint64(x & ALL).view(np.float64)


def halves(x: np.float64, function: Callable[[int], int]) -> np.float64:
    """A function of 32 bits, of both halves."""
    high, low = bits(x) >> 32, bits(x) & 0xFFFFFFFF
    return number((function(high) & 0xFFFFFFFF) << 32 | function(low) & 0xFFFFFFFF)


PLAIN: dict[str, Callable[[np.float64, np.float64], np.float64]] = {
    **{op: MEANING[op] for op in ("add", "sub", "mul")},
    "div": lambda a, b: a / b,
    "xor": lambda a, b: number(bits(a) ^ bits(b)),
    "and": lambda a, b: number(bits(a) & bits(b)),
    "or": lambda a, b: number(bits(a) | bits(b)),
    "andn": lambda a, b: number(~bits(a) & bits(b)),
    "iadd": lambda a, b: number(bits(a) + bits(b)),
    "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b,
}
ALONE: dict[str, Callable[[np.float64], np.float64]] = {
    "load": lambda b: b,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "rint": np.rint,
    "bit0": lambda b: number(bits(b) << 63),
    "bit1": lambda b: number(bits(b) << 62),
    "shl": lambda b: number(bits(b) << 52),
    "shr": lambda b: number(bits(b) >> 52),
    **{f"rotl{n}": lambda b, n=n: halves(b, lambda w: w << n | w >> 32 - n) for n in AMOUNTS},
    **{f"up{n}": lambda b, n=n: halves(b, lambda w: w << n) for n in AMOUNTS},
    **{f"down{32 - n}": lambda b, n=n: halves(b, lambda w: w >> 32 - n) for n in AMOUNTS},
}


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
        for op, to, a, b, c in code:
            assert 0 <= to < registers
            if op == "store":
                slots[b - SLOT] = held[to]
            elif op in PLAIN:
                held[to] = PLAIN[op](value(a), value(b))
            elif op in ALONE:
                held[to] = ALONE[op](value(b))
            elif op == "pick":
                held[to] = value(b if np.signbit(value(c)) else a)
            else:
                three = {"132": (to, b, a), "213": (a, to, b), "231": (a, b, to)}[op[-3:]]
                held[to] = MEANING[op[:-3]](*map(value, three))
    return {place: float(number) for place, number in slots.items()}
