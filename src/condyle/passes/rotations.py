"""Derivatives of rotated vectors by the angle: d(c x + s y) = c y - s x, and d(c y - s x) = -(c x + s y).

With c and s the cosine and sine of one angle. An algorithm that rotates a vector has both in its graph, so a derivative
by the angle takes one multiplication in place of four operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from condyle.ir.expr import Expr, Graph, Value
from condyle.passes.partials import At, Rule, rules

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
