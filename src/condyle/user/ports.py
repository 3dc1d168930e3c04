"""The inputs and outputs of a user's function: names and sizes as they were said, checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from typing import Any, TypeAlias, cast

from numpy.typing import ArrayLike

from condyle.compile.options import bound_arguments
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.quantities import Q, V
from condyle.model.change import suggest
from condyle.specification import NEXT, Function, Port

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
