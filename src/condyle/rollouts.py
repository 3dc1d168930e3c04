"""Rollouts of the functions of one robot, called as the functions are: `dyn.rollout(q, v, tau, dt)`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np

from condyle.derived_calls import Derivative, Engine
from condyle.functions import FUNCTIONS, variant
from condyle.functions.quantities import TAU
from condyle.functions.rollouts import name_of
from condyle.methods import made
from condyle.options import bound_arguments, opened_by
from condyle.ports import ACTIVE, OPEN, RISING
from condyle.specification import F_EXT
from condyle.time_axes import names, risen, steps_of, timed_names

STEP = "step"
"""What `Dynamics.rollout` repeats."""
TAKEN = tuple(port.name for port in FUNCTIONS[STEP].inputs)
MOST = 64
"""Rollouts whose calls are kept ready, each for one number of steps and one choice of options."""


class Owner(Engine, Protocol):
    """What computes, and forgets: `Dynamics`."""

    @property
    def dtype(self) -> np.dtype[np.floating]: ...
    def forget(self, prefixes: tuple[str, ...], kept: Collection[str]) -> None: ...


class Options(NamedTuple):
    """What is kept, and what has a time axis; see `Dynamics.rollout`."""

    by_time: tuple[str, ...] = ()
    every: int = 1
    last: bool = False
    summed: tuple[str, ...] = ()
    steps: int | None = None


class Rollouts:
    """The rollouts of one robot's functions, those of late ready to be called."""

    def __init__(self, engine: Owner, numbers: Mapping[str, Any]) -> None:
        """numbers: of the robot, those that are inputs, and its own."""
        self._engine, self._numbers = engine, numbers
        self._variants: dict[tuple[str, bool, bool], tuple[str, dict[str, Any]]] = {}
        self._ready: dict[tuple[object, ...], tuple[str, Callable[..., Any]]] = {}
        self._timed: dict[tuple[str, tuple[str, ...]], list[tuple[int, str, int]]] = {}
        self._of: dict[tuple[str, str], RolloutOf] = {}
        self._lock = Lock()

    @property
    def names(self) -> list[str]:
        """Short names of those that are ready."""
        return list(dict.fromkeys(name for name, _ in list(self._ready.values())))

    def call(self, of: str, kind: str, given: Sequence[Any], options: Options, out: Any) -> Any:
        """A rollout (kind "") or its vjp; given: the inputs of the function, and then cotangents, in order."""
        steps = self._steps(of, given, options)
        key = (of, kind, steps, *options)
        try:
            _, ready = self._ready[key]
        except (KeyError, TypeError):  # of what is no name or number, the next line says it
            name = name_of(of, steps, options.by_time, options.every, options.last, options.summed)
            ready = self._add(key, name, kind)
        return ready(*given) if out is None else ready(*given, out=out)

    def steps(
        self,
        given: tuple[Any, ...],
        f_ext: Any,
        numbers: Mapping[str, Any],
        by_time: Sequence[str] | str,
        every: int,
        last: bool,
        steps: int | None,
        out: Any,
    ) -> Any:
        """`Dynamics.rollout`; given: the inputs of `step`."""
        timed = timed_names((TAU.name,), by_time, steps, dict(zip(TAKEN, given, strict=True)))
        of, extra, timed = self.extended(STEP, f_ext, numbers, timed)
        return self.call(of, "", (*given, *extra), Options(timed, every, last, (), steps), out)

    def extended(
        self, of: str, f_ext: Any, numbers: Mapping[str, Any], timed: tuple[str, ...] = ()
    ) -> tuple[str, list[Any], tuple[str, ...]]:
        """The function that takes these forces, unless they are None, and the robot's numbers; what it takes more; and
        what of that has a time axis.

        numbers: as they are given; the robot's own stand for others. Where flags of contacts have a time axis, so has
        what rises between two steps.
        """
        rises = ACTIVE.name in timed and RISING.name in FUNCTIONS[of].numbers
        key = of, f_ext is None, rises
        known = self._variants.get(key)
        if known is None:
            own = {name: own for name, own in self._numbers.items() if name in FUNCTIONS[of].numbers}
            forces, more = () if f_ext is None else (F_EXT.name,), (RISING.name,) if rises else ()
            known = self._variants[key] = variant(of, (*forces, *own, *more)), own
        name, own = known
        wrong = next((given for given in numbers if given not in own), None)
        if wrong is not None:
            cure = opened_by(wrong if wrong in OPEN else None)
            raise TypeError(f"rollout: got an unexpected keyword argument {wrong!r}{cure}")
        extra = [x if numbers.get(key) is None else numbers[key] for key, x in own.items()]
        if rises:
            extra.append(risen(numbers.get(ACTIVE.name), self._engine.dtype))
            timed = (*timed, RISING.name)
        return name, extra if f_ext is None else [f_ext, *extra], timed

    def vjp(self) -> RolloutOf:
        """The vjp of `Dynamics.rollout`."""
        return RolloutOf(self, STEP, "vjp", (TAU.name,))

    def of(self, name: str, kind: str = "") -> RolloutOf:
        """Rollouts of a function by its short name, kept as long as they are."""
        known = self._of.get((name, kind))
        if known is None:
            known = self._of[name, kind] = RolloutOf(self, name, kind)
        return known

    def named(self, name: str) -> Callable[..., Any]:
        """A rollout, or its vjp, by its short name."""
        known = self._ready.get((name,))
        if known is not None:
            return known[1]
        kind = "vjp" if name.startswith("vjp_") else ""
        return self._add((name,), name.removeprefix("vjp_"), kind)

    def _add(self, key: tuple[object, ...], name: str, kind: str) -> Callable[..., Any]:
        ready = Derivative(self._engine, kind, name) if kind else _Plain(self._engine, name)
        call = self._engine.direct(ready.name, ready, ready.result, not kind) or ready
        with self._lock:
            self._ready[key] = ready.name, call
            if len(self._ready) > MOST:
                del self._ready[next(iter(self._ready))]
                self._engine.forget(("rollout_", "vjp_rollout_"), {name for name, _ in self._ready.values()})
        return call

    def _steps(self, of: str, given: Sequence[Any], options: Options) -> int:
        """How many steps: as the time axes say, else as it is said. ShapeError where they disagree."""
        timed = self._timed.get((of, options.by_time))
        if timed is None:
            carried = {port.name for port in FUNCTIONS[of].outputs}
            timed = self._timed[of, options.by_time] = [
                (k, port.name, len(port.dims))
                for k, port in enumerate(FUNCTIONS[of].inputs)
                if port.name in options.by_time and port.name not in carried
            ]
        return steps_of(((name, given[k], dims) for k, name, dims in timed if k < len(given)), options.steps)


class _Plain:
    """A rollout by its name, called with its inputs in order."""

    result = None
    """The type of answers is the function's."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine, self.name = engine, name
        self.function = FUNCTIONS[name]
        repeat = self.function.repeat
        self._held = FUNCTIONS[repeat.of] if repeat else None  # a user's function is known while somebody has it
        either = Parameter.POSITIONAL_OR_KEYWORD
        taken = [Parameter(port.name, either) for port in self.function.inputs]
        self.__signature__ = Signature([*taken, Parameter("out", either, default=None)])

    def __call__(self, *args: Any, **named: Any) -> Any:
        given = bound_arguments(self.function.called, self.__signature__, args, named)
        inputs = [given[port.name] for port in self.function.inputs]
        return made(self.function, self._engine.call(self.name, inputs, None, given.get("out")))


class RolloutOf:
    """A rollout of one function, or its vjp, with the options of each call. by_time: what has a time axis by default.

    Takes the inputs of the function and, of a vjp, then a cotangent of each answer, by position or by name, and the
    options `by_time`, `every`, `last`, `sum`, `steps` and `out` by name; see `Dynamics.rollout`.

    The vjp answers the derivatives of the number sum(cotangent * answer) by every input, as a named tuple: by a
    configuration in its tangent space, by an input with a time axis for each step, by one that is held summed over all
    steps, and over batch dimensions where it was broadcast. The states are kept on a way forward and read on the way
    back, for some rollouts at a time: `explain` says it.
    """

    def __init__(self, rollouts: Rollouts, of: str, kind: str = "", by_time: tuple[str, ...] = ()) -> None:
        self._rollouts, self._kind, self._by_time = rollouts, kind, by_time
        self._base = FUNCTIONS[of]
        self._of, self._called = of, f"{kind}_rollout" if kind else "rollout"
        cotangents = [f"{port.name}_bar" for port in self._base.outputs] if kind else []
        self._taken = [*(port.name for port in self._base.inputs), *cotangents]
        self.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self._taken])

    def __call__(
        self,
        *args: Any,
        by_time: Sequence[str] | str = (),
        every: int = 1,
        last: bool = False,
        sum: Sequence[str] | str = (),
        steps: int | None = None,
        out: Any = None,
        **named: Any,
    ) -> Any:
        forces = named.pop(F_EXT.name, None) if self._base.takes_f_ext else None
        numbers = {name: named.pop(name) for name in self._base.numbers if name in named}
        if named or len(args) != len(self._taken):
            bound = bound_arguments(self._called, self.__signature__, args, named)
            args = tuple(bound[name] for name in self._taken)
        timed = timed_names(self._by_time, by_time, steps, dict(zip(self._taken, args, strict=True)))
        of, extra, timed = self._rollouts.extended(self._of, forces, numbers, timed)
        options = Options(timed, every, last, names(sum, "sum"), steps)
        n = len(self._base.inputs)
        return self._rollouts.call(of, self._kind, (*args[:n], *extra, *args[n:]), options, out)
