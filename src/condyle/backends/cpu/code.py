"""Allocated code: a list of instructions on registers, slots of the workspace and constants.

An operand is one whole number: 0 .. 63 a register, 64 + s slot s of the workspace, -1 - k constant k.

    load    to = b                  b a register, a slot or a constant
    store   slot b = to
    add     to = a + b              sub, mul, div alike; a is a register, b any operand
    xor     to = bits of a ^ bits of b; and alike
    andn    to = bits of b where a has none
    min     to = a where a < b, else b; max alike
    bit0    to = bit 0 of b where the sign stands, zeros behind it; bit1 alike, with bit 0 behind it; b is a register
    shl     to = bits of b, moved up by as many places as a mantissa has; shr down; b is a register
    pick    to = b where c has a minus, else a; all are registers
    floor   to = b without its fraction, downwards; rint: the nearest; b is a register
    sqrt    to = square root of b
    fma132  to = to * b + a         fms -: ... - a     fnma: a - to * b     fnms: - to * b - a
    fma213  to = a * to + b         and so on, the last factor or summand b may be any operand
    fma231  to = a * b + to
"""

from __future__ import annotations

from typing import NamedTuple

SLOT = 64
NONE = 0


class Instruction(NamedTuple):
    """One instruction; what an operation does not use is NONE."""

    op: str
    to: int
    a: int
    b: int
    c: int = NONE


def slot(number: int) -> int:
    """The operand that is this slot."""
    return SLOT + number


def constant(number: int) -> int:
    """The operand that is this constant."""
    return -1 - number
