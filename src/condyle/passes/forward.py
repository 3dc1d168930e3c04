"""Forward differentiation: tangents of symbols, from the first node to the last.

Griewank, Walther 2008, chapter 3. Zeros stay zeros, so that a tangent has the structure of its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from condyle.ir.expr import Graph, Value
from condyle.passes.partials import At, is_zero, rules

Directions: TypeAlias = dict[int, Value]
"""By number of the direction: a tangent that is not zero in every state."""


def forward(
    graph: Graph,
    order: Sequence[int],
    seeds: Mapping[int, Directions],
    opened: Callable[[int, dict[int, Directions]], None] | None = None,
) -> dict[int, Directions]:
    """The tangents of all nodes in `order`, for one direction or several.

    order: nodes, ascending, with all that they depend on. seeds: of inputs. opened(k, tangents): called at
    every input; it puts in the tangents of those that stand for answers of calls.
    """
    tangents: dict[int, Directions] = {k: dict(of) for k, of in seeds.items()}
    for k in order:
        node = graph.nodes[k]
        if node[0] == "input":
            if opened is not None:
                opened(k, tangents)
            continue
        found: Directions = {}
        for operand, rule in rules(node):
            for direction, x in tangents.get(operand, {}).items():
                part = rule(At(graph, k), x)
                found[direction] = found[direction] + part if direction in found else part
        kept = {direction: x for direction, x in found.items() if not is_zero(x)}
        if kept:
            tangents[k] = kept
    return tangents
