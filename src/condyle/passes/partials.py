"""The derivative of every operation by each of its operands, as symbols of the same graph.

At a kink the derivative is the one from the right: 1 for |x| at 0 and for max(x, c) at c, 0 for min(x, c) at c. If both
operands are symbols, max and min have the derivative by the first one there. `select` has the derivative of the operand
that it selects, and none by its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import operands
from condyle.operations import LEAVES, Node


class At(NamedTuple):
    """A node of a graph, whose derivative by an operand is asked for."""

    graph: Graph
    node: int

    def operand(self, k: int) -> Value:
        return self.graph.value(operands(self.graph.nodes[self.node])[k])

    @property
    def result(self) -> Expr:
        return Expr(self.graph, self.node)

    def function(self, op: str, *values: Value) -> Value:
        return self.graph.function(op, values)


Rule = Callable[[At, Value], Value]
"""A factor (a tangent of the operand, or a cotangent of the result) times the partial derivative."""


def _rcp(node: At, x: Value) -> Value:
    return -(x * node.result * node.result)


def _sqrt(node: At, x: Value) -> Value:
    return 0.5 * x * node.function("rcp", node.result)


def _sin(node: At, x: Value) -> Value:
    return x * node.function("cos", node.operand(0))


def _cos(node: At, x: Value) -> Value:
    return -(x * node.function("sin", node.operand(0)))


def _abs(node: At, x: Value) -> Value:
    return node.function("select", node.operand(0), x, -x)


def _tanh(node: At, x: Value) -> Value:
    return x - x * node.result * node.result


def _log(node: At, x: Value) -> Value:
    return x * node.function("rcp", node.operand(0))


def _square(node: At) -> Value:
    y, x = node.operand(0), node.operand(1)
    return node.function("rcp", x * x + y * y)


def _is_constant(value: Value) -> bool:
    return not isinstance(value, Expr) or value.graph.nodes[value.index][0] == "const"


def _extreme(k: int, largest: bool) -> Rule:
    """The rule of max or min by operand k. Where both operands are equal, the derivative is that of the symbol against
    a constant in max, and of the constant in min; of two symbols, that of the first one.
    """

    def rule(node: At, x: Value) -> Value:
        own, other = node.operand(k), node.operand(1 - k)
        preferred, yielding = (other, own) if largest else (own, other)
        wins = _is_constant(preferred) or (k == 0 and not _is_constant(yielding))
        ahead, behind = (own, other) if largest else (other, own)
        return (
            node.function("select", ahead - behind, x, 0.0) if wins else node.function("select", behind - ahead, 0.0, x)
        )

    return rule


PARTIALS: dict[str, tuple[Rule | None, ...]] = {
    "neg": (lambda at, x: -x,),
    "add": (lambda at, x: x, lambda at, x: x),
    "sub": (lambda at, x: x, lambda at, x: -x),
    "mul": (lambda at, x: x * at.operand(1), lambda at, x: x * at.operand(0)),
    "rcp": (_rcp,),
    "sqrt": (_sqrt,),
    "sin": (_sin,),
    "cos": (_cos,),
    "abs": (_abs,),
    "min": (_extreme(0, False), _extreme(1, False)),
    "max": (_extreme(0, True), _extreme(1, True)),
    "floor": (None,),
    "rint": (None,),
    "select": (
        None,
        lambda at, x: at.function("select", at.operand(0), x, 0.0),
        lambda at, x: at.function("select", at.operand(0), 0.0, x),
    ),
    "exp": (lambda at, x: x * at.result,),
    "log": (_log,),
    "tanh": (_tanh,),
    "atan2": (lambda at, x: x * at.operand(1) * _square(at), lambda at, x: -(x * at.operand(0) * _square(at))),
    **dict.fromkeys((f"random{k}" for k in range(4)), (None,) * 8),
}
"""{operation: one rule for each operand}; None for an operand without a derivative."""


def is_zero(value: Value) -> bool:
    """Whether a derivative is zero in every state."""
    return not isinstance(value, Expr) and value == 0.0


def rules(node: Node) -> list[tuple[int, Rule]]:
    """The operands that a node has a derivative by, each with its rule.

    NotImplementedError for an operation without a row above: contracted code, or a new operation.
    """
    if node[0] not in LEAVES and node[0] not in PARTIALS:
        raise NotImplementedError(f"operation {node[0]!r} has no derivative: give it a row of PARTIALS ({__name__})")
    known = zip(operands(node), () if node[0] in LEAVES else PARTIALS[node[0]], strict=True)
    return [(operand, rule) for operand, rule in known if rule is not None]


# Derivatives of rotated vectors by the angle: d(c x + s y) = c y - s x, and d(c y - s x) = -(c x + s y).
#
# With c and s the cosine and sine of one angle. An algorithm that rotates a vector has both in its graph, so a
# derivative by the angle takes one multiplication in place of four operations.


OTHER = {"cos": "sin", "sin": "cos"}


def slopes(graph: Graph, k: int) -> list[tuple[int, Rule]]:
    """The nodes that a node is differentiated by, each with its rule: its operands, or of a rotation the angle, x,
    y."""
    node = graph.nodes[k]
    if node[0] in ("add", "sub"):
        for first in _products(graph, int(node[1])):
            for second in _products(graph, int(node[2])):
                found = _rotation(graph, node[0], first, second)
                if found is not None:
                    return found
    return rules(node)


def _products(graph: Graph, k: int) -> Iterator[tuple[int, int]]:
    """(sine or cosine, other factor) of a product that has one."""
    node = graph.nodes[k]
    if node[0] == "mul":
        i, j = int(node[1]), int(node[2])
        if graph.nodes[i][0] in OTHER:
            yield i, j
        if graph.nodes[j][0] in OTHER:
            yield j, i


def _rotation(graph: Graph, op: str, first: tuple[int, int], second: tuple[int, int]) -> list[tuple[int, Rule]] | None:
    """The rules of u x ± w y, with u and w sine and cosine of one angle, if the graph has its derivative."""
    (u, x), (w, y) = first, second
    of_u, of_w = graph.nodes[u], graph.nodes[w]
    if of_w[0] != OTHER[of_u[0]] or of_u[1] != of_w[1]:
        return None
    left, right = graph.find("mul", w, x), graph.find("mul", u, y)
    if left is None or right is None:
        return None
    slope = graph.find("sub" if op == "add" else "add", left.index, right.index)
    if slope is None:
        return None
    sine, plus = of_u[0] == "sin", op == "add"
    return [(int(of_u[1]), _times(slope, sine)), (x, _times(Expr(graph, u), True)), (y, _times(Expr(graph, w), plus))]


def _times(factor: Expr, plus: bool) -> Rule:
    def rule(_: At, x: Value) -> Value:
        return x * factor if plus else -(x * factor)

    return rule
