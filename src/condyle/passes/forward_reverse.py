"""Differentiation of nodes: forward mode, by tangents, and reverse mode, by cotangents.

Griewank, Walther 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import operands
from condyle.passes.partials import At, is_zero, slopes

# Tangents, from the first node to the last. Those that are zero are not stored, so the result has the derivative's
# sparsity.


Directions: TypeAlias = dict[int, Value]
"""{number of the direction: tangent}, without tangents that are zero in every state."""


def forward(
    graph: Graph,
    order: Sequence[int],
    seeds: Mapping[int, Directions],
    opened: Callable[[int, dict[int, Directions]], None] | None = None,
) -> dict[int, Directions]:
    """The tangents of all nodes in `order`, for one direction or several.

    order: nodes in ascending order, with all nodes that they depend on. seeds: the tangents of inputs.
    opened(k, tangents): called at every input; it sets the tangents of inputs that are results of calls.
    """
    tangents: dict[int, Directions] = {k: dict(of) for k, of in seeds.items()}
    for k in order:
        node = graph.nodes[k]
        if node[0] == "input":
            if opened is not None:
                opened(k, tangents)
            continue
        found = _chosen(graph, k, tangents) if node[0] == "select" else _summed(graph, k, tangents)
        kept = {direction: x for direction, x in found.items() if not is_zero(x)}
        if kept:
            tangents[k] = kept
    return tangents


def _summed(graph: Graph, k: int, tangents: Mapping[int, Directions]) -> Directions:
    found: Directions = {}
    for operand, rule in slopes(graph, k):
        for direction, x in tangents.get(operand, {}).items():
            part = rule(At(graph, k), x)
            found[direction] = found[direction] + part if direction in found else part
    return found


def _chosen(graph: Graph, k: int, tangents: Mapping[int, Directions]) -> Directions:
    """The tangent of a `select`: the same choice between the tangents."""
    condition, first, second = operands(graph.nodes[k])
    x, y = tangents.get(first, {}), tangents.get(second, {})
    at = Expr(graph, condition)
    return {
        direction: graph.function("select", (at, x.get(direction, 0.0), y.get(direction, 0.0)))
        for direction in sorted({*x, *y})
    }


# Cotangents, from the last node to the first. Only active nodes are visited: those that depend on the inputs of the
# derivative.


Guard: TypeAlias = tuple[int, bool]
"""(node, True): the value counts where the node is >= 0, else it is zero; (node, False): where it is not."""


class Cotangents:
    """The sum of cotangents that every node received so far.

    A cotangent from a branch of `select` is stored apart with the branch's condition, and set to zero where that branch
    is not taken as late as possible: earlier, the zero would be multiplied by partial derivatives that may be infinite
    there, and 0 times infinity is NaN.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sums: dict[int, dict[tuple[Guard, ...], Value]] = {}

    def add(self, node: int, value: Value, guards: tuple[Guard, ...] = ()) -> None:
        guards, value = self._split(value, guards)
        if not is_zero(value):
            known = self._sums.setdefault(node, {})
            known[guards] = known[guards] + value if guards in known else value

    def get(self, node: int) -> Value:
        total: Value = 0.0
        for guards, value in self._sums.get(node, {}).items():
            total = total + self._guarded(guards, value)
        return total

    def apart(self, node: int) -> tuple[tuple[Guard, ...], Value]:
        """The same as conditions, and a value that counts where all of them hold."""
        known = self._sums.get(node, {})
        return next(iter(known.items())) if len(known) == 1 else ((), self.get(node))

    def _split(self, value: Value, guards: tuple[Guard, ...]) -> tuple[tuple[Guard, ...], Value]:
        """A `select` between a value and 0 as one more condition and the value."""
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

    order: nodes in ascending order, with all nodes that they depend on. active: nodes that depend on the inputs of the
    derivative. closed(k, cotangents): called at every input when its cotangent is complete; for results of calls it
    adds the cotangents of their arguments.
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
