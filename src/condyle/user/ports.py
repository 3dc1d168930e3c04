"""The inputs and outputs of a user's function: names and sizes as they were said, checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from condyle.algorithms.linear_systems import Cholesky, Eliminated
from condyle.compile.options import bound_arguments
from condyle.errors import CondyleError, ShapeError, UnsupportedError
from condyle.functions.linear_systems import KINDS, linear_system
from condyle.functions.quantities import Q, V
from condyle.ir.expr import Expr, Graph, Value
from condyle.model.named import suggest
from condyle.specification import NEXT, Function, Port
from condyle.symbolic import Condition, Symbols
from condyle.symbolic.arrays import entries_of, numbers_of
from condyle.symbolic.elementwise import Entries, as_objects, numpy

Size: TypeAlias = "int | str | tuple[int | str, ...]"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")
TAKEN = ("at", "out", "self")
MOST = 1 << 24
"""Entries of one input: above this no code is made of it."""


@dataclass(frozen=True)
class Sizes:
    """Sizes by name, and whether they are those of a robot."""

    numbers: Mapping[str, int]
    of_robot: bool

    @staticmethod
    def joined(robot: Mapping[str, int] | None, more: Mapping[str, int] | None) -> Sizes:
        """The robot's and the user's own."""
        own = dict(robot or {})
        if not isinstance(more or {}, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"sizes={more!r}: give a dict of names and numbers, such as {{'n_obstacles': 4}}")
        for name, value in (more or {}).items():
            if name in own:
                raise UnsupportedError(f"sizes: {name!r} is {own[name]} of this robot; choose another name")
            if not _is_whole(value):
                raise UnsupportedError(f"sizes: {name!r} is {value!r}; give a whole number from 1 on")
            own[name] = int(value)
        return Sizes(own, robot is not None)

    def length(self, name: str, dim: object) -> int:
        """One dimension as a number."""
        if isinstance(dim, str):
            if dim not in self.numbers:
                known = suggest(dim, tuple(self.numbers)) or "; there are none yet"
                raise UnsupportedError(
                    f"inputs: {name!r} has the size {dim!r}, which is not known{known}; "
                    f"sizes={{{dim!r}: ...}} names more"
                )
            return self.numbers[dim]
        if not _is_whole(dim):
            raise UnsupportedError(
                f"inputs: {name!r} has the size {dim!r}; a size is (), a number from 1 to {MOST}, a name, or a "
                "tuple of these"
            )
        return int(cast(int, dim))


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and 1 <= int(cast(int, value)) <= MOST


def check_arguments(f: object, called: str, has_state: bool, inputs: Sequence[str]) -> None:
    """UnsupportedError where f is no function, or takes other arguments than the state and these inputs."""
    if not callable(f):
        raise UnsupportedError(f"function: {f!r} is no function; write one, such as def cost(at, u): ...")
    given = [name for name in inputs if not has_state or name not in (Q.name, V.name)]
    try:
        signature(f).bind(*(["at"] if has_state else []), **dict.fromkeys(given))
    except TypeError as error:
        takes = ", ".join((*(["at"] if has_state else []), *given))
        raise UnsupportedError(f"{called}: {error}; by inputs={list(inputs)!r} its arguments are ({takes})") from None
    except ValueError:  # a callable of C may have no signature: the call itself says what is wrong
        return


def names_asked(
    where: str, what: str, f: Callable[..., Any], inputs: Iterable[str], has_state: bool = True
) -> tuple[str, ...]:
    """The inputs that a user's function takes by the names of its arguments; UnsupportedError for others.

    where, what: the job and the function, for messages. has_state: whether its first argument is the state.
    """
    first = ("at",) if has_state else ()
    if not callable(f):
        example = f"def {what}({', '.join(first)}): ..."
        raise UnsupportedError(f"{where}: {what}={f!r} is no function; write one, such as {example}")
    parameters = list(signature(f).parameters.values())[len(first) :]
    names = [name for name in inputs if not has_state or name not in (Q.name, V.name)]
    if any(parameter.kind == Parameter.VAR_KEYWORD for parameter in parameters):
        return tuple(names)
    wrong = [p.name for p in parameters if p.name not in names and p.default is Parameter.empty]
    if wrong:
        raise UnsupportedError(f"{what}: argument {wrong[0]!r} is no input; there are {', '.join((*first, *names))}")
    asked = {parameter.name for parameter in parameters}
    return tuple(name for name in names if name in asked)


def inputs_of(inputs: Mapping[str, Any], sizes: Sizes) -> tuple[Port, ...]:
    """A port for every input, in their order."""
    if not isinstance(inputs, Mapping) or not inputs:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"inputs={inputs!r}: give a dict of names and sizes, such as {{'q': 'nq', 'u': 7}}")
    check_names("inputs", inputs)
    return tuple(_input(name, size, sizes) for name, size in inputs.items())


def _input(name: str, size: object, sizes: Sizes) -> Port:
    dims = cast("tuple[object, ...]", size) if isinstance(size, tuple) else (size,)
    lengths = [sizes.length(name, dim) for dim in dims]
    if sizes.of_robot and name in (Q.name, V.name):
        own = Q if name == Q.name else V
        if lengths != [sizes.numbers[own.dims[0]]]:
            raise UnsupportedError(f"inputs: {name!r} has the size {size!r}; of this robot it is {own.dims[0]!r}")
        return own
    if dims == Q.dims:
        return Port(name, Q.dims, Q.unit, Q.frame, "a configuration")
    return Port(name, tuple(map(str, lengths)), "as given", "as given", "an input")


def outputs_of(
    shapes: Mapping[str, tuple[int, ...]], inputs: Iterable[Port], sizes: Mapping[str, int], function: str
) -> tuple[Port, ...]:
    """A port for every output, in their order. function: as which derivatives of it are known.

    An output with the name and the shape of an input is that quantity after a step: a configuration stays one.
    """
    check_names("outputs", shapes)
    given = {port.name: port for port in inputs}
    _check_next(shapes, given)
    return tuple(
        replace(given[name], doc="an output", given_by=function)
        if name in given and given[name].shape(sizes) == shape
        else Port(name, tuple(map(str, shape)), "as given", "as given", "an output", given_by=function)
        for name, shape in shapes.items()
    )


def _check_next(outputs: Iterable[str], inputs: Collection[str]) -> None:
    """In generated code an output with the name of an input has another one, which nothing else may have."""
    known = {*outputs, *inputs}
    for name in outputs:
        if name in inputs and NEXT.format(name) in known:
            raise UnsupportedError(
                f"outputs: {name!r} is the name of an input, and is {NEXT.format(name)!r} in generated code, which is "
                "taken: give one of them another name"
            )


def check_names(where: str, names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str) or NAME.fullmatch(name) is None or iskeyword(name) or name in TAKEN:
            raise UnsupportedError(
                f"{where}: {name!r} cannot be a name: a letter, then up to 30 letters, digits and _, no word of "
                f"Python, and none of {', '.join(TAKEN)}"
            )


def check_positive(where: str, port: Port, values: Iterable[object]) -> None:
    """UnsupportedError where a number that is known is not above 0, and must be."""
    wrong = [x for x in values if isinstance(x, float) and x <= 0.0] if port.is_positive else []
    if wrong:
        raise UnsupportedError(f"{where}: {port.name} is {wrong[0]:g}, expected numbers above 0, such as 1e-3")


def check_shape(where: str, name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ShapeError(f"{where}: {name} has shape {shape}, expected {expected}")


def ordered(function: Function, args: Sequence[ArrayLike], named: Mapping[str, ArrayLike]) -> Sequence[ArrayLike]:
    """By position or by name."""
    if not named:
        return args
    either = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature([Parameter(port.name, either) for port in function.inputs])
    return list(bound_arguments(function.called, signature, args, named).values())


# A user's function on symbols: the graph, and what the function asks of the robot.


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

    def linear(self, kind: str, *operands: Entries) -> Entries:
        """Solves are called as functions, whose derivatives are solves; the others are written out."""
        if kind in KINDS:
            return self.call(linear_system(kind, *operands[1].shape), operands, "")[0].entries.copy()
        rows = operands[0].tolist()
        if kind == "det":
            return as_objects(Eliminated(rows).determinant)
        return np.array(Cholesky(rows).L, object)

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
