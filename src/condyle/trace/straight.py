"""Run an algorithm on symbols, joint by joint, and get one straight-line Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.algorithms.routes import ROUTES, Output, Route
from condyle.algorithms.unrolled import Unrolled
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.signature import FUNCTIONS, Port
from condyle.trace.structure import sizes


def trace(tree: Tree, function: str, route: str, f_ext: bool = False, regroup: bool = True) -> Program:
    """The straight-line Program of one function by one route, the tree's numbers inside it."""
    signature = FUNCTIONS[function]
    answers = arrays(tree, signature.outputs)
    return run(tree, function, ROUTES[function][route], arrays(tree, signature.ports(f_ext)), answers, regroup)


def run(
    tree: Tree, name: str, route: Route, inputs: tuple[Array, ...], answers: tuple[Array, ...], regroup: bool = True
) -> Program:
    """The Program of any route that takes these inputs and gives these answers."""
    graph = Graph()
    given = leaves(graph, inputs)
    swept = Unrolled(reframed(regrouped(tree)) if regroup else tree, given["q"], given.get("f_ext"))
    return graph.program(name, inputs, answers, entries(route(swept, given)))


def arrays(tree: Tree, ports: Iterable[Port]) -> tuple[Array, ...]:
    """The ports of a function for this tree."""
    known = sizes(tree)
    return tuple(Array(port.name, port.shape(known)) for port in ports)


def leaves(graph: Graph, inputs: Sequence[Array]) -> dict[str, list[Scalar]]:
    """A symbol for every entry of every input, by name."""
    return {array.name: [cast(Scalar, graph.input(i, k)) for k in range(array.size)] for i, array in enumerate(inputs)}


def entries(outputs: Sequence[Output]) -> list[tuple[int, int, Expr | float]]:
    """(array, flat index, value) of everything that a route answers."""
    result: list[tuple[int, int, Expr | float]] = []
    for k, output in enumerate(outputs):
        if isinstance(output, SparseMatrix):
            result += [(k, row * output.size + column, cast(Expr, value)) for row, column, value in output]
        else:
            result += [(k, index, cast(Expr, value)) for index, value in enumerate(output)]
    return result
