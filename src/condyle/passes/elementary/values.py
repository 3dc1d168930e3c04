"""Values of a Program with arithmetic operators, for writing expansions; no operation is simplified or reordered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from condyle.ir.program import constant_of
from condyle.operations import Node

Rule = Callable[..., "Value"]
"""The expansion of an operation: from its operands to its value."""


class Code:
    """The nodes so far, each once. rules: expansions of operations. bits: of the number type, 64 or 32."""

    def __init__(self, bits: int, rules: Mapping[str, Rule]) -> None:
        self.bits, self.rules = bits, rules
        self.nodes: list[Node] = []
        self._index_of: dict[Node | str, int] = {}

    def node(self, node: Node) -> Value:
        """The value of this node."""
        key = constant_of(node).hex() if node[0] == "const" else node  # which tells -0.0 from 0.0
        if key not in self._index_of:
            self._index_of[key] = len(self.nodes)
            self.nodes.append(node)
        return Value(self, self._index_of[key])

    def op(self, name: str, *operands: Value | float) -> Value:
        """An operation, expanded if it has a rule. It is not simplified as symbols are: that would not be exact."""
        used = [x if isinstance(x, Value) else self.node(("const", float(x))) for x in operands]
        rule = self.rules.get(name)
        return self.node((name, *(x.index for x in used))) if rule is None else rule(*used)


def _binary(op: str) -> Callable[[Value, Value | float], Value]:
    return lambda x, y: x.code.op(op, x, y)


def _swapped(op: str) -> Callable[[Value, float], Value]:
    return lambda x, y: x.code.op(op, y, x)


class Value:
    """A node of a Code."""

    __slots__ = ("code", "index")

    def __init__(self, code: Code, index: int) -> None:
        self.code, self.index = code, index

    @property
    def bits(self) -> int:
        return self.code.bits

    @property
    def is_number(self) -> bool:
        """Whether it is a constant, and not NaN."""
        node = self.code.nodes[self.index]
        return node[0] == "const" and not math.isnan(constant_of(node))

    __add__, __radd__ = _binary("add"), _swapped("add")
    __sub__, __rsub__ = _binary("sub"), _swapped("sub")
    __mul__ = __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div"), _swapped("div")
    __and__, __or__, __xor__ = _binary("and"), _binary("or"), _binary("xor")

    def __neg__(self) -> Value:
        return self.code.op("neg", self)

    def up(self) -> Value:
        """Its bits shifted up, so that the lowest ones become the exponent's."""
        return self.code.op("shl", self)

    def down(self) -> Value:
        """Its bits shifted down, so that the exponent's become the lowest ones."""
        return self.code.op("shr", self)


def minimum(x: Value, y: Value | float) -> Value:
    return x.code.op("min", x, y)


def maximum(x: Value, y: Value | float) -> Value:
    return x.code.op("max", x, y)


def absolute(x: Value) -> Value:
    return x.code.op("abs", x)


def select(x: Value, a: Value | float, b: Value | float) -> Value:
    """`a` where x >= 0, else `b`."""
    return x.code.op("select", x, a, b)


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """x y + z; the error bounds hold whether it is rounded once or twice."""
    return x.code.op("fma", x, y, z)


def polynomial(z: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial with these coefficients, highest power first, by Horner's scheme."""
    total: Value | float = coefficients[0]
    for value in coefficients[1:]:
        total = z.code.op("fma", z, total, value)
    assert isinstance(total, Value)
    return total


def numbers(*texts: str) -> tuple[float, ...]:
    """Exact numbers, from hexadecimal text."""
    return tuple(float.fromhex(word) for text in texts for word in text.split())


SIGN = -0.0
"""A number whose only set bit is the sign."""


# Sine and cosine on |r| <= pi/4: minimax polynomials for all targets; each target has its own range reduction.
#
# (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in r^2, the highest power first.


SINE = {
    64: numbers(
        "0x1.5d8fa457dab33p-33 -0x1.ae5e59fa1e39cp-26 0x1.71de356718acep-19",
        "-0x1.a01a019bfd203p-13 0x1.111111110f7cap-7 -0x1.5555555555548p-3",
    ),
    32: numbers("-0x1.994388p-13 0x1.11073ap-7 -0x1.555546p-3"),
}
COSINE = {
    64: numbers(
        "-0x1.8fae9d21afe3cp-37 0x1.1ee9ebea890e4p-29 -0x1.27e4f809f2b27p-22",
        "0x1.a01a019cb1c09p-16 -0x1.6c16c16c1517ep-10 0x1.555555555554cp-5",
    ),
    32: numbers("0x1.9a020cp-16 -0x1.6c0c8ap-10 0x1.55554ap-5"),
}
ROUND = {64: float.fromhex("0x1.8p+52"), 32: float.fromhex("0x1.8p+23")}
"""x + ROUND has the integer nearest x in its lowest bits."""
