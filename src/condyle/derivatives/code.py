"""A function as code from a recording: a Program, or segments where it has large products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast

from condyle.derivatives.lowering import code_of
from condyle.derivatives.products import Entries, ProductGraph, entries, multiplied, shaped
from condyle.derivatives.recording import Recording
from condyle.ir.expr import Expr, Value
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.model.tree import Tree
from condyle.specification import Function
from condyle.trace.straight import arrays

Record: TypeAlias = "Callable[[Recording, Mapping[str, Sequence[Value]]], Sequence[Sequence[Value]]]"
"""The answers of a function, each flat, in a recording, given its inputs by name."""


def code(tree: Tree, function: Function, record: Record) -> Program | Segmented:
    """All calls opened, large products kept. Cleaned, not contracted."""
    at = Recording(tree)
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.outputs)
    given = {array.name: at.leaves(array.size) for array in inputs}
    answers = record(at, given)
    graph = ProductGraph(inputs)
    known: dict[int, Value] = {}
    for name, symbols in graph.symbols().items():
        known.update((cast(Expr, leaf).index, x) for leaf, x in zip(given[name], entries(symbols), strict=True))
    flat = iter(at.opened([x for answer in answers for x in answer], known, partial(multiplied, graph)))
    found: list[Entries] = [shaped([next(flat) for _ in range(array.size)], array.shape) for array in outputs]
    return code_of(graph, function.name, outputs, found)
