"""Time axes of rollouts: which inputs have one, how many steps they say, and torques that could be meant otherwise."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from condyle.errors import ShapeError, ShapeWarning, UnsupportedError
from condyle.functions.quantities import TAU, Q, V
from condyle.functions.repeat import repeat
from condyle.runtime.given import as_array
from condyle.specification import Function


class Options(NamedTuple):
    """What is kept, and what has a time axis; see `Dynamics.rollout`. steps: as it is said, or as time axes say."""

    by_time: tuple[str, ...] = ()
    every: int = 1
    last: bool = False
    summed: tuple[str, ...] = ()
    steps: int | None = None

    def repeated(self, function: Function) -> Function:
        """The rollout; the number of steps must be there."""
        assert self.steps is not None
        return repeat(function, self.steps, self.by_time, self.every, self.last, self.summed)


class RolloutCall:
    """A rollout of one function, or its vjp, with the options of each call, on arrays of any framework.

    by_time: inputs that have a time axis unless `steps` holds them.
    """

    def __init__(self, by_time: tuple[str, ...]) -> None:
        self._by_time = by_time

    def __call__(
        self,
        *args: Any,
        by_time: Sequence[str] | str = (),
        every: int = 1,
        last: bool = False,
        sum: Sequence[str] | str = (),
        steps: int | None = None,
        **named: Any,
    ) -> Any:
        """The answers of each step, or the cotangents; options as in `Dynamics.rollout`."""
        given = self.bound(args, named)
        timed = timed_names(self._by_time, by_time, steps, given, self.warn)
        return self.run(given, Options(timed, every, last, names(sum, "sum"), steps))

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name; TypeError as of any call."""
        raise NotImplementedError

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        """The answers."""
        raise NotImplementedError

    def warn(self, message: str) -> None:
        """A ShapeWarning."""
        shape_warning(message)


def names(given: Iterable[str] | str, option: str = "by_time") -> tuple[str, ...]:
    """Names of ports as an option gives them, one or several. UnsupportedError for what is no list of names."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"rollout: {option}={given!r}: give names of inputs or outputs, such as ('tau',)")
    return tuple(given)


def shape_warning(message: str) -> None:
    """Warns, and names the line that called the library."""
    frame, level = sys._getframe(), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("condyle."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ShapeWarning, level)


def timed_names(
    always: tuple[str, ...],
    by_time: Iterable[str] | str,
    steps: int | None,
    given: Mapping[str, Any],
    warn: Callable[[str], None] = shape_warning,
) -> tuple[str, ...]:
    """Names of the inputs with a time axis: those of by_time, and before them `always`, which steps= holds instead.

    given: the inputs by name. ShapeError, or a call of `warn`, for torques that the caller may mean otherwise.
    """
    named = names(by_time) if by_time else ()
    if TAU.name in always and TAU.name not in named:
        q, v, tau = _shape(Q.name, given[Q.name]), _shape(V.name, given[V.name]), _shape(TAU.name, given[TAU.name])
        if len(tau) == max(len(q), len(v)) + (steps is not None):
            message = _other_reading(q, v, tau, steps)
            if message:
                warn(message)
    if steps is not None or not always:
        return named
    return (*always, *(name for name in named if name not in always)) if named else always


def _other_reading(q: Sequence[int], v: Sequence[int], tau: Sequence[int], steps: int | None) -> str:
    """What is said of torques that have the other reading's shape, by the shapes of q, v and tau; else nothing.

    With one row both readings are the same. ShapeError where batch axes would be taken for other ones.
    """
    batch, rows = max(tuple(q[:-1]), tuple(v[:-1]), key=len), tuple(tau[:-1])
    alike = rows == batch if steps is None else rows[:-1] == batch and rows[-1] in (1, steps)
    if not alike or math.prod(rows) < 2:
        return ""
    if steps is None:
        said = f"tau has shape {tuple(tau)}, one row for each state, and is read as {tau[-2]} time steps"
        cure = "steps=T holds one row for each state for T steps; by_time=('tau',) says that tau has a time axis"
    else:
        said = f"tau has shape {tuple(tau)} and is held for steps={steps}: what looks like a time axis is one of states"
        cure = "leave steps= out, or add by_time=('tau',), if tau has a time axis; give q the same batch if it has none"
    if len(batch) > (steps is None):
        raise ShapeError(f"rollout: {said}: {cure}")
    return f"rollout: {said}: {cure}"


def steps_of(timed: Iterable[tuple[str, Any, int]], steps: int | None) -> int:
    """How many steps the time axes say, else as it is said.

    timed: names of inputs with a time axis, their values, and how many dimensions one step has. ShapeError where they
    disagree, UnsupportedError where nothing says it.
    """
    found = {name: _length(name, value, dims) for name, value, dims in timed}
    if len(found) == 1 and steps is None:
        return next(iter(found.values()))
    lengths = {*found.values(), *(() if steps is None else (steps,))}
    if len(lengths) > 1:
        said = ", ".join(f"{name} {length}" for name, length in found.items())
        more = "" if steps is None else f"; steps={steps}"
        raise ShapeError(f"rollout: the time axes disagree: {said}{more}: give each input in by_time the same steps")
    if not lengths:
        raise UnsupportedError("rollout: no input has a time axis: name some in by_time=, or say steps=")
    return lengths.pop()


def timed_ports(function: Function, by_time: Sequence[str]) -> list[tuple[int, str, int]]:
    """The inputs that a step takes from a time axis: number, name, and how many dimensions one step has."""
    carried = {port.name for port in function.outputs}
    inputs = [(k, port.name, len(port.dims)) for k, port in enumerate(function.inputs)]
    return [(k, name, dims) for k, name, dims in inputs if name in by_time and name not in carried]


def length(function: Function, given: Mapping[str, Any], options: Options) -> int:
    """How many steps the time axes of a call say. given: the inputs by name."""
    timed = timed_ports(function, options.by_time)
    return steps_of(((name, given[name], dims) for _, name, dims in timed if name in given), options.steps)


def risen(active: Any, dtype: Any) -> Any:
    """(..., T, C): where a flag is on that was off in the step before; never in the first step."""
    flags = np.asarray(active, dtype)
    if flags.ndim < 2:  # without a time axis, of which the call complains
        return flags
    before = np.concatenate((flags[..., :1, :], flags[..., :-1, :]), axis=-2)
    return flags * (1 - before)


def _length(name: str, value: Any, dims: int) -> int:
    """The length of the time axis, which stands before those of the input itself."""
    shape = _shape(name, value)
    if len(shape) <= dims:
        axes = ", ".join(("...", "steps", *(str(n) for n in shape[len(shape) - dims :])))
        held = "; steps=T holds it for T steps" if name == TAU.name else ""
        raise ShapeError(f"rollout: {name} has shape {tuple(shape)}, expected a time axis: ({axes}){held}")
    steps = shape[len(shape) - dims - 1]
    if steps < 1:
        raise ShapeError(f"rollout: {name} has shape {tuple(shape)}: its time axis has no step; give at least one")
    return int(steps)


def _shape(name: str, value: Any) -> tuple[int, ...]:
    return (value if hasattr(value, "shape") else as_array("rollout", name, value)).shape
