"""Reverse differentiation: cotangents of symbols, from the last node to the first.

Griewank, Walther 2008, chapter 3. Only nodes that depend on what is differentiated by are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from condyle.ir.expr import Graph, Value
from condyle.passes.partials import At, is_zero, rules


class Cotangents:
    """The sum of what every node received so far."""

    def __init__(self) -> None:
        self._known: dict[int, Value] = {}

    def add(self, node: int, value: Value) -> None:
        if not is_zero(value):
            self._known[node] = self._known[node] + value if node in self._known else value

    def get(self, node: int) -> Value:
        return self._known.get(node, 0.0)


def reverse(
    graph: Graph,
    order: Sequence[int],
    active: Mapping[int, object],
    seeds: Sequence[tuple[int, Value]],
    closed: Callable[[int, Cotangents], None] | None = None,
) -> Cotangents:
    """The cotangents of all active nodes in `order`, given those of some.

    order: nodes, ascending, with all that they depend on. active: nodes that depend on what is differentiated by.
    closed(k, cotangents): called at every input when nothing behind it is left; it passes on what answers of calls
    received.
    """
    cotangents = Cotangents()
    for node, value in seeds:
        if node in active:
            cotangents.add(node, value)
    for k in reversed(order):
        node = graph.nodes[k]
        if node[0] == "input":
            if closed is not None:
                closed(k, cotangents)
            continue
        received = cotangents.get(k)
        if k not in active or is_zero(received):
            continue
        for operand, rule in rules(node):
            if operand in active:
                cotangents.add(operand, rule(At(graph, k), received))
    return cotangents
