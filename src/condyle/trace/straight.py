"""Straight-line Programs: an algorithm run on symbols, joint by joint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.unrolled import Unrolled
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.specification import Function, Port
from condyle.trace.reference import Output
from condyle.trace.structure import sizes


def trace(tree: Tree, function: Function, route: str, exact: bool = False, graph: Graph | None = None) -> Program:
    """The straight-line Program of one function by one route, with the tree's numbers as constants.

    exact: use the tree itself, whatever the function's normal form. graph: where the nodes go.
    """
    answers, inputs = arrays(tree, function.named_outputs), arrays(tree, function.inputs)
    swept = tree if exact else normal_form(tree, function.normal_form)
    return run(swept, function.name, function.routes[route].run, inputs, answers, graph)


def run(
    tree: Tree,
    name: str,
    route: Callable[..., tuple[object, ...]],
    inputs: tuple[Array, ...],
    answers: tuple[Array, ...],
    graph: Graph | None = None,
) -> Program:
    """The Program of an algorithm with these inputs and these outputs (answers)."""
    graph = Graph() if graph is None else graph
    outputs = cast("tuple[Output, ...]", route(Unrolled(tree, leaves(graph, inputs))))
    return graph.program(name, inputs, answers, entries(outputs))


def arrays(tree: Tree, ports: Iterable[Port]) -> tuple[Array, ...]:
    """The ports of a function for this tree."""
    known = sizes(tree)
    return tuple(Array(port.name, port.shape(known)) for port in ports)


def leaves(graph: Graph, inputs: Sequence[Array]) -> dict[str, list[Scalar]]:
    """A symbol for every entry of every input, by name."""
    return {array.name: [cast(Scalar, graph.input(i, k)) for k in range(array.size)] for i, array in enumerate(inputs)}


def entries(outputs: Sequence[Output]) -> list[tuple[int, int, Expr | float]]:
    """(array, flat index, value) of all entries of a route's outputs."""
    result: list[tuple[int, int, Expr | float]] = []
    for k, output in enumerate(outputs):
        if isinstance(output, SparseMatrix):
            result += [(k, row * output.size + column, cast(Expr, value)) for row, column, value in output]
        else:
            result += [(k, index, cast(Expr, value)) for index, value in enumerate(output)]
    return result
