"""Rollouts of the functions of one robot, called as the functions are: `dyn.rollout(q, v, tau, dt)`."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls.call import Call, Engine
from condyle.compile.options import bound_arguments, opened_by
from condyle.errors import AccuracyWarning, ShapeError, ShapeWarning, UnsupportedError
from condyle.functions.quantities import PUSHES, Q, V, push_of
from condyle.functions.repeat import iterate, repeat
from condyle.functions.steps import STEP
from condyle.runtime.arrays import as_array
from condyle.specification import F_EXT, Function
from condyle.specification.ports import ACTIVE, OPEN, RISING
from condyle.text import few

if TYPE_CHECKING:
    from condyle.calls.methods import StepRollout


# Time axes of rollouts: which inputs have one, how many steps they say, and torques that could be meant otherwise.


class Options(NamedTuple):
    """What is kept, and what has a time axis; see `Dynamics.rollout`. steps: as it is said, or as time axes say.

    until, together: of `iterate`; see `Repeat`.
    """

    by_time: tuple[str, ...]
    every: int
    last: bool
    summed: tuple[str, ...]
    steps: int | None
    until: str
    together: bool

    @property
    def called(self) -> str:
        """The method that has these options."""
        return "iterate" if self.until else "rollout"

    def repeated(self, function: Function) -> Function:
        """The rollout; the number of steps must be there."""
        assert self.steps is not None
        if self.until:
            return iterate(function, self.steps, self.until, self.together, self.by_time, self.summed)
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
        return self.run(given, Options(timed, every, last, names(sum, "sum"), steps, "", False))

    def iterate(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        until: str | tuple[str, str] = "done",
        most: int = 50,
        by_time: Sequence[str] | str = (),
        sum: Sequence[str] | str = (),
    ) -> Any:
        """The answers of a function that is repeated until it is done: see `CompiledFunction.iterate`."""
        is_pair = isinstance(until, tuple) and len(until) == 2 and until[1] == "any"
        end, together = (until[0], True) if is_pair else (until, False)
        if not isinstance(end, str) or not end:
            raise UnsupportedError(f"iterate: until={until!r}; give the name of an output, or ('done', 'any')")
        timed, summed = names(by_time, "by_time", "iterate"), names(sum, "sum", "iterate")
        return self.run(self.bound(args, named), Options(timed, 1, True, summed, most, end, together))

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name; TypeError as of any call."""
        raise NotImplementedError

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        """The answers."""
        raise NotImplementedError

    def warn(self, message: str) -> None:
        """A ShapeWarning."""
        shape_warning(message)


def names(listed: Iterable[str] | str, option: str = "by_time", called: str = "rollout") -> tuple[str, ...]:
    """Names of ports as an option gives them, one or several. UnsupportedError for what is no list of names."""
    if isinstance(listed, str):
        return (listed,)
    if not isinstance(listed, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"{called}: {option}={listed!r}: give names of inputs or outputs, such as ('tau',)")
    return tuple(listed)


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
    arguments: Mapping[str, Any],
    warn: Callable[[str], None] = shape_warning,
) -> tuple[str, ...]:
    """Names of the inputs with a time axis: those of by_time, and before them `always`, which steps= holds instead.

    arguments: the inputs by name. ShapeError, or a call of `warn`, for torques that the caller may mean otherwise.
    """
    named = names(by_time) if by_time else ()
    push = next((name for name in always if name in PUSHES), None)
    if push is not None and push not in named:
        q, v, tau = (_shape(name, arguments[name]) for name in (Q.name, V.name, push))
        if len(tau) == max(len(q), len(v)) + (steps is not None):
            message = _other_reading(push, q, v, tau, steps)
            if message:
                warn(message)
    if steps is not None or not always:
        return named
    return (*always, *(name for name in named if name not in always)) if named else always


def _other_reading(push: str, q: Sequence[int], v: Sequence[int], tau: Sequence[int], steps: int | None) -> str:
    """What is said of torques that have the other reading's shape, by the shapes of q, v and tau; else nothing.

    push: their name.

    With one row both readings are the same. ShapeError where batch axes would be taken for other ones.
    """
    batch, rows = max(tuple(q[:-1]), tuple(v[:-1]), key=len), tuple(tau[:-1])
    alike = rows == batch if steps is None else rows[:-1] == batch and rows[-1] in (1, steps)
    if not alike or math.prod(rows) < 2:
        return ""
    if steps is None:
        said = f"{push} has shape {tuple(tau)}, one row for each state, and is read as {tau[-2]} time steps"
        cure = f"steps=T holds one row for each state for T steps; by_time=({push!r},) says that {push} has a time axis"
    else:
        said = (
            f"{push} has shape {tuple(tau)} and is held for steps={steps}: what looks like a time axis is one of states"
        )
        cure = (
            f"leave steps= out, or add by_time=({push!r},), if {push} has a time axis; give q the same batch if it has "
            "none"
        )
    if len(batch) > (steps is None):
        raise ShapeError(f"rollout: {said}: {cure}")
    return f"rollout: {said}: {cure}"


def steps_of(timed: Iterable[tuple[str, Any, int]], steps: int | None, called: str = "rollout") -> int:
    """How many steps the time axes say, else as it is said.

    timed: names of inputs with a time axis, their values, and how many dimensions one step has. ShapeError where they
    disagree, UnsupportedError where nothing says it.
    """
    if not isinstance(cast("object", steps), Hashable):  # an array, or a traced number of JAX
        word = "most" if called == "iterate" else "steps"
        raise UnsupportedError(f"{called}: {word}={steps!r}; give a whole number, which jit and vmap do not trace")
    found = {name: _length(name, value, dims, called) for name, value, dims in timed}
    if len(found) == 1 and steps is None:
        return next(iter(found.values()))
    lengths = {*found.values(), *(() if steps is None else (steps,))}
    if len(lengths) > 1:
        said = ", ".join(f"{name} {length}" for name, length in found.items())
        if called == "iterate":
            raise ShapeError(f"iterate: most={steps}, and the time axes have other lengths: {said}: give {steps} rows")
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


def length(function: Function, arguments: Mapping[str, Any], options: Options) -> int:
    """How many steps the time axes of a call say. arguments: the inputs by name."""
    timed = timed_ports(function, options.by_time)
    lengths = ((name, arguments[name], dims) for _, name, dims in timed if name in arguments)
    return steps_of(lengths, options.steps, options.called)


def risen(active: Any, dtype: Any) -> Any:
    """(..., T, C): where a flag is on that was off in the step before; never in the first step."""
    flags = np.asarray(active, dtype)
    if flags.ndim < 2:  # without a time axis, of which the call complains
        return flags
    before = np.concatenate((flags[..., :1, :], flags[..., :-1, :]), axis=-2)
    return flags * (1 - before)


def _length(name: str, value: Any, dims: int, called: str) -> int:
    """The length of the time axis, which stands before those of the input itself."""
    shape = _shape(name, value)
    if len(shape) <= dims:
        axes = ", ".join(("...", "steps", *(str(n) for n in shape[len(shape) - dims :])))
        held = "; steps=T holds it for T steps" if name in PUSHES else ""
        raise ShapeError(f"{called}: {name} has shape {tuple(shape)}, expected a time axis: ({axes}){held}")
    steps = shape[len(shape) - dims - 1]
    if steps < 1:
        raise ShapeError(f"{called}: {name} has shape {tuple(shape)}: its time axis has no step; give at least one")
    return int(steps)


def _shape(name: str, value: Any) -> tuple[int, ...]:
    return (value if hasattr(value, "shape") else as_array("rollout", name, value)).shape


Array = NDArray[np.floating]
FASTEST = 100.0
"""|v| dt that no step follows [rad, m]."""
_SHOWN = 3
MOST = 64
"""Rollouts whose calls are kept ready, each for one number of steps and one choice of options."""


class Owner(Engine, Protocol):
    """What computes, and forgets: `Dynamics`."""

    def forget(self, kept: Collection[Function]) -> None: ...
    def driven(self, function: Function) -> Function: ...


class Rollouts:
    """The rollouts of one robot's functions, those of late ready to be called."""

    def __init__(self, engine: Owner, numbers: Mapping[str, Any]) -> None:
        """numbers: of the robot, those that are inputs, and its own."""
        self._engine, self._numbers = engine, numbers
        self._variants: dict[tuple[Function, bool, bool], tuple[Function, dict[str, Any]]] = {}
        self._ready: dict[tuple[object, ...], tuple[Function, Callable[..., Any]]] = {}
        self._timed: dict[tuple[Function, tuple[str, ...]], list[tuple[int, str, int]]] = {}
        self._by_function: dict[tuple[Function, str, tuple[str, ...]], Rollout] = {}
        self._lock = Lock()
        self.latest: dict[Function, tuple[Function, Any]] = {}
        """By function: how it was iterated last, and the number of iterations of each state."""

    @property
    def functions(self) -> list[Function]:
        """Those that are ready."""
        return list(dict.fromkeys(function for function, _ in list(self._ready.values())))

    def call(self, function: Function, kind: str, arguments: Sequence[Any], options: Options, out: Any) -> Any:
        """A rollout (kind "") or its vjp; arguments: the inputs of the function, and then cotangents, in order."""
        steps = self._steps(function, arguments, options)
        key = (function, kind, steps, *options)
        try:
            repeated, ready = self._ready[key]
        except (KeyError, TypeError):  # of what is no name or number, the next line says it
            repeated, ready = self._add(key, options._replace(steps=steps).repeated(function), kind)
        answers = ready(*arguments) if out is None else ready(*arguments, out=out)
        if options.until:
            self.latest[function.root] = repeated, answers.iterations
        return answers

    def extended(
        self, function: Function, f_ext: Any, numbers: Mapping[str, Any], timed: tuple[str, ...] = ()
    ) -> tuple[Function, list[Any], tuple[str, ...]]:
        """The function that takes these forces, unless they are None, and the robot's numbers; what it takes more; and
        what of that has a time axis.

        numbers: as they are given; the robot's own stand for others. Where flags of contacts have a time axis, so has
        what rises between two steps.
        """
        rises = ACTIVE.name in timed and RISING.name in function.numbers
        key = function, f_ext is None, rises
        variant = self._variants.get(key)
        if variant is None:
            own = {name: value for name, value in self._numbers.items() if name in function.numbers}
            forces, more = () if f_ext is None else (F_EXT,), (RISING,) if rises else ()
            variant = self._variants[key] = function.taking(*forces, *own, *more), own
        forced, own = variant
        wrong = next((name for name in numbers if name not in own), None)
        if wrong is not None:
            cure = opened_by(wrong if wrong in OPEN else None)
            raise TypeError(f"rollout: got an unexpected keyword argument {wrong!r}{cure}")
        extra = [value if numbers.get(name) is None else numbers[name] for name, value in own.items()]
        if rises:
            extra.append(risen(numbers.get(ACTIVE.name), self._engine.dtype))
            timed = (*timed, RISING.name)
        return forced, extra if f_ext is None else [f_ext, *extra], timed

    def rollout_of(self, function: Function, kind: str = "", by_time: tuple[str, ...] = ()) -> Rollout:
        """Rollouts of a function, kept as long as they are."""
        function = self._engine.driven(function)
        key = function, kind, by_time
        rollout = self._by_function.get(key)
        if rollout is None:
            rollout = self._by_function[key] = Rollout(self, function, kind, by_time)
        return rollout

    def of_step(self, kind: str = "") -> Rollout:
        """`Dynamics.rollout`, or its vjp."""
        return self.rollout_of(STEP, kind, push_of(self._engine.driven(STEP)))

    def named(self, function: Function) -> Callable[..., Any]:
        """A rollout of so many steps, or its vjp."""
        ready = self._ready.get((function,))
        if ready is not None:
            return ready[1]
        is_vjp = function.origin is not None and function.repeat is not None and function.repeat.backwards
        return self._add(
            (function,), function.origin.function if is_vjp and function.origin else function, "vjp" * is_vjp
        )[1]

    def _add(self, key: tuple[object, ...], function: Function, kind: str) -> tuple[Function, Callable[..., Any]]:
        call = Call.of_derivative(self._engine, kind, function, None, {}) if kind else Call(self._engine, function)
        ready = call.function, call.front
        with self._lock:
            self._ready[key] = ready
            if len(self._ready) > MOST:
                del self._ready[next(iter(self._ready))]
                self._engine.forget({ready for ready, _ in self._ready.values()})
        return ready

    def _steps(self, function: Function, arguments: Sequence[Any], options: Options) -> int:
        """How many steps: as the time axes say, else as it is said. ShapeError where they disagree."""
        timed = self._timed.get((function, options.by_time))
        if timed is None:
            timed = self._timed[function, options.by_time] = timed_ports(function, options.by_time)
        lengths = ((name, arguments[k], dims) for k, name, dims in timed if k < len(arguments))
        return steps_of(lengths, options.steps, options.called)


class Rollout(RolloutCall):
    """A rollout of one function, or its vjp, with the options of each call. by_time: what has a time axis by default.

    Takes the inputs of the function and, of a vjp, then a cotangent of each answer, by position or by name, and the
    options `by_time`, `every`, `last`, `sum`, `steps` and `out` by name; see `Dynamics.rollout`.

    The vjp answers the derivatives of the number sum(cotangent * answer) by every input, as a named tuple: by a
    configuration in its tangent space, by an input with a time axis for each step, by one that is held summed over all
    steps, and over batch dimensions where it was broadcast. The states are kept on a way forward and read on the way
    back, for some rollouts at a time: `explain` says it.
    """

    def __init__(self, rollouts: Rollouts, function: Function, kind: str = "", by_time: tuple[str, ...] = ()) -> None:
        super().__init__(by_time)
        self._rollouts, self._function, self._kind = rollouts, function, kind
        self._called = f"{kind}_rollout" if kind else "rollout"
        cotangents = [f"{port.name}_bar" for port in function.outputs] if kind else []
        self._taken = [*(port.name for port in function.inputs), *cotangents]
        self._options = {"out", *function.takes}
        self.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self._taken])

    @property
    def latest(self) -> tuple[Function, Any] | None:
        """How the function was iterated last, and the number of iterations of each state."""
        return self._rollouts.latest.get(self._function.root)

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        optional = {name: value for name, value in named.items() if name in self._options}
        if len(named) == len(optional) and len(args) == len(self._taken):
            return {**dict(zip(self._taken, args, strict=True)), **optional}
        rest = {name: value for name, value in named.items() if name not in optional}
        return {**bound_arguments(self._called, self.__signature__, args, rest), **optional}

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        numbers = {name: arguments[name] for name in self._function.numbers if name in arguments}
        of, extra, timed = self._rollouts.extended(self._function, arguments.get(F_EXT.name), numbers, options.by_time)
        n, inputs = len(self._function.inputs), [arguments[name] for name in self._taken]
        inputs = [*inputs[:n], *extra, *inputs[n:]]
        return self._rollouts.call(of, self._kind, inputs, options._replace(by_time=timed), arguments.get("out"))


def stop_torn(states: StepRollout, dt: Array, last: bool, arguments: Sequence[ArrayLike | None]) -> None:
    """Where |v| dt passes `FASTEST`, states are NaN from there on, and an AccuracyWarning names those of the batch.

    arguments: what was asked for; no warning where some of it was no number already. States have no time axis if last.
    """
    q, v = states
    ends = v if last else v[..., -1, :]
    if np.abs(ends).max(initial=0.0) * dt.max(initial=0.0) <= FASTEST:  # a state that was torn stays so
        return
    torn = ~(np.abs(v).max(axis=-1) * (dt if last else dt[..., None]) <= FASTEST)
    if not last:
        torn = np.logical_or.accumulate(torn, axis=-1)
    q[torn], v[torn] = np.nan, np.nan
    if torn.any() and all(np.isfinite(x).all() for x in arguments if x is not None):
        places = np.flatnonzero(np.isnan(ends).any(axis=-1))
        named = few([str(place) for place in places], _SHOWN)
        cure = "take a smaller dt, or other gains of the contacts: see docs/how-to/loops.md, Limits"
        message = f"rollout: states {named} pass {FASTEST:g} rad or m in one step; they are NaN from there on; {cure}"
        warnings.warn(message, AccuracyWarning, stacklevel=3)
