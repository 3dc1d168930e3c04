"""Instruction selection: one row for each operation, or an expansion into others.

Nodes that only this target has, in addition to those of `operations.py`:

    ("least", a, b)       a where a < b, else b; so b where either is NaN; ("most", a, b) alike
    ("bit0", a)           a << 63 (float32: 31), so bit 0 becomes the sign; ("bit1", a): a << 62 (30)
    ("pick", a, b, c)     b where the sign of c is set, else a
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from condyle.ir.program import Program
from condyle.operations import FUSED
from condyle.passes.elementary.expand import expand
from condyle.passes.elementary.values import Rule, Value

BINARY, UNARY, REGISTERS, CHAINED = range(4)  # as in _allocate_registers.h
ONE, SIGN = -1, -2
"""Operands that are numbers: 1.0, and -0.0, whose only set bit is the sign."""


class Row(NamedTuple):
    """One instruction, or three forms of one (see `code.py`).

    form: BINARY: the second operand may be in memory; UNARY: the only one may; REGISTERS: none may; CHAINED: a fused
    multiply-add, which overwrites one of three. operands: numbers of the node's operands, or ONE or SIGN. swaps:
    whether the operands may be swapped. latency: cycles until the result is available.
    """

    instructions: tuple[str, ...]
    form: int
    operands: tuple[int, ...]
    swaps: bool = False
    latency: float = 4


ROWS: dict[str, Row] = {
    "add": Row(("add",), BINARY, (0, 1), swaps=True),
    "sub": Row(("sub",), BINARY, (0, 1)),
    "mul": Row(("mul",), BINARY, (0, 1), swaps=True),
    "div": Row(("div",), BINARY, (0, 1), latency=17),
    "rcp": Row(("div",), BINARY, (ONE, 0), latency=17),
    "neg": Row(("xor",), BINARY, (0, SIGN)),
    "abs": Row(("andn",), BINARY, (SIGN, 0)),
    "xor": Row(("xor",), BINARY, (0, 1)),
    "and": Row(("and",), BINARY, (0, 1)),
    "or": Row(("or",), BINARY, (0, 1)),
    "least": Row(("min",), BINARY, (0, 1)),
    "most": Row(("max",), BINARY, (0, 1)),
    "sqrt": Row(("sqrt",), UNARY, (0,), latency=20),
    "floor": Row(("floor",), REGISTERS, (0,), latency=8),
    "rint": Row(("rint",), REGISTERS, (0,), latency=8),
    "bit0": Row(("bit0",), REGISTERS, (0,)),
    "bit1": Row(("bit1",), REGISTERS, (0,)),
    "shl": Row(("shl",), REGISTERS, (0,)),
    "shr": Row(("shr",), REGISTERS, (0,)),
    "pick": Row(("pick",), REGISTERS, (0, 1, 2)),
    **{op: Row((f"{op}132", f"{op}213", f"{op}231"), CHAINED, (0, 1, 2)) for op in sorted(FUSED)},
}


def _extreme(op: str) -> Rule:
    """min or max with NaN where either operand is NaN.

    The instruction gives its second operand where one is NaN. So both orders are computed and combined bit by bit: the
    bits of a NaN or those of any number are a NaN. If one operand is a constant, it comes first, and one order is
    enough.
    """

    def rule(x: Value, y: Value) -> Value:
        for first, behind in ((x, y), (y, x)):
            if first.is_number:
                return x.code.op(op, first, behind)
        return x.code.op(op, x, y) | x.code.op(op, y, x)

    return rule


def _select(x: Value, a: Value, b: Value) -> Value:
    """The sign of max(x, -1) + 0.0 is set exactly where x >= 0 is false: NaN gives -1, and -0.0 + 0.0 is 0.0."""
    return x.code.op("pick", a, b, x.code.op("most", x, -1.0) + 0.0)


EXPANSIONS: Mapping[str, Rule] = {"min": _extreme("least"), "max": _extreme("most"), "select": _select}


def expanded(program: Program, bits: int) -> Program:
    """The Program in operations that have a row; sines and cosines are expanded later (`sincos.py`)."""
    return expand(program, bits, EXPANSIONS)
