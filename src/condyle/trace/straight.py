"""Straight-line Programs: an algorithm run on symbols, joint by joint; also with the step that asked for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FrameType
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.unrolled import Unrolled
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Note, Program, verify
from condyle.ir.segments import Product, Segmented, verify_segments, whole
from condyle.model.tree import Tree
from condyle.operations import Node
from condyle.passes import pipeline
from condyle.runtime.packed import Layout, full, sparse
from condyle.scalar import Scalar
from condyle.specification import Function, MinusProduct, Port, Size, expanded
from condyle.trace.reference import Output

# What follows from a robot's tree alone: sizes, entries that are zero in every state, estimates of operation counts.


Entries: TypeAlias = "NDArray[np.bool_]"
"""Which entries of a matrix can differ from zero."""


def sizes(tree: Tree) -> dict[str, int]:
    """The values of the dimension names of `condyle.specification` for this tree."""
    controls = {"nu": len(tree.drives.actuators)} if tree.drives.actuators else {}
    return {
        "nq": tree.nq,
        "nv": tree.nv,
        "n_bodies": tree.n_bodies,
        "n_frames": len(tree.frames),
        "n_contacts": len(tree.contacts),
        "n_rows": tree.n_rows,
        "n_regressor": len(tree.regressor),
        **controls,
    }


def layout_of(tree: Tree, port: Port, lanes: int) -> Layout:
    """How an array of this port is packed."""
    if port.zeros == "none":
        return full(port.shape(sizes(tree)), lanes)
    kept = coupled(tree)
    return sparse(connected(kept) if port.zeros == "connected" else kept, port.symmetric, lanes)


def coupled(tree: Tree) -> NDArray[np.bool_]:
    """(nv, nv), true where some body moves with both velocities: the joint of one is the other's or its ancestor."""
    kept = np.zeros((tree.nv, tree.nv), dtype=np.bool_)
    moves: list[list[int]] = []
    for link in tree.links:
        own = [coordinate.entry for coordinate in link.v]
        moves.append([*([] if link.parent < 0 else moves[link.parent]), *own])
        kept[np.ix_(own, moves[-1])] = kept[np.ix_(moves[-1], own)] = True
    return kept


def rows_of(kept: Entries) -> tuple[tuple[int, ...], ...]:
    """For each column of a matrix the rows that can differ from zero."""
    return tuple(tuple(np.flatnonzero(kept[:, c]).tolist()) for c in range(kept.shape[1]))


def connected(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, nv), the transitive closure: true where a chain of true entries connects both."""
    while True:
        counted = kept.astype(np.float32)  # products of boolean matrices are slow in NumPy
        more: NDArray[np.bool_] = counted @ counted > 0.5
        if np.array_equal(more, kept):
            return kept
        kept = more


def straight_size(tree: Tree, size: Size) -> int:
    """An estimate of the number of operations of the straight-line Program, without tracing."""
    depth: list[int] = []
    for link in tree.links:
        depth.append(len(link.v) + (depth[link.parent] if link.parent >= 0 else 0))
    pairs = sum(len(link.v) * d for link, d in zip(tree.links, depth, strict=True))
    triples = sum(len(link.v) * d * d for link, d in zip(tree.links, depth, strict=True))
    rows = tree.n_rows**2 * (tree.nv + tree.n_rows)
    return size.link * len(tree.links) + size.pair * pairs + size.triple * triples + size.row * rows


def product_size(tree: Tree, by_factors: bool) -> int:
    """An estimate of the operations of straight-line code for two products with M^-1."""
    kept = coupled(tree)
    return products(by_factors, kept, kept)


def written(program: Program) -> list[Entries]:
    """For each output array the entries that a Program writes; the others are zero in every state."""
    kept = [np.zeros(array.size, dtype=np.bool_) for array in program.arrays]
    for output in program.outputs:
        kept[output.array][output.index] = True
    return [np.reshape(entries, array.shape) for entries, array in zip(kept, program.arrays, strict=True)]


def products(by_factors: bool, *rights: Entries) -> int:
    """Operations of -M^-1 times each of these matrices, by the factors of M or by a given inverse."""
    both: Entries = np.any(rights, axis=0)
    both = both | np.transpose(both) | np.eye(len(both), dtype=np.bool_)
    if not by_factors:
        inverse = connected(both)
        return 2 * sum(_terms(inverse, right) for right in rights)
    lower: Entries = np.tril(both, -1)
    upper: Entries = np.transpose(lower)
    halves: list[Entries] = [kept | (upper.astype(np.float32) @ kept > 0) for kept in rights]
    return 2 * (sum(_terms(upper, right) for right in rights) + sum(_terms(lower, half) for half in halves))


def _terms(left: Entries, right: Entries) -> int:
    """Number of multiplications in a product of matrices."""
    return int(np.sum(left, axis=0) @ np.sum(right, axis=1))


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


# Derivatives of forward dynamics as segments: straight-line code for the factors, and dense products.


UPPER, LOWER = "upper", "lower"
"""The last two outputs of the head: see `ltl.halves`."""


def multiply(tree: Tree, function: Function, route: str) -> Segmented:
    """A function whose outputs are products of joint-space matrices, as segments, not contracted."""
    way = function.routes[route].factors
    assert way is not None
    answers = arrays(tree, function.outputs)
    products = [step for step in expanded(function) if isinstance(step, MinusProduct)]
    given = {port.name for port in function.inputs}
    halves = () if products[0].left in given else (Array(UPPER, answers[0].shape), Array(LOWER, answers[0].shape))
    rights = tuple(Array(step.right, answers[0].shape) for step in products)
    left = tuple(array for array in answers if array.name not in {step.gives for step in products})
    swept = normal_form(tree, function.normal_form)
    head = run(swept, function.name, way, arrays(tree, function.inputs), (*rights, *left, *halves))
    return multiplied(pipeline.apply(verify(head), pipeline.CLEAN), answers, products)


def multiplied(head: Program, answers: tuple[Array, ...], steps: Sequence[MinusProduct]) -> Segmented:
    """The head, then the products of its matrices; by the factors of M^-1 if the head has them, else by an input."""
    kept = {array.name: entries for array, entries in zip(head.arrays, written(head), strict=True)}
    both: Entries = np.any([kept[step.right] for step in steps], axis=0) | np.eye(len(kept[steps[0].right]), dtype=bool)
    both = both | np.transpose(both)  # fewer zeros, but columns of one branch have the same rows
    products: list[Product] = []

    def product(left: str, right: str, result: str, rows: Entries, across: Entries) -> None:
        x, y = whole(left, len(both)), whole(right, len(both))
        products.append(Product(x, y, result, rows_of(rows), rows_of(np.transpose(across)), minus=True))

    for step in steps:
        if UPPER not in kept:
            product(step.left, step.right, step.gives, both, connected(both))
            continue
        name = f"half {step.right}"
        product(UPPER, step.right, name, both, kept[UPPER])
        product(LOWER, name, step.gives, kept[UPPER].astype(np.float32) @ both > 0, kept[LOWER])
    return verify_segments(Segmented(head.name, head.inputs, answers, (), (head, *products)))


# A trace that remembers which step of which algorithm asked for each operation: for people, not for targets.


ALGORITHMS = "condyle.algorithms."
RUNNER = ALGORITHMS + "unrolled"
"""Runs the steps of a sweep: what it calls is a step."""
PLUMBING = {RUNNER, ALGORITHMS + "values", ALGORITHMS + "matrix", ALGORITHMS + "sweeps"}
"""Compute for whoever calls them."""


class Step(NamedTuple):
    """A function of an algorithm's file."""

    module: str
    name: str

    @property
    def file(self) -> str:
        """Below the package: "algorithms/rnea.py"."""
        return self.module.removeprefix("condyle.").replace(".", "/") + ".py"

    @property
    def says(self) -> str:
        """The first line of its docstring: the equation; empty where it has none."""
        text = getattr(getattr(sys.modules.get(self.module), self.name, None), "__doc__", None) or ""
        return text.split("\n", 1)[0]


NOBODY = Step("", "")
"""Of operations outside the algorithms: what a route itself writes."""


class AttributedGraph(Graph):
    """A graph whose nodes know the step that made them first."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def node(self, key: Node) -> Expr:
        made = super().node(key)
        if len(self.nodes) > len(self.steps):
            self.steps.append(_step_of(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
        return made


def attributed(tree: Tree, function: Function, route: str) -> tuple[Program, list[Step]]:
    """The cleaned straight-line Program of a route, and the step of each of its nodes."""
    graph = AttributedGraph()
    program = verify(trace(tree, function, route, graph=graph))
    names = list(dict.fromkeys(graph.steps))
    number = {step: str(k) for k, step in enumerate(names)}
    noted = replace(program, notes=tuple(Note(number[step]) for step in graph.steps))
    cleaned = pipeline.apply(noted, pipeline.CLEAN)
    return cleaned, [names[int(note.stage)] for note in cleaned.notes]


def has_steps(function: Function, route: str) -> bool:
    """Whether the route is traced step by step: not, where it is recorded or has large products as they are."""
    way = function.routes.get(route)
    return way is not None and way.whole is None and not way.recorded


def _step_of(frame: FrameType | None) -> Step:
    """The step that the runner called last; outside a sweep the innermost function of an algorithm."""
    innermost, last = NOBODY, NOBODY
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module == RUNNER and last is not NOBODY:
            return last
        if module.startswith(ALGORITHMS) and module not in PLUMBING and not name.startswith("<"):
            last = Step(module, name)
            innermost = last if innermost is NOBODY else innermost
        frame = frame.f_back
    return innermost
