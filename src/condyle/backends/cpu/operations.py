"""Instruction selection: one row for each operation, or an expansion into others.

Nodes that only this target has, in addition to those of `operations.py`:

    ("least", a, b)       a where a < b, else b; so b where either is NaN; ("most", a, b) alike
    ("bit0", a)           a << 63 (float32: 31), so bit 0 becomes the sign; ("bit1", a): a << 62 (30)
    ("pick", a, b, c)     b where the sign of c is set, else a
    ("up5", a)            a << 5 in halves of 32 bits, where there are no rotations; ("down5", a): a >> 5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from condyle.backends.cpu.target import Isa
from condyle.ir.program import Program, operands
from condyle.operations import AMOUNTS, FUSED, TRIGONOMETRIC, Node
from condyle.passes.elementary.expand import ELEMENTARY, expand
from condyle.passes.elementary.values import COSINE, ROUND, SINE, Rule, Value, numbers

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
    "iadd": Row(("iadd",), BINARY, (0, 1), swaps=True, latency=1),
    **{f"rotl{amount}": Row((f"rotl{amount}",), REGISTERS, (0,), latency=1) for amount in AMOUNTS},
    **{f"up{amount}": Row((f"up{amount}",), REGISTERS, (0,), latency=1) for amount in AMOUNTS},
    **{f"down{32 - amount}": Row((f"down{32 - amount}",), REGISTERS, (0,), latency=1) for amount in AMOUNTS},
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


def _rotation(amount: int) -> Rule:
    def rule(x: Value) -> Value:
        return x.code.op(f"up{amount}", x) | x.code.op(f"down{32 - amount}", x)

    return rule


EXPANSIONS: Mapping[str, Rule] = {"min": _extreme("least"), "max": _extreme("most"), "select": _select}
ROTATIONS: Mapping[str, Rule] = {f"rotl{amount}": _rotation(amount) for amount in AMOUNTS}
"""Where there are no instructions for them."""


def expanded(program: Program, bits: int, isa: Isa) -> Program:
    """The Program in operations that have a row; sines and cosines are expanded later (`expand_sines`)."""
    return expand(program, bits, {**ELEMENTARY, **EXPANSIONS, **({} if isa.broadcast else ROTATIONS)})


# Allocated code: a list of instructions on registers, slots of the workspace and constants.
#
# An operand is one integer: 0 .. 63 a register, 64 + s slot s of the workspace, -1 - k constant k.
#
#     load    to = b                  b a register, a slot or a constant
#     store   slot b = to
#     add     to = a + b              sub, mul, div alike; a is a register, b any operand
#     xor     to = bits of a ^ bits of b; and alike
#     andn    to = bits of b & ~ bits of a
#     min     to = a where a < b, else b; max alike
#     bit0    to = b << 63 (float32: 31), so bit 0 becomes the sign; bit1: b << 62 (30); b is a register
#     shl     to = bits of b << number of bits of a mantissa; shr >>; b is a register
#     iadd    to = a + b as whole numbers
#     rotl5   to = b rotated by 5 in halves of 32 bits; up5: b << 5; down5: b >> 5; b is a register
#     pick    to = b where the sign of c is set, else a; all are registers
#     floor   to = the largest integer <= b; rint: the nearest integer; b is a register
#     sqrt    to = square root of b
#     fma132  to = to * b + a         fms -: ... - a     fnma: a - to * b     fnms: - to * b - a
#     fma213  to = a * to + b         and so on, the last factor or summand b may be any operand
#     fma231  to = a * b + to


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


# Sine and cosine expanded into operations, without a call.
#
# x = n pi/2 + r in three exact steps (Cody and Waite); minimax polynomials on |r| <= pi/4; n modulo 4 selects
# polynomial and sign. Cosine is within 1.2 units in the last place; sine within 0.8, since the rounding error of r is
# added. Both hold for |x| up to REACH (plan.h); the driver reduces larger angles before the kernel runs. NaN and
# infinity give NaN.


TWO_BY_PI = {64: float.fromhex("0x1.45f306dc9c883p-1"), 32: float.fromhex("0x1.45f306p-1")}
HALF_PI = {
    64: numbers("0x1.921fb54442d18p+0 0x1.1a626331p-54 0x1.1701b839a2520p-88"),
    32: numbers("0x1.921fb6p+0 -0x1.778p-25 0x1.68c234p-39"),
}
"""pi/2 as a sum of three numbers; n times the second one is exact."""


def inline_angles(program: Program) -> frozenset[int]:
    """Inputs that only sines and cosines use, which the driver may replace by an angle that differs by turns."""
    angles = {operands(node)[0] for node in program.nodes if node[0] in TRIGONOMETRIC}
    others = {used for node in program.nodes if node[0] not in TRIGONOMETRIC for used in operands(node)}
    others |= {output.node for output in program.outputs}
    return frozenset(k for k in angles - others if program.nodes[k][0] == "input")


def expand_sines(program: Program, order: Sequence[int], bits: int) -> tuple[Program, list[int]]:
    """The operations of `order` with sines and cosines expanded; both of an angle in place of the first one."""
    pairs: dict[int, dict[str, int]] = {}
    for k in order:
        if program.nodes[k][0] in TRIGONOMETRIC:
            pairs.setdefault(operands(program.nodes[k])[0], {})[program.nodes[k][0]] = k
    work, values = _Expansion(list(program.nodes), bits), range(len(program))
    origins = list(values)
    for k in order:
        if program.nodes[k][0] not in TRIGONOMETRIC:
            work.order.append(k)
            continue
        angle = operands(program.nodes[k])[0]
        if angle in pairs:
            work.sincos(angle, pairs.pop(angle))
            origins += [k] * (len(work.nodes) - len(origins))
    return program.rewritten(work.nodes, values, origins), work.order


@dataclass
class _Expansion:
    """nodes: the old ones, then the new ones. order: the operations so far."""

    nodes: list[Node]
    bits: int
    order: list[int] = field(default_factory=list[int])
    constants: dict[str, int] = field(default_factory=dict[str, int])

    def put(self, op: str, *used: int) -> int:
        self.nodes.append((op, *used))
        self.order.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def constant(self, value: float) -> int:
        key = value.hex()
        if key not in self.constants:
            self.constants[key] = len(self.nodes)
            self.nodes.append(("const", value))
        return self.constants[key]

    def polynomial(self, coefficients: Sequence[float], z: int) -> int:
        total = self.constant(coefficients[0])
        for value in coefficients[1:]:
            total = self.put("fma", total, z, self.constant(value))
        return total

    def sincos(self, x: int, wanted: dict[str, int]) -> None:
        """Sine and cosine of the angle x, stored as the nodes of `wanted`."""
        shift = self.constant(ROUND[self.bits])
        turned = self.put("fma", x, self.constant(TWO_BY_PI[self.bits]), shift)
        n = self.put("sub", turned, shift)
        a, b, c = (self.constant(part) for part in HALF_PI[self.bits])
        whole = self.put("fnma", n, a, x)  # exact
        r = self.put("fnma", n, b, whole)
        lost = self.put("fnma", n, c, self.put("fnma", n, b, self.put("sub", whole, r)))
        z = self.put("mul", r, r)
        cube = self.put("mul", r, z)
        sine = self.put("add", r, self.put("fma", cube, self.polynomial(SINE[self.bits], z), lost))
        inner = self.put("fma", z, self.polynomial(COSINE[self.bits], z), self.constant(-0.5))
        cosine = self.put("fma", z, inner, self.constant(1.0))
        self.quadrants(turned, sine, cosine, wanted)

    def quadrants(self, turned: int, sine: int, cosine: int, wanted: dict[str, int]) -> None:
        """n = 0, 1, 2, 3: sin x = s, c, -s, -c and cos x = c, -s, -c, s."""
        odd = self.put("bit0", turned)
        minus = self.put("and", self.put("bit1", turned), self.constant(-0.0))
        found: dict[str, int] = {}
        if "sin" in wanted:
            found["sin"] = self.put("pick", sine, cosine, odd)
        if "cos" in wanted:
            found["cos"] = self.put("pick", cosine, self.put("neg", sine), odd)
        for name, k in wanted.items():
            self.nodes[k] = ("xor", found[name], minus)
            self.order.append(k)
