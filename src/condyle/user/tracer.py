"""A user's function on symbols: the graph, and what the function asks of the robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from condyle.errors import CondyleError, UnsupportedError
from condyle.ir.expr import Expr, Graph, Value
from condyle.specification import Function, Port
from condyle.symbolic import Condition, Symbols
from condyle.symbolic.arrays import entries_of, numbers_of
from condyle.symbolic.entries import Entries, numpy
from condyle.user.ports import check_positive, check_shape

Values = Sequence[Value]


class Asked(NamedTuple):
    """A function that was called, its arguments flat; frame: of a function of frames. Its answers' leaves: one port."""

    function: Function
    arguments: tuple[tuple[Value, ...], ...]
    frame: str


class Multiplied(NamedTuple):
    """A large product of matrices, flat; shape: rows of the left one, its columns, columns of the right one."""

    left: tuple[Value, ...]
    right: tuple[Value, ...]
    shape: tuple[int, int, int]

    @property
    def arguments(self) -> tuple[tuple[Value, ...], ...]:
        return self.left, self.right


class Tracer:
    """What symbols are from: one graph; ports of leaves are those of inputs, then of what was asked."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.graph = Graph()
        self.asked: list[Asked | Multiplied] = []
        self.sizes = dict(sizes)
        self._ports = 0
        self._answers: dict[tuple[object, ...], list[Symbols]] = {}

    def input(self, port: Port) -> Symbols:
        """An input's symbols."""
        return self._leaves([port.shape(self.sizes)])[0]

    def product(self, left: Entries, right: Entries) -> Entries:
        """A large product: fresh symbols, so that a recording can keep it as one operation."""
        m, inner, n = (*left.shape, right.shape[1])
        self.asked.append(Multiplied(tuple(left.ravel().tolist()), tuple(right.ravel().tolist()), (m, inner, n)))
        return self._leaves([(m, n)])[0].entries

    def call(self, function: Function, arguments: Sequence[Any], frame: str) -> Sequence[Symbols]:
        """The answers of a function of the robot: fresh symbols, of equal arguments the same ones."""
        sizes = {**self.sizes, "n_frames": 1}
        flat: list[tuple[Value, ...]] = []
        for port, value in zip(function.inputs, arguments, strict=True):
            entries = numbers_of(value, self)
            check_shape(f"at.{function.method}", port.name, entries.shape, port.shape(sizes))
            check_positive(f"at.{function.method}", port, entries.ravel().tolist())
            flat.append(tuple(cast("list[Value]", entries.ravel().tolist())))
        key = (function, frame, *(key_of(value) for values in flat for value in values))
        if key not in self._answers:
            self.asked.append(Asked(function, tuple(flat), frame))
            self._answers[key] = self._leaves([port.shape(sizes) for port in function.outputs])
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


def key_of(value: Value) -> object:
    return (value.index,) if isinstance(value, Expr) else value


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
