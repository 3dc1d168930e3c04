"""The methods of `Dynamics` and the types of their answers, made from the specifications of the functions.

`methods.pyi` says the same to type checkers; `tools/reference.py` writes it.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature
from typing import Any

from condyle.compile.options import bound_arguments, opened_by
from condyle.functions import FUNCTIONS
from condyle.specification import F_EXT, Derivative, Function, Port
from condyle.specification.ports import OPEN


@cache
def result_type(method: str, parts: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The named tuple of a method with several answers; an attribute of this module.

    A pickle says method and parts: a process that has not yet used a derivative makes its named tuple then.
    """
    as_result = namedtuple(_type_name(method), parts, module=__name__)  # pyright: ignore[reportUntypedNamedTuple]
    as_result.__doc__ = f"{', '.join(parts)}: the answers of `{method}`."
    as_result.__reduce__ = lambda self: (_again, (method, parts, tuple(self)))  # pyright: ignore
    globals()[as_result.__name__] = as_result
    return as_result


def __getattr__(name: str) -> Any:
    """The named tuple of a function that has not answered yet: `condyle.DynamicsDerivatives`."""
    for function in FUNCTIONS.values():
        if _type_name(function.method) == name and (found := result_of(function)) is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _type_name(method: str) -> str:
    return method.title().replace("_", "")


def _again(method: str, parts: tuple[str, ...], answers: tuple[Any, ...]) -> tuple[Any, ...]:
    """A pickled answer."""
    return result_type(method, parts)(*answers)


def answer_names(function: Function) -> tuple[str, ...]:
    """What answers are called: of a vjp as the inputs that they are cotangents of, else as the outputs."""
    origin = function.origin
    if isinstance(origin, Derivative) and origin.kind == "vjp":
        return tuple(port.name for port in origin.function.inputs)
    return tuple(port.name for port in function.outputs)


def result_of(function: Function) -> type[tuple[Any, ...]] | None:
    """The same; None for a function with one answer, which is a bare array."""
    parts = answer_names(function)
    return result_type(function.method, parts) if len(parts) > 1 else None


def as_result(function: Function, answers: Sequence[Any]) -> Any:
    """One answer as it is, several as a named tuple."""
    result = result_of(function)
    return answers[0] if result is None else result(*answers)


def method_of(function: Function) -> Callable[..., Any]:
    """The method of a function: inputs, external forces where it takes them, and `out`, by position or by name."""
    signature, forced = signature_of(function), function.taking(F_EXT)
    count, parts, plain = len(function.inputs), answer_names(function), {"out"}

    def method(self: Any, *args: Any, **named: Any) -> Any:
        if len(args) == count and named.keys() <= plain:  # most calls, in little time
            answers = self.call(function, args, named.get("out"))
            return answers[0] if len(parts) == 1 else result_type(function.method, parts)(*answers)
        closed = next((name for name in named if name in OPEN and name in function.numbers), None)
        bound = bound_arguments(function.called, signature, (self, *args), named, opened_by(closed))
        given = [bound[port.name] for port in function.inputs]
        f_ext, out = bound.get("f_ext") if function.takes_f_ext else None, bound.get("out")  # else f_ext is an input
        if f_ext is None:
            return as_result(function, self.call(function, given, out))
        return as_result(
            forced if F_EXT.name in function.outputs_with else function, self.call(forced, (*given, f_ext), out)
        )

    method.__name__, method.__qualname__ = function.method, f"Dynamics.{function.method}"
    method.__doc__ = document_of(function)
    method.__dict__["__signature__"] = signature
    return method


def signature_of(function: Function) -> Signature:
    """What the method takes."""
    either = Parameter.POSITIONAL_OR_KEYWORD
    options = ["f_ext", "out"] if function.takes_f_ext else ["out"]
    given = [Parameter(name, either) for name in ("self", *(port.name for port in function.inputs))]
    return Signature([*given, *(Parameter(name, either, default=None) for name in options)])


def document_of(function: Function, answers: Sequence[str] = ()) -> str:
    """What the method returns, its equation, shapes, units, frames, errors and source.

    answers: their names, where these are not those of the outputs.
    """
    forces = function.takes_f_ext
    renamed = [replace(port, name=name) for port, name in zip(function.outputs, answers, strict=False)]
    outputs = renamed or function.outputs
    returned, *more = outputs
    names = ", ".join(port.name for port in outputs)
    parts = [
        f"Return the named tuple ({names})." if more else f"Return {returned.name}: {returned.doc}.",
        f"{function.equation}.",
        "\n".join(["Arguments, where ... are batch dimensions that broadcast:", *_taken(function, forces)]),
        "\n".join(["Answers:", *map(_line, outputs)]),
        "\n".join(["Errors:", *_errors(function)]),
        *([f"Source: {function.source}."] if function.source else []),
    ]
    return "\n\n".join(parts)


def _taken(function: Function, forces: bool) -> list[str]:
    """The arguments, a line each."""
    lines = [_line(port) for port in function.inputs]
    lines += [f"{_line(F_EXT)}; zero if it is left out"] if forces else []
    return [*lines, "out: the array, or the tuple of arrays, that is filled; new ones if it is left out"]


_NEEDS = {"frames": "frames=", "contacts": "contacts"}
"""What a robot is to be compiled with, by the option that a function depends on."""


def _errors(function: Function) -> list[str]:
    """What a call raises, a line an error."""
    return [
        "ShapeError, DTypeError: an argument does not fit; the message names it.",
        "OutOfMemoryError: the answers are larger than the memory.",
        *(
            f"UnsupportedError: the robot was compiled without {needed}."
            for option, needed in _NEEDS.items()
            if option in function.options
        ),
        *(["SingularError: the mass matrix has no inverse in any configuration."] if function.inverts else []),
    ]


_FRAMES = {
    "joint": "in joint coordinates",
    "body": "in each body's link frame",
    "world": "in world axes",
    "reference": "in the axes of reference_frame=",
    "contact": "in the contact's axes",
}
"""Frames of ports as documents say them; others stand as they are, "-" is none."""


def _line(port: Port) -> str:
    unit, frame = port.unit.replace(" | ", " or "), _FRAMES.get(port.frame, port.frame)
    where = "" if frame in ("-", "as given") else f", {frame}"
    return f"{port.name} ({', '.join(('...', *port.dims))}) [{unit}]{where}: {port.doc}"


def _meant(name: str) -> str:
    """The method that a wrong name, or a short one, was meant for; nothing for names that Python and NumPy ask for."""
    if name.startswith("_"):
        return ""
    short = FUNCTIONS[name].method if name in FUNCTIONS else None
    close = [short] if short else get_close_matches(name, [one.method for one in FUNCTIONS.values()], 2, 0.75)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


class Methods:
    """One method for each function."""

    def __getattr__(self, name: str) -> Any:
        """A function that was registered later."""
        for function in FUNCTIONS.values():
            if function.method == name:
                return method_of(function).__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{_meant(name)}")


for _function in FUNCTIONS.values():
    setattr(Methods, _function.method, method_of(_function))
