"""Rollouts of the functions of one robot, called as the functions are: `dyn.rollout(q, v, tau, dt)`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls import Call, Engine
from condyle.errors import AccuracyWarning
from condyle.functions.quantities import TAU
from condyle.functions.steps import STEP
from condyle.options import bound_arguments, opened_by
from condyle.ports import ACTIVE, OPEN, RISING
from condyle.specification import F_EXT, Function
from condyle.text import few
from condyle.time_axes import Options, RolloutCall, risen, steps_of, timed_ports

if TYPE_CHECKING:
    from condyle.methods import StepRollout

Array = NDArray[np.floating]
FASTEST = 100.0
"""|v| dt that no step follows [rad, m]."""
_SHOWN = 3
MOST = 64
"""Rollouts whose calls are kept ready, each for one number of steps and one choice of options."""


class Owner(Engine, Protocol):
    """What computes, and forgets: `Dynamics`."""

    def forget(self, kept: Collection[Function]) -> None: ...


class Rollouts:
    """The rollouts of one robot's functions, those of late ready to be called."""

    def __init__(self, engine: Owner, numbers: Mapping[str, Any]) -> None:
        """numbers: of the robot, those that are inputs, and its own."""
        self._engine, self._numbers = engine, numbers
        self._variants: dict[tuple[Function, bool, bool], tuple[Function, dict[str, Any]]] = {}
        self._ready: dict[tuple[object, ...], tuple[Function, Callable[..., Any]]] = {}
        self._timed: dict[tuple[Function, tuple[str, ...]], list[tuple[int, str, int]]] = {}
        self._of: dict[tuple[Function, str, tuple[str, ...]], Rollout] = {}
        self._lock = Lock()

    @property
    def functions(self) -> list[Function]:
        """Those that are ready."""
        return list(dict.fromkeys(function for function, _ in list(self._ready.values())))

    def call(self, of: Function, kind: str, given: Sequence[Any], options: Options, out: Any) -> Any:
        """A rollout (kind "") or its vjp; given: the inputs of the function, and then cotangents, in order."""
        steps = self._steps(of, given, options)
        key = (of, kind, steps, *options)
        try:
            _, ready = self._ready[key]
        except (KeyError, TypeError):  # of what is no name or number, the next line says it
            function = options._replace(steps=steps).repeated(of)
            ready = self._add(key, function, kind)
        return ready(*given) if out is None else ready(*given, out=out)

    def extended(
        self, of: Function, f_ext: Any, numbers: Mapping[str, Any], timed: tuple[str, ...] = ()
    ) -> tuple[Function, list[Any], tuple[str, ...]]:
        """The function that takes these forces, unless they are None, and the robot's numbers; what it takes more; and
        what of that has a time axis.

        numbers: as they are given; the robot's own stand for others. Where flags of contacts have a time axis, so has
        what rises between two steps.
        """
        rises = ACTIVE.name in timed and RISING.name in of.numbers
        key = of, f_ext is None, rises
        variant = self._variants.get(key)
        if variant is None:
            own = {name: value for name, value in self._numbers.items() if name in of.numbers}
            forces, more = () if f_ext is None else (F_EXT,), (RISING,) if rises else ()
            variant = self._variants[key] = of.taking(*forces, *own, *more), own
        function, own = variant
        wrong = next((name for name in numbers if name not in own), None)
        if wrong is not None:
            cure = opened_by(wrong if wrong in OPEN else None)
            raise TypeError(f"rollout: got an unexpected keyword argument {wrong!r}{cure}")
        extra = [value if numbers.get(name) is None else numbers[name] for name, value in own.items()]
        if rises:
            extra.append(risen(numbers.get(ACTIVE.name), self._engine.dtype))
            timed = (*timed, RISING.name)
        return function, extra if f_ext is None else [f_ext, *extra], timed

    def of(self, function: Function, kind: str = "", by_time: tuple[str, ...] = ()) -> Rollout:
        """Rollouts of a function, kept as long as they are."""
        key = function, kind, by_time
        rollout = self._of.get(key)
        if rollout is None:
            rollout = self._of[key] = Rollout(self, function, kind, by_time)
        return rollout

    def of_step(self, kind: str = "") -> Rollout:
        """`Dynamics.rollout`, or its vjp."""
        return self.of(STEP, kind, (TAU.name,))

    def named(self, function: Function) -> Callable[..., Any]:
        """A rollout of so many steps, or its vjp."""
        ready = self._ready.get((function,))
        if ready is not None:
            return ready[1]
        is_vjp = function.origin is not None and function.repeat is not None and function.repeat.backwards
        return self._add((function,), function.origin.of if is_vjp and function.origin else function, "vjp" * is_vjp)

    def _add(self, key: tuple[object, ...], function: Function, kind: str) -> Callable[..., Any]:
        call = Call.of_derivative(self._engine, kind, function, None, {}) if kind else Call(self._engine, function)
        front = call.front
        with self._lock:
            self._ready[key] = call.function, front
            if len(self._ready) > MOST:
                del self._ready[next(iter(self._ready))]
                self._engine.forget({ready for ready, _ in self._ready.values()})
        return front

    def _steps(self, of: Function, given: Sequence[Any], options: Options) -> int:
        """How many steps: as the time axes say, else as it is said. ShapeError where they disagree."""
        timed = self._timed.get((of, options.by_time))
        if timed is None:
            timed = self._timed[of, options.by_time] = timed_ports(of, options.by_time)
        return steps_of(((name, given[k], dims) for k, name, dims in timed if k < len(given)), options.steps)


class Rollout(RolloutCall):
    """A rollout of one function, or its vjp, with the options of each call. by_time: what has a time axis by default.

    Takes the inputs of the function and, of a vjp, then a cotangent of each answer, by position or by name, and the
    options `by_time`, `every`, `last`, `sum`, `steps` and `out` by name; see `Dynamics.rollout`.

    The vjp answers the derivatives of the number sum(cotangent * answer) by every input, as a named tuple: by a
    configuration in its tangent space, by an input with a time axis for each step, by one that is held summed over all
    steps, and over batch dimensions where it was broadcast. The states are kept on a way forward and read on the way
    back, for some rollouts at a time: `explain` says it.
    """

    def __init__(self, rollouts: Rollouts, of: Function, kind: str = "", by_time: tuple[str, ...] = ()) -> None:
        super().__init__(by_time)
        self._rollouts, self._of, self._kind = rollouts, of, kind
        self._called = f"{kind}_rollout" if kind else "rollout"
        cotangents = [f"{port.name}_bar" for port in of.outputs] if kind else []
        self._taken = [*(port.name for port in of.inputs), *cotangents]
        self._options = {"out", *of.takes}
        self.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self._taken])

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        optional = {name: value for name, value in named.items() if name in self._options}
        if len(named) == len(optional) and len(args) == len(self._taken):
            return {**dict(zip(self._taken, args, strict=True)), **optional}
        rest = {name: value for name, value in named.items() if name not in optional}
        return {**bound_arguments(self._called, self.__signature__, args, rest), **optional}

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        numbers = {name: arguments[name] for name in self._of.numbers if name in arguments}
        of, extra, timed = self._rollouts.extended(self._of, arguments.get(F_EXT.name), numbers, options.by_time)
        n, inputs = len(self._of.inputs), [arguments[name] for name in self._taken]
        inputs = [*inputs[:n], *extra, *inputs[n:]]
        return self._rollouts.call(of, self._kind, inputs, options._replace(by_time=timed), arguments.get("out"))


def stop_torn(states: StepRollout, dt: Array, last: bool, given: Sequence[ArrayLike | None]) -> None:
    """Where |v| dt passes `FASTEST`, states are NaN from there on, and an AccuracyWarning names those of the batch.

    given: what was asked for; no warning where some of it was no number already. States have no time axis if last.
    """
    q, v = states
    ends = v if last else v[..., -1, :]
    if np.abs(ends).max(initial=0.0) * dt.max(initial=0.0) <= FASTEST:  # a state that was torn stays so
        return
    torn = ~(np.abs(v).max(axis=-1) * (dt if last else dt[..., None]) <= FASTEST)
    if not last:
        torn = np.logical_or.accumulate(torn, axis=-1)
    q[torn], v[torn] = np.nan, np.nan
    if torn.any() and all(np.isfinite(x).all() for x in given if x is not None):
        places = np.flatnonzero(np.isnan(ends).any(axis=-1))
        named = few([str(place) for place in places], _SHOWN)
        cure = "take a smaller dt, or other gains of the contacts: see docs/loops.md, Limits"
        message = f"rollout: states {named} pass {FASTEST:g} rad or m in one step; they are NaN from there on; {cure}"
        warnings.warn(message, AccuracyWarning, stacklevel=3)
