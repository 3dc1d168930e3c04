"""Forward-mode differentiation: tangents of nodes, from the first node to the last.

Griewank, Walther 2008, chapter 3. Tangents that are zero are not stored, so the result has the derivative's sparsity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import operands
from condyle.passes.partials import At, is_zero
from condyle.passes.rotations import slopes

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
