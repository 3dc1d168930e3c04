"""A user's function run once on symbols, and what it became: a specification with an algorithm, as any other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NamedTuple, cast
from weakref import WeakValueDictionary

import numpy as np

from condyle.backends.common.facts import NAME as SYMBOL
from condyle.derivatives.derived import forget
from condyle.derivatives.recording import Recording
from condyle.errors import CondyleError, UnsupportedError
from condyle.functions import FUNCTIONS, found, found_by
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.ops import Node
from condyle.ir.program import constant_of, input_of, operands
from condyle.scalar import Scalar, operation
from condyle.specification import Accuracy, Function, Port, Route, Size
from condyle.symbolic import Condition, Symbols
from condyle.symbolic.arrays import Entries, entries_of, numbers_of, numpy
from condyle.symbolic.linear import expanded
from condyle.user.ports import check_shape, outputs_of

Values = Sequence[Value]
KNOWN: WeakValueDictionary[str, Function] = WeakValueDictionary()
"""Users' functions by name, as long as somebody has them."""


@found_by
def _known(name: str) -> Function | None:
    return KNOWN.get(name)


@contextmanager
def called(function: Function, name: str) -> Generator[str]:
    """Makes a user's function known by its own name for a while, if generated text may have it: for exports."""
    own = name.lower() if SYMBOL.fullmatch(name.lower()) and found(name.lower()) is None else "function"
    outputs = tuple(replace(port, given_by=own) for port in function.outputs)
    KNOWN[own] = held = replace(function, name=own, method=f"user_{own}", outputs=outputs)
    forget()
    try:
        yield held.name
    finally:
        del KNOWN[own]
        forget()


class Asked(NamedTuple):
    """A function that was called, its arguments flat; frame: of a function of frames. Its answers' leaves: one port."""

    function: str
    given: tuple[tuple[Value, ...], ...]
    frame: str


class Multiplied(NamedTuple):
    """A large product of matrices, flat; shape: rows of the left one, its columns, columns of the right one."""

    left: tuple[Value, ...]
    right: tuple[Value, ...]
    shape: tuple[int, int, int]

    @property
    def given(self) -> tuple[tuple[Value, ...], ...]:
        return self.left, self.right


class Tracer:
    """What symbols are from: one graph; ports of leaves are those of inputs, then of what was asked."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.graph = Graph()
        self.asked: list[Asked | Multiplied] = []
        self._sizes = dict(sizes)
        self._ports = 0
        self._answers: dict[tuple[object, ...], list[Symbols]] = {}

    def input(self, port: Port) -> Symbols:
        """An input's symbols."""
        return self._leaves([port.shape(self._sizes)])[0]

    def product(self, left: Entries, right: Entries) -> Entries:
        """A large product: fresh symbols, so that a recording can keep it as one operation."""
        m, inner, n = (*left.shape, right.shape[1])
        self.asked.append(Multiplied(tuple(left.ravel().tolist()), tuple(right.ravel().tolist()), (m, inner, n)))
        return self._leaves([(m, n)])[0].entries

    def call(self, function: str, given: Sequence[Any], frame: str) -> Sequence[Symbols]:
        """The answers of a function of the robot: fresh symbols, of equal arguments the same ones."""
        of, sizes = FUNCTIONS[function], {**self._sizes, "n_frames": 1}
        flat: list[tuple[Value, ...]] = []
        for port, value in zip(of.inputs, given, strict=True):
            entries = numbers_of(value, self)
            check_shape(f"at.{of.method}", port.name, entries.shape, port.shape(sizes))
            flat.append(tuple(cast("list[Value]", entries.ravel().tolist())))
        key = (function, frame, *(_key(value) for values in flat for value in values))
        if key not in self._answers:
            self.asked.append(Asked(function, tuple(flat), frame))
            self._answers[key] = self._leaves([port.shape(sizes) for port in of.outputs])
        return self._answers[key]

    def _leaves(self, shapes: Sequence[tuple[int, ...]]) -> list[Symbols]:
        """Arrays of the leaves of one port, which are not written."""
        made, k = list[Symbols](), 0
        for shape in shapes:
            entries: Entries = np.empty(shape, object)
            for index in numpy.ndindex(shape):
                entries[index] = self.graph.input(self._ports, k)
                k += 1
            entries.flags.writeable = False
            made.append(Symbols(entries, self))
        self._ports += 1
        return made


def _key(value: Value) -> object:
    return (value.index,) if isinstance(value, Expr) else value


@dataclass(frozen=True, eq=False)
class Traced:
    """What a function does with its inputs: nodes in order, what they ask, and which are its answers.

    needed: the nodes that answers depend on. frames: names, in the order in which a tree is bound with them.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    asked: tuple[Asked | Multiplied, ...]
    answers: tuple[tuple[Value, ...], ...]
    needed: tuple[int, ...]
    frames: tuple[str, ...]

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        """The route: on the scalars that a sweep has."""
        at = Recording(sweeps.tree)
        given = {port.name: at.leaves(len(sweeps.inputs[port.name])) for port in self.inputs}
        answers = self.record(at, given)
        known: dict[int, Value] = {}
        for name, leaves in given.items():
            known.update((cast(Expr, x).index, value) for x, value in zip(leaves, sweeps.inputs[name], strict=True))
        flat = iter(at.opened([value for answer in answers for value in answer], known))
        return tuple([next(flat) for _ in answer] for answer in answers)

    def record(self, at: Recording, given: Mapping[str, Values]) -> list[list[Value]]:
        """The answers in a recording, where what is asked stays closed."""
        ports: list[Values] = [given[port.name] for port in self.inputs]
        ports += [()] * len(self.asked)
        values: dict[int, Value] = {}

        def of(value: Value) -> Value:
            return values[value.index] if isinstance(value, Expr) else value

        for k in self.needed:
            node = self.nodes[k]
            if node[0] == "input":
                port, entry = input_of(node)
                asked = port - len(self.inputs)
                if asked >= 0 and not ports[port]:
                    one = self.asked[asked]
                    parts = [[of(x) for x in part] for part in one.given]
                    ports[port] = self._called(at, one, parts) if isinstance(one, Asked) else _product(at, one, parts)
                values[k] = ports[port][entry]
            elif node[0] == "const":
                values[k] = constant_of(node)
            else:
                values[k] = cast(Value, operation(node[0], [cast(Scalar, values[x]) for x in operands(node)]))
        return [[of(value) for value in answer] for answer in self.answers]

    def _called(self, at: Recording, asked: Asked, given: Sequence[Values]) -> list[Value]:
        """All answers, flat, of a function of frames those of one frame."""
        parts = at.call(asked.function, *given)
        if asked.frame:
            k, n = self.frames.index(asked.frame), len(self.frames)
            parts = tuple(part[k * len(part) // n : (k + 1) * len(part) // n] for part in parts)
        return [value for part in parts for value in part]

    def text(self) -> str:
        """All that says what is computed, and nothing else."""
        named = [tuple(_key(x) for part in one.given for x in part) for one in self.asked]
        asked = [
            (one[0] if isinstance(one, Asked) else "", of, one[2]) for one, of in zip(self.asked, named, strict=True)
        ]
        answers = [[_key(x) for x in answer] for answer in self.answers]
        nodes = [(k, self.nodes[k]) for k in self.needed]
        return repr((nodes, [(port.name, port.dims) for port in self.inputs], asked, answers, self.frames))


def _product(at: Recording, of: Multiplied, given: Sequence[Values]) -> list[Value]:
    """A large product in a recording: as it keeps such, else sums of products."""
    m, inner, n = of.shape
    left, right = as_entries(given[0], (m, inner)), as_entries(given[1], (inner, n))
    keep: Callable[..., Entries] = getattr(at, "product", expanded)
    return cast("list[Value]", keep(left, right).ravel().tolist())


def as_entries(values: Values, shape: tuple[int, ...]) -> Entries:
    made: Entries = np.empty(len(values), object)
    made[:] = values
    return made.reshape(shape)


def needed(graph: Graph, first: int, asked: Sequence[Asked | Multiplied], answers: Sequence[Values]) -> list[int]:
    """The nodes that answers depend on, ascending; first: the port behind those of inputs."""
    waiting = [value.index for answer in answers for value in answer if isinstance(value, Expr)]
    found: set[int] = set()
    met: set[int] = set()
    while waiting:
        k = waiting.pop()
        if k in found:
            continue
        found.add(k)
        node = graph.nodes[k]
        waiting += operands(node)
        port = input_of(node)[0] - first if node[0] == "input" else -1
        if port >= 0 and port not in met:
            met.add(port)
            waiting += (x.index for part in asked[port].given for x in part if isinstance(x, Expr))
    return sorted(found)


def answers_of(name: str, run: Callable[[], object], tracer: Tracer) -> dict[str, Symbols]:
    """What the function answers, by name."""
    try:
        found = run()
    except (TypeError, ValueError) as error:  # NumPy's, of a symbol that has refused
        cause = error.__cause__ or error.__context__
        if isinstance(cause, CondyleError) and not isinstance(error, CondyleError):
            raise cause from error
        raise
    every = cast("dict[str, object]", found) if isinstance(found, dict) else {"value": found}
    if not every or isinstance(found, (list, tuple, str, type(None))):
        kind = type(cast(object, found)).__name__
        raise UnsupportedError(f"{name} returns {kind}; return a dict of names and arrays, or one array")
    return {key: _answer(name, key, value, tracer) for key, value in every.items()}


def _answer(name: str, key: str, value: object, tracer: Tracer) -> Symbols:
    if isinstance(value, Condition):
        raise UnsupportedError(f"{name}: output {key!r} is a condition; return np.where(condition, 1.0, 0.0)")
    entries = entries_of(value, tracer)
    if not any(isinstance(x, Expr) for x in entries.flat):
        raise UnsupportedError(
            f"{name}: output {key!r} depends on no input; leave it out, it is the same in every state"
        )
    return Symbols(entries, tracer)


def traced(
    name: str, method: str, inputs: tuple[Port, ...], outputs: Mapping[str, Symbols], tracer: Tracer
) -> tuple[Function, tuple[str, ...]]:
    """The specification of a function that was run on symbols, and the frames that it asks for."""
    answers = [tuple(cast("list[Value]", of.entries.ravel().tolist())) for of in outputs.values()]
    kept = needed(tracer.graph, len(inputs), tracer.asked, answers)
    _check_finite(name, [constant_of(tracer.graph.nodes[k]) for k in kept if tracer.graph.nodes[k][0] == "const"])
    _check_finite(name, [x for answer in answers for x in answer if isinstance(x, float)])
    used = {input_of(tracer.graph.nodes[k])[0] - len(inputs) for k in kept if tracer.graph.nodes[k][0] == "input"}
    frames = dict.fromkeys(one.frame for one in tracer.asked if isinstance(one, Asked) and one.frame)
    nodes = tuple(tracer.graph.nodes)
    made = Traced(nodes, inputs, tuple(tracer.asked), tuple(answers), tuple(kept), tuple(frames))
    shapes = {key: of.shape for key, of in outputs.items()}
    said = f"{method} {[*shapes.items()]} {made.text()}"
    known = "user_" + hashlib.sha256(said.encode()).hexdigest()[:16]
    function = _function(
        known, method, inputs, outputs_of(shapes, inputs, known), made, sorted(k for k in used if k >= 0)
    )
    return KNOWN.setdefault(known, function), made.frames


def _check_finite(name: str, constants: Sequence[float]) -> None:
    if not all(map(isfinite, constants)):
        raise UnsupportedError(
            f"{name}: a constant is infinite or no number (np.inf, np.nan, a division by 0); use a large number"
        )


def _function(
    name: str, method: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], made: Traced, used: Sequence[int]
) -> Function:
    every = [made.asked[k] for k in used]
    asked = [FUNCTIONS[one.function] for one in every if isinstance(one, Asked)]
    own = Function(
        name,
        method,
        "a user's function",
        inputs,
        outputs,
        lambda: {"traced": Route(made)},
        Size(*(sum(of) for of in zip(*(one.size for one in asked), strict=True))) if asked else Size(0),
        Accuracy(1e-9, 1e-3),
        condition=max((one.condition for one in asked), default=0.0),
        options=tuple(dict.fromkeys(option for one in asked for option in one.depends_on(one.takes_f_ext))),
        divides_by_mass=any(one.divides_by_mass for one in asked),
    )
    seen = [one.reference_frames for one in asked if one.reference_frames]
    allowed = [frame for frame in (seen[0] if seen else ()) if all(frame in of for of in seen)]
    return replace(own, reference_frames=tuple(allowed))
