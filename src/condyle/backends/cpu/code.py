"""Allocated code: a list of instructions on registers, slots of the workspace and constants.

An operand is one integer: 0 .. 63 a register, 64 + s slot s of the workspace, -1 - k constant k.

    load    to = b                  b a register, a slot or a constant
    store   slot b = to
    add     to = a + b              sub, mul, div alike; a is a register, b any operand
    xor     to = bits of a ^ bits of b; and alike
    andn    to = bits of b & ~ bits of a
    min     to = a where a < b, else b; max alike
    bit0    to = b << 63 (float32: 31), so bit 0 becomes the sign; bit1: b << 62 (30); b is a register
    shl     to = bits of b << number of bits of a mantissa; shr >>; b is a register
    pick    to = b where the sign of c is set, else a; all are registers
    floor   to = the largest integer <= b; rint: the nearest integer; b is a register
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
    """One instruction; operands that it does not have are NONE."""

    op: str
    to: int
    a: int
    b: int
    c: int = NONE


def slot(number: int) -> int:
    """The operand for slot `number`."""
    return SLOT + number


def constant(number: int) -> int:
    """The operand for constant `number`."""
    return -1 - number
