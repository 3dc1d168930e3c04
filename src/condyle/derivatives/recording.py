"""A function in the making: one graph of symbols, in which calls of other functions stay closed.

A call's arguments are symbols, and its answers are leaves of their own. So a derivative goes around a call by the
derivative of the function that is called, which may be known in closed form. At the end calls are opened in one graph,
where equal terms of different functions are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from condyle.algorithms.matrix import dense
from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.unrolled import Unrolled
from condyle.derivatives.iterations import written_out
from condyle.derivatives.products import (
    LEAST,
    SHARED,
    Entries,
    LargeProduct,
    ProductGraph,
    entries,
    multiplied,
    needed,
    shaped,
    size_of,
)
from condyle.derivatives.products import written_out as product_written_out
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.model.tree import Tree
from condyle.passes.partials import slopes
from condyle.scalar import Scalar, number, operation
from condyle.specification import Derivative, Function, Port
from condyle.trace.reference import Output
from condyle.trace.straight import arrays, straight_size

Values: TypeAlias = Sequence[Value]
Record: TypeAlias = "Callable[[Recording, Mapping[str, Values]], Sequence[Values]]"
"""The answers of a function, each flat, in a recording, given its inputs by name."""


class Derive(Protocol):
    """(kind, function, by) -> its derivative."""

    def __call__(self, kind: str, function: Function, by: Sequence[str] | None = None) -> Function: ...


FROZEN, COPY = Function("", "", "", (), ()), Function("=", "", "", (), ())
"""What is called where symbols are only said to be equal."""
LONG = 60_000
"""Estimated operations above which a route that grows less is taken."""


@dataclass(frozen=True)
class Call:
    """A call of a function. arguments: by port. first, end: its answers' leaves are these nodes."""

    function: Function
    arguments: tuple[tuple[Value, ...], ...]
    first: int
    end: int

    @property
    def is_equal(self) -> bool:
        """Whether it only says that its answers equal its arguments."""
        return self.function is FROZEN or self.function is COPY

    @property
    def is_frozen(self) -> bool:
        """Whether they equal them as numbers that nothing is differentiated by."""
        return self.function is FROZEN

    @property
    def ports(self) -> tuple[Port, ...]:
        return self.function.inputs

    def answers(self, recording: Recording) -> list[list[Value]]:
        """The leaves of its answers."""
        found, node = list[list[Value]](), self.first
        for array in arrays(recording.tree, self.function.outputs):
            found.append([Expr(recording.graph, k) for k in range(node, node + array.size)])
            node += array.size
        return found

    @property
    def reads(self) -> list[int]:
        """The nodes of its arguments."""
        return [value.index for values in self.arguments for value in values if isinstance(value, Expr)]


class Recording:
    """One graph of one tree; leaves of inputs, then of calls, which are ports behind those of the inputs."""

    def __init__(self, tree: Tree, derive: Derive) -> None:
        """derive: makes derivatives of the functions that are called; it is `condyle.derivatives.derivative`."""
        self.tree, self.graph, self.derive = tree, Graph(), derive
        self._ports = 0
        self._of_port: dict[int, Call | LargeProduct] = {}
        self._answers: dict[tuple[object, ...], tuple[list[Value], ...]] = {}
        self._zeros: dict[int, Value] = {}

    def leaves(self, size: int) -> list[Value]:
        """Fresh symbols."""
        self._ports += 1
        return [self.graph.input(self._ports - 1, k) for k in range(size)]

    def _fresh(self, size: int) -> tuple[list[Value], int]:
        """Leaves of a port of their own, and the node of the first."""
        first = len(self.graph.nodes)
        return self.leaves(size), first

    def zeros(self, size: int) -> list[Value]:
        """Fresh symbols that are zero when the recording is opened: small changes."""
        found = self.leaves(size)
        self._zeros.update((cast(Expr, leaf).index, 0.0) for leaf in found)
        return found

    def equal(self, values: Values) -> list[Value]:
        """Fresh symbols that equal these, and that nothing of theirs is differentiated through."""
        return self._equal(FROZEN, values)

    def copy(self, values: Values) -> list[Value]:
        """Fresh symbols that equal these: a sweep that begins at them ends there, later ones go through."""
        return self._equal(COPY, values)

    def _equal(self, kind: Function, values: Values) -> list[Value]:
        leaves, first = self._fresh(len(values))
        self._of_port[self._ports - 1] = Call(kind, (tuple(values),), first, first + len(leaves))
        return leaves

    def jacobian(self, call: Call, by: Sequence[str]) -> dict[tuple[str, str], list[Value]]:
        """The blocks of a call's derivative, by output and input."""
        pairs = [(output.name, one) for output in call.function.outputs for one in by]
        return dict(zip(pairs, self.call(self.derive("jacobian", call.function, by), *call.arguments), strict=True))

    def call(self, function: Function, *arguments: Values) -> tuple[list[Value], ...]:
        """The answers of a function, each flat; of equal arguments the same ones."""
        key = (function, *(tuple(_identity(value) for value in values) for values in arguments))
        if key not in self._answers:
            self._answers[key] = self._called(function, tuple(map(tuple, arguments)))
        return self._answers[key]

    def _called(self, function: Function, arguments: tuple[tuple[Value, ...], ...]) -> tuple[list[Value], ...]:
        sizes = [array.size for array in arrays(self.tree, function.outputs)]
        leaves, first = self._fresh(sum(sizes))
        self._of_port[self._ports - 1] = Call(function, arguments, first, first + len(leaves))
        parts, begin = list[list[Value]](), 0
        for size in sizes:
            parts.append(leaves[begin : begin + size])
            begin += size
        return tuple(parts)

    def product(self, left: Entries, right: Entries) -> Entries | None:
        """A large product of matrices, kept closed as a call is; None for a small one."""
        if size_of(left, right) < LEAST // SHARED:
            return None
        leaves, first = self._fresh(len(left) * right.shape[1])
        self._of_port[self._ports - 1] = LargeProduct(left, right, self._ports - 1, first)
        return shaped(leaves, (len(left), right.shape[1]))

    def call_of(self, node: int) -> Call | LargeProduct | None:
        """The call, or the product, that a leaf is an answer of; None for all other nodes."""
        of = self.graph.nodes[node]
        return self._of_port.get(input_of(of)[0]) if of[0] == "input" else None

    def used(self, node: int, smoothly: bool = False) -> Sequence[int]:
        """The nodes that a node depends on at once: a call's answers on their first, and that on its arguments.

        smoothly: only those that a tangent is made of.
        """
        if self.graph.nodes[node][0] != "input":
            return [k for k, _ in slopes(self.graph, node)] if smoothly else operands(self.graph.nodes[node])
        call = self.call_of(node)
        if call is None:
            return ()
        return call.reads if node == call.first else (call.first,)

    def needed(self, values: Iterable[Value], smoothly: bool = False) -> list[int]:
        """All nodes that these depend on, ascending; of a call that is needed every answer."""
        return needed(values, lambda node: self.used(node, smoothly), self.call_of)

    def active(self, order: Iterable[int], sources: Iterable[Value]) -> dict[int, None]:
        """Of these nodes, ascending, those that depend on the sources."""
        found = dict.fromkeys(value.index for value in sources if isinstance(value, Expr))
        for node in order:
            if node not in found and any(k in found for k in self.used(node)):
                found[node] = None
        return found

    def opened(
        self, wanted: Sequence[Value], leaves: Mapping[int, Value], graph: ProductGraph | None = None
    ) -> list[Value]:
        """These values as symbols of another graph (numbers and arrays too), all calls opened.

        leaves: by node, what stands there for leaves of inputs. graph: that graph, where large products and loops stay
        what they are; else they are written out.
        """
        values: dict[int, Value] = {**self._zeros, **leaves}
        nodes = self.graph.nodes

        def value_of(value: Value) -> Value:
            return values[value.index] if isinstance(value, Expr) else value

        for k in self.needed(wanted):
            if k in values:
                continue
            node = nodes[k]
            if node[0] == "input":
                call = self.call_of(k)
                assert call is not None and k == call.first, f"node {k} is a leaf that nothing is known of"
                answers = self._opened(call, value_of, graph)
                values.update(zip(range(call.first, call.end), (x for part in answers for x in part), strict=True))
            elif node[0] == "const":
                values[k] = self.graph.value(k)
            else:
                given = [cast(Scalar, values[operand]) for operand in operands(node)]
                values[k] = cast(Value, operation(node[0], given))
        return [value_of(value) for value in wanted]

    def _opened(
        self, call: Call | LargeProduct, value_of: Callable[[Value], Value], graph: ProductGraph | None
    ) -> Sequence[Values]:
        """The answers of a call, or the entries of a product, on other scalars."""
        if isinstance(call, LargeProduct):
            left, right = (shaped([value_of(x) for x in entries(part)], part.shape) for part in (call.left, call.right))
            product = product_written_out(left, right) if graph is None else multiplied(graph, left, right)
            return [entries(product)]
        arguments = [[value_of(x) for x in part] for part in call.arguments]
        if call.is_equal:
            return arguments
        if call.function.repeat is not None:
            return self._iterated(call.function, arguments, graph)
        if is_composed(call.function):
            names = [port.name for port in call.function.inputs]
            record = cast(Record, record_of(self.tree, call.function))
            return Recording(self.tree, self.derive).computed(record, dict(zip(names, arguments, strict=True)), graph)
        return self.answered(call.function, arguments)

    def _iterated(
        self, function: Function, arguments: Sequence[Values], graph: ProductGraph | None
    ) -> Sequence[Values]:
        """The answers of a function repeated over time."""
        if graph is None:
            return written_out(function, arguments, self.answered)
        outputs = arrays(self.tree, function.outputs)
        sizes = {port.name: array.size for port, array in zip(function.outputs, outputs, strict=True)}
        return graph.iterated(function, arguments, sizes, self.answered)

    def computed(
        self, record: Record, inputs: Mapping[str, Values], graph: ProductGraph | None = None
    ) -> list[list[Value]]:
        """The answers of a record on scalars of any kind, each flat; numbers are numbers in the recording. graph: see
        `opened`."""
        leaves, recorded = dict[int, Value](), dict[str, list[Value]]()
        for name, values in inputs.items():
            recorded[name] = list(values)
            for k, value in enumerate(values):
                if not isinstance(value, float):
                    leaf = self.leaves(1)[0]
                    recorded[name][k] = leaf
                    leaves[cast(Expr, leaf).index] = value
        answers = record(self, recorded)
        flat = iter(self.opened([x for answer in answers for x in answer], leaves, graph))
        return [[next(flat) for _ in answer] for answer in answers]

    def answered(self, function: Function, arguments: Sequence[Values]) -> list[list[Value]]:
        """A function computed on scalars of any kind, its answers flat."""
        route = function.routes[self._route(function)]
        inputs = {port.name: cast("Sequence[Scalar]", x) for port, x in zip(function.inputs, arguments, strict=True)}
        swept = normal_form(self.tree, function.normal_form)
        answers = cast("tuple[Output, ...]", route.run(Unrolled(swept, inputs)))
        return cast("list[list[Value]]", [dense(x) for x in answers])

    def _route(self, function: Function) -> str:
        """The reference's; the shortest, by estimates, where that is long."""
        names = function.route_names(self.tree.has_shared_coordinates)

        def size(name: str) -> int:
            return straight_size(self.tree, function.routes[name].size or function.size)

        return names[0] if size(names[0]) <= LONG else min(names, key=size)


def is_composed(function: Function) -> bool:
    """Whether it, or what it is a derivative of, has a `composed.Composed` route: it is opened by its record."""
    primal = function.origin.function if isinstance(function.origin, Derivative) else None
    if primal is not None:
        return primal.repeat is None and is_composed(primal)
    return any(getattr(route.run, "is_composed", False) for route in function.routes.values())


def _identity(value: Value) -> object:
    return (value.index,) if isinstance(value, Expr) else value


def record_of(tree: Tree, function: Function) -> Record | None:
    """The record of the reference's route; None where that is an algorithm."""
    route = function.routes[function.route_names(tree.has_shared_coordinates)[0]]
    return getattr(route.run, "record", None)


def recorded(recording: Recording, function: Function, arguments: Sequence[Values]) -> Sequence[Values]:
    """A function's answers in a recording: calls of a composed function stay closed, an algorithm is run.

    What is differentiated by its own rule alone is called.
    """
    if is_composed(function) and "jvp" in function.closed:
        return recording.call(function, *arguments)
    record = record_of(recording.tree, function)
    if record is not None:
        return record(recording, {port.name: x for port, x in zip(function.inputs, arguments, strict=True)})
    return recording.answered(function, arguments)


def replayed(program: Program, inputs: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """A Program computed on scalars of any kind, every entry of its answers."""
    values: list[Scalar] = []
    for node in program.nodes:
        if node[0] == "const":
            values.append(number(constant_of(node)))
        elif node[0] == "input":
            port, k = input_of(node)
            values.append(inputs[port][k])
        else:
            values.append(operation(node[0], [values[operand] for operand in operands(node)]))
    found = [[number(0.0)] * array.size for array in program.arrays]
    for output in program.outputs:
        found[output.array][output.index] = values[output.node]
    return found
