"""Run an algorithm on symbols, joint by joint, and get one straight-line Program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.algorithms.routes import ROUTES, Output
from condyle.algorithms.unrolled import Unrolled
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.signature import FUNCTIONS


def sizes(tree: Tree) -> dict[str, int]:
    """What the dimension names of `condyle.signature` are for this tree."""
    return {"nq": tree.nq, "nv": tree.nv, "n_bodies": tree.n_bodies}


def trace(tree: Tree, function: str, route: str, f_ext: bool = False, regroup: bool = True) -> Program:
    """The straight-line Program of one function by one route, the tree's numbers inside it."""
    signature = FUNCTIONS[function]
    inputs = [Array(port.name, port.shape(sizes(tree))) for port in signature.ports(f_ext)]
    arrays = [Array(port.name, port.shape(sizes(tree))) for port in signature.outputs]
    graph = Graph()
    leaves = {
        array.name: [cast(Scalar, graph.input(i, k)) for k in range(array.size)] for i, array in enumerate(inputs)
    }
    swept = Unrolled(reframed(regrouped(tree)) if regroup else tree, leaves["q"], leaves.get("f_ext"))
    outputs = ROUTES[function][route](swept, leaves)
    return graph.program(function, inputs, arrays, entries(outputs))


def entries(outputs: Sequence[Output]) -> list[tuple[int, int, Expr | float]]:
    """(array, flat index, value) of everything that a route answers."""
    result: list[tuple[int, int, Expr | float]] = []
    for k, output in enumerate(outputs):
        if isinstance(output, SparseMatrix):
            result += [(k, row * output.size + column, cast(Expr, value)) for row, column, value in output]
        else:
            result += [(k, index, cast(Expr, value)) for index, value in enumerate(output)]
    return result


def straight_size(tree: Tree, function: str) -> int:
    """About how many operations the straight-line Program would have; known without tracing.

    Fitted to random chains, whose placements are dense; real robots have half. So much for each link, for each pair
    of a coordinate and an ancestor's, and for each triple of such in products and factors.
    """
    depth: list[int] = []
    for link in tree.links:
        depth.append(len(link.v) + (depth[link.parent] if link.parent >= 0 else 0))
    pairs = sum(len(link.v) * d for link, d in zip(tree.links, depth, strict=True))
    triples = sum(len(link.v) * d * d for link, d in zip(tree.links, depth, strict=True))
    per_link, per_pair, per_triple = SIZES[function]
    return per_link * len(tree.links) + per_pair * pairs + per_triple * triples


SIZES = {
    "id": (200, 0, 0),
    "fd": (600, 0, 0),
    "m": (80, 40, 0),
    "minv": (80, 50, 2),
    "did": (200, 180, 0),
    "dfd": (500, 220, 5),
    "difd": (200, 180, 5),
}
