"""A function as code from a recording: a Program, or segments where it has large products or loops over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import numpy as np

from condyle.derivatives.differentiate import DIFFERENTIATE, Recorded
from condyle.derivatives.iterations import KeptIteration
from condyle.derivatives.products import Entries, LargeProduct, ProductGraph, entries, nonzero, shaped
from condyle.derivatives.recording import Derive, Record, Recording, is_composed, replayed
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, Output, Program, input_of, operands, verify
from condyle.ir.segments import Constant, Iteration, Product, Segment, Segmented, View, verify_segments, whole
from condyle.model.tree import Tree
from condyle.operations import LEAVES, Node
from condyle.passes import pipeline
from condyle.scalar import Scalar
from condyle.specification import Derivative, Function, Route
from condyle.trace.straight import arrays, rows_of

# A trace with recorded products and loops, cut into segments: before each a Program of what it needs and nobody had.


def code_of(graph: ProductGraph, name: str, arrays: Sequence[Array], values: Sequence[Entries]) -> Program | Segmented:
    """The function whose output arrays have these values: a Program where it needs no recorded product or loop.

    Cleaned, not contracted.
    """
    wanted = [Wanted(array, entries(value)) for array, value in zip(arrays, values, strict=True)]
    blocks = graph.blocks([entry for one in wanted for entry in one.entries])
    cut = _Cut(graph, name, blocks)
    return cut.segmented(wanted) if blocks else cut.straight(wanted)


class Wanted(NamedTuple):
    """An array that a Program is to give, entry by entry."""

    array: Array
    entries: list[Value]


@dataclass
class _Stage:
    """A Program in the making, and the product or the loop behind it.

    nodes: those that it computes. kept: of those that later stages read, where they stand side by side.
    """

    wanted: list[Wanted]
    block: Product | Iteration | None = None
    nodes: list[int] = field(default_factory=list[int])
    kept: dict[int, int] = field(default_factory=dict[int, int])


class _Cut:
    """stage_of: for each node that some stage computes its number."""

    def __init__(self, graph: ProductGraph, name: str, blocks: Sequence[LargeProduct | KeptIteration]) -> None:
        self.graph, self.name, self.blocks = graph, name, blocks
        self.arrays = dict(enumerate(graph.inputs))
        self.constants: dict[tuple[float, ...], str] = {}
        self.names: dict[tuple[object, ...], str] = {}
        self.stages: list[_Stage] = []
        self.stage_of: dict[int, int] = {}

    def straight(self, answers: list[Wanted]) -> Program:
        """The whole function."""
        stage = _Stage(answers)
        self._assign(0, stage)
        return self._program(0, stage, self.name, self.graph.inputs)

    def segmented(self, answers: list[Wanted]) -> Segmented:
        for block in self.blocks:
            is_loop = isinstance(block, KeptIteration)
            self.stages.append(self._iteration(block) if is_loop else self._stage(block))
        self.stages.append(_Stage(answers))
        for number, stage in enumerate(self.stages):
            self._assign(number, stage)
        for number, stage in enumerate(self.stages):
            for used in self._used(stage):
                if self.stage_of.get(used, number) < number:
                    kept = self.stages[self.stage_of[used]].kept
                    kept.setdefault(used, len(kept))
        segments: list[Segment] = []
        for number, stage in enumerate(self.stages):
            program = self._program(number, stage, f"{self.name}_{number}")
            segments += [program] if program.arrays else []
            segments += [stage.block] if stage.block else []
        constants = tuple(Constant(name, values) for values, name in self.constants.items())
        arrays = tuple(one.array for one in answers)
        held = self.graph.held([block for block in self.blocks if isinstance(block, LargeProduct)])
        return verify_segments(Segmented(self.name, self.graph.inputs, arrays, constants, tuple(segments), held))

    def _stage(self, recorded: LargeProduct) -> _Stage:
        """The product, and what it needs beside arrays that are there."""
        wanted: list[Wanted] = []
        k = recorded.port - len(self.graph.inputs)
        left = self._operand(recorded.left, f"left {k}", wanted, constant=True)
        right = self._operand(recorded.right, f"right {k}", wanted)
        rows, across = (rows_of(kept) for kept in (nonzero(recorded.right), np.transpose(nonzero(recorded.left))))
        product = Product(left, right, f"product {k}", rows, across)
        self.arrays[recorded.port] = product.array
        return _Stage(wanted, product)

    def _iteration(self, kept: KeptIteration) -> _Stage:
        """The loop, and what it begins with and holds beside arrays that are there."""
        wanted: list[Wanted] = []
        body = kept.body
        starts, held = (
            [self._vector(values, f"{word} {array.name}", wanted) for array, values in zip(arrays, parts, strict=True)]
            for word, arrays, parts in (
                ("start", body.arrays, kept.starts),
                ("held", body.inputs[len(body.arrays) :], kept.held),
            )
        )
        inputs = (*body.arrays, *(Array(name, (len(part),)) for name, part in zip(held, kept.held, strict=True)))
        for k, array in enumerate(body.arrays):
            self.arrays[kept.port + k] = array
        return _Stage(wanted, Iteration(replace(body, inputs=inputs), tuple(starts), kept.most, kept.until))

    def _vector(self, values: Sequence[Value], name: str, wanted: list[Wanted]) -> str:
        """The array that has these entries: one that is there, else one that is wanted now."""
        leaves = [self.graph.nodes[x.index] for x in values if isinstance(x, Expr)]
        if len(leaves) == len(values) and all(node[0] == "input" for node in leaves):
            places = [input_of(node) for node in leaves]
            array = self.arrays[places[0][0]]
            if array.size == len(places) and places == [(places[0][0], k) for k in range(len(places))]:
                return array.name
        key = ("vector", *((x.index, 0.0) if isinstance(x, Expr) else (-1, x) for x in values))
        if key not in self.names:
            self.names[key] = name
            wanted.append(Wanted(Array(name, (len(values),)), list(values)))
        return self.names[key]

    def _operand(self, values: Entries, name: str, wanted: list[Wanted], constant: bool = False) -> View:
        """Where an operand lies: in an array that is there or a constant, else in one that is wanted now."""
        m, n = values.shape
        given = entries(values)
        if constant and not any(isinstance(entry, Expr) for entry in given):
            numbers = tuple(float(cast(float, entry)) for entry in given)
            return whole(self.constants.setdefault(numbers, f"constant {len(self.constants)}"), n)
        view = self._view(values)
        if view is not None:
            return view
        key = (m, n, *((entry.index, 0.0) if isinstance(entry, Expr) else (-1, entry) for entry in given))
        if key not in self.names:
            self.names[key] = name
            wanted.append(Wanted(Array(name, (m, n)), given))
        return whole(self.names[key], n)

    def _view(self, values: Entries) -> View | None:
        """Of entries that are those of one array, at equal distances."""
        leaves = [self.graph.nodes[entry.index] for entry in entries(values) if isinstance(entry, Expr)]
        if len(leaves) < values.size or any(node[0] != "input" for node in leaves):
            return None
        (m, n), found = values.shape, [input_of(node) for node in leaves]
        number, offset = found[0]
        row, column = (found[k][1] - offset for k in (n if m > 1 else 0, 1 if n > 1 else 0))
        view = View(self.arrays[number].name, offset, row, column)
        expected = [(number, view.entry(i, j)) for i in range(m) for j in range(n)]
        return view if found == expected and min(row, column) >= 0 else None

    def _assign(self, number: int, stage: _Stage) -> None:
        """The stage computes what it needs and no stage before it has."""
        stack = [entry.index for one in stage.wanted for entry in one.entries if isinstance(entry, Expr)]
        while stack:
            index = stack.pop()
            if index not in self.stage_of and self.graph.nodes[index][0] not in LEAVES:
                self.stage_of[index] = number
                stage.nodes.append(index)
                stack += operands(self.graph.nodes[index])
        stage.nodes.sort()

    def _used(self, stage: _Stage) -> Iterable[int]:
        """What the stage's nodes use and what it gives."""
        for index in stage.nodes:
            yield from operands(self.graph.nodes[index])
        for one in stage.wanted:
            yield from (entry.index for entry in one.entries if isinstance(entry, Expr))

    def _program(self, number: int, stage: _Stage, name: str, inputs: Sequence[Array] = ()) -> Program:
        """The Program of a stage; inputs: those that stand first, read or not."""
        wanted = list(stage.wanted)
        if stage.kept:
            kept = [Expr(self.graph, index) for index in stage.kept]
            wanted.append(Wanted(Array(_kept(number), (len(kept),)), list[Value](kept)))
        made = _Renumbered(self, number, inputs)
        for index in stage.nodes:
            made.node(index)
        outputs = [
            Output(k, i, made.node(entry.index) if isinstance(entry, Expr) else made.add(("const", float(entry))))
            for k, one in enumerate(wanted)
            for i, entry in enumerate(one.entries)
            if isinstance(entry, Expr) or entry != 0.0
        ]
        arrays = tuple(one.array for one in wanted)
        program = Program(name, tuple(made.inputs), arrays, tuple(made.nodes), tuple(outputs))
        return pipeline.apply(verify(program), pipeline.CLEAN)


class _Renumbered:
    """The nodes of one Program by their numbers in the graph; what other stages computed it reads from their arrays."""

    def __init__(self, cut: _Cut, stage: int, inputs: Sequence[Array]) -> None:
        self.cut, self.stage = cut, stage
        self.nodes: list[Node] = []
        self.inputs = {array: k for k, array in enumerate(inputs)}
        self.numbers: dict[int, int] = {}

    def node(self, index: int) -> int:
        """The number of a node whose operands were given before, or that is none of this stage's."""
        if index not in self.numbers:
            self.numbers[index] = self.add(self._renumbered(index))
        return self.numbers[index]

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _renumbered(self, index: int) -> Node:
        cut, node = self.cut, self.cut.graph.nodes[index]
        if node[0] == "const":
            return node
        if node[0] == "input":
            number, entry = input_of(node)
            return self._read(cut.arrays[number], entry)
        computed = cut.stage_of[index]
        if computed < self.stage:
            kept = cut.stages[computed].kept
            return self._read(Array(_kept(computed), (len(kept),)), kept[index])
        return (node[0], *(self.node(used) for used in operands(node)))

    def _read(self, array: Array, entry: int) -> Node:
        return "input", self.inputs.setdefault(array, len(self.inputs)), entry


def _kept(stage: int) -> str:
    return f"kept {stage}"


def program(tree: Tree, function: Function, record: Record, derive: Derive) -> Program:
    """All calls opened, large products written out. Cleaned, not contracted. derive: see `Recording`."""
    graph = Graph()
    answers = _opened(tree, function, record, derive, graph, None)
    values = [(k, i, value) for k, answer in enumerate(answers) for i, value in enumerate(answer)]
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.named_outputs)
    return pipeline.apply(verify(graph.program(function.name, inputs, outputs, values)), pipeline.CLEAN)


def code(tree: Tree, function: Function, record: Record, derive: Derive) -> Program | Segmented:
    """The same with large products kept."""
    graph, outputs = ProductGraph(arrays(tree, function.inputs)), arrays(tree, function.named_outputs)
    answers = _opened(tree, function, record, derive, graph, graph)
    found = [shaped(answer, array.shape) for answer, array in zip(answers, outputs, strict=True)]
    return code_of(graph, function.name, outputs, found)


def _opened(
    tree: Tree, function: Function, record: Record, derive: Derive, graph: Graph, keeps: ProductGraph | None
) -> list[list[Value]]:
    """The answers, each flat, as symbols of a graph whose ports are the inputs."""
    at = Recording(tree, derive)
    given = {array.name: at.leaves(array.size) for array in arrays(tree, function.inputs)}
    answers = record(at, given)
    known: dict[int, Value] = {}
    for port, leaves in enumerate(given.values()):
        known.update((cast(Expr, leaf).index, graph.input(port, k)) for k, leaf in enumerate(leaves))
    flat = iter(at.opened([x for answer in answers for x in answer], known, keeps))
    return [[next(flat) for _ in answer] for answer in answers]


# What computes a derivative: a Program by a closed rule of the function's specification, or differentiated.


def ways(function: Function, derive: Derive) -> Mapping[str, Route]:
    """The route to a derivative. derive: makes derivatives of what is called."""
    of = origin_of(function).function
    is_large = any(route.whole for route in of.routes.values()) or is_composed(of)
    route = Route(_Run(function, derive), whole=partial(_whole, function, derive) if is_large else None)
    return {"closed rule" if _has_rule(function) else "differentiated": route}


def origin_of(function: Function) -> Derivative:
    """What a derivative is of."""
    assert isinstance(function.origin, Derivative), function
    return function.origin


def _has_rule(function: Function) -> bool:
    origin = origin_of(function)
    return origin.kind in origin.function.closed


def _whole(function: Function, derive: Derive, tree: Tree) -> object:
    """A derivative with its large products."""
    return code(tree, function, partial(_answers, function=function), derive)


class _Run:
    """A derivative on the scalars that a sweep has."""

    def __init__(self, function: Function, derive: Derive) -> None:
        self.function, self.derive = function, derive

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        recorded = program_of(sweeps.tree, self.function, self.derive)
        inputs = [cast("Sequence[Scalar]", sweeps.inputs[array.name]) for array in recorded.inputs]
        return tuple(replayed(recorded, inputs))

    @property
    def record(self) -> Callable[..., Sequence[Sequence[Value]]] | None:
        """What a closed rule calls is known when it is differentiated again."""
        keeps = _has_rule(self.function) or is_composed(origin_of(self.function).function)
        return partial(_answers, function=self.function) if keeps else None


@lru_cache(maxsize=256)
def program_of(tree: Tree, function: Function, derive: Derive) -> Program:
    """A derived function as one Program."""
    return program(tree, function, partial(_answers, function=function), derive)


def _answers(
    recording: Recording, inputs: Mapping[str, Sequence[Value]], function: Function
) -> Sequence[Sequence[Value]]:
    """By the closed rule of the function's specification, else, and what it leaves out, by differentiation."""
    origin = origin_of(function)
    rule = origin.function.closed.get(origin.kind)
    answers = {} if rule is None else dict(rule(recording, inputs))
    every = {port.name for port in recording.derive(origin.kind, origin.function).outputs}
    assert answers.keys() <= every, f"{function}: a rule says {sorted(answers)}"
    left = _left(recording, function, [port.name not in answers for port in function.outputs])
    if left is not None:
        more = [port.name for port in function.inputs[len(origin.function.inputs) :]]
        differentiated = DIFFERENTIATE[origin.kind](Recorded(recording, origin_of(left), inputs), inputs, more)
        answers.update(zip((port.name for port in left.outputs), differentiated, strict=True))
    return [answers[port.name] for port in function.outputs]


def _left(recording: Recording, function: Function, missing: Sequence[bool]) -> Function | None:
    """What a closed rule leaves out: of a Jacobian some columns, else all."""
    if not any(missing):
        return None
    origin = origin_of(function)
    n = len(origin.by)
    some = tuple(name for k, name in enumerate(origin.by) if any(missing[k::n]))
    return recording.derive("jacobian", origin.function, some) if origin.kind == "jacobian" else function
