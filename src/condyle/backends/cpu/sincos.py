"""Sine and cosine expanded into operations, without a call.

x = n pi/2 + r in three exact steps (Cody and Waite); minimax polynomials on |r| <= pi/4; n modulo 4 selects polynomial
and sign. Cosine is within 1.2 units in the last place; sine within 0.8, since the rounding error of r is added. Both
hold for |x| up to REACH (plan.h); the driver reduces larger angles before the kernel runs. NaN and infinity give NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from condyle.ir.program import Program, operands
from condyle.operations import TRIGONOMETRIC, Node
from condyle.passes.elementary.circle import COSINE, ROUND, SINE
from condyle.passes.elementary.values import numbers

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


def expand(program: Program, order: Sequence[int], bits: int) -> tuple[Program, list[int]]:
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
