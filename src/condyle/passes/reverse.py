"""Reverse differentiation: cotangents of symbols, from the last node to the first.

Griewank, Walther 2008, chapter 3. Only nodes that depend on what is differentiated by are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import operands
from condyle.passes.partials import At, is_zero
from condyle.passes.rotations import slopes

Guard: TypeAlias = tuple[int, bool]
"""Only where a node is not negative (or only where it is): else zero."""


class Cotangents:
    """The sum of what every node received so far.

    What came through a branch is kept apart, with the branch's condition, and becomes zero where that is not taken as
    late as can be: on the way back it meets slopes that may be infinite there, and 0 times infinity is no number.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, dict[tuple[Guard, ...], Value]] = {}

    def add(self, node: int, value: Value, guards: tuple[Guard, ...] = ()) -> None:
        guards, value = self._split(value, guards)
        if not is_zero(value):
            known = self._known.setdefault(node, {})
            known[guards] = known[guards] + value if guards in known else value

    def get(self, node: int) -> Value:
        total: Value = 0.0
        for guards, value in self._known.get(node, {}).items():
            total = total + self._guarded(guards, value)
        return total

    def apart(self, node: int) -> tuple[tuple[Guard, ...], Value]:
        """The same as conditions, and a value that counts where they hold."""
        known = self._known.get(node, {})
        return next(iter(known.items())) if len(known) == 1 else ((), self.get(node))

    def _split(self, value: Value, guards: tuple[Guard, ...]) -> tuple[tuple[Guard, ...], Value]:
        """`select` of a value and 0 as a condition more."""
        node = self._graph.nodes[value.index] if isinstance(value, Expr) else ("const", value)
        if node[0] == "select":
            condition, *parts = operands(node)
            first, second = (self._graph.value(part) for part in parts)
            if is_zero(second):
                return self._split(first, (*guards, (condition, True)))
            if is_zero(first):
                return self._split(second, (*guards, (condition, False)))
        return guards, value

    def _guarded(self, guards: tuple[Guard, ...], value: Value) -> Value:
        for condition, taken in reversed(guards):
            parts = (value, 0.0) if taken else (0.0, value)
            value = self._graph.function("select", (Expr(self._graph, condition), *parts))
        return value


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
    cotangents = Cotangents(graph)
    for node, value in seeds:
        if node in active:
            cotangents.add(node, value)
    for k in reversed(order):
        node = graph.nodes[k]
        if node[0] == "input":
            if closed is not None:
                closed(k, cotangents)
            continue
        guards, received = cotangents.apart(k)
        if k not in active or is_zero(received):
            continue
        for operand, rule in slopes(graph, k):
            if operand in active:
                cotangents.add(operand, rule(At(graph, k), received), guards)
    return cotangents
