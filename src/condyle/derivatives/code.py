"""A function as code from a recording: a Program, or segments where it has large products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast

from condyle.derivatives.lowering import code_of
from condyle.derivatives.products import ProductGraph, multiplied, shaped, written_out
from condyle.derivatives.recording import Derive, Multiply, Recording
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.specification import Function
from condyle.trace.straight import arrays

Record: TypeAlias = "Callable[[Recording, Mapping[str, Sequence[Value]]], Sequence[Sequence[Value]]]"
"""The answers of a function, each flat, in a recording, given its inputs by name."""


def program(tree: Tree, function: Function, record: Record, derive: Derive) -> Program:
    """All calls opened, large products written out. Cleaned, not contracted. derive: see `Recording`."""
    graph = Graph()
    answers = _opened(tree, function, record, derive, graph, written_out)
    values = [(k, i, value) for k, answer in enumerate(answers) for i, value in enumerate(answer)]
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.named_outputs)
    return pipeline.apply(verify(graph.program(function.name, inputs, outputs, values)), pipeline.CLEAN)


def code(tree: Tree, function: Function, record: Record, derive: Derive) -> Program | Segmented:
    """The same with large products kept."""
    graph, outputs = ProductGraph(arrays(tree, function.inputs)), arrays(tree, function.named_outputs)
    answers = _opened(tree, function, record, derive, graph, partial(multiplied, graph))
    found = [shaped(answer, array.shape) for answer, array in zip(answers, outputs, strict=True)]
    return code_of(graph, function.name, outputs, found)


def _opened(
    tree: Tree, function: Function, record: Record, derive: Derive, graph: Graph, multiply: Multiply
) -> list[list[Value]]:
    """The answers, each flat, as symbols of a graph whose ports are the inputs."""
    at = Recording(tree, derive)
    given = {array.name: at.leaves(array.size) for array in arrays(tree, function.inputs)}
    answers = record(at, given)
    known: dict[int, Value] = {}
    for port, leaves in enumerate(given.values()):
        known.update((cast(Expr, leaf).index, graph.input(port, k)) for k, leaf in enumerate(leaves))
    flat = iter(at.opened([x for answer in answers for x in answer], known, multiply))
    return [[next(flat) for _ in answer] for answer in answers]
