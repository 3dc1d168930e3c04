"""Methods of functions that take numbers of the robot as keywords: `dyn.forward_dynamics(q, v, tau, inertias=pi)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.functions import FUNCTIONS, variant
from condyle.methods import document_of, made, result_of
from condyle.options import bound_arguments, opened_by
from condyle.specification import F_EXT, Function

Array = NDArray[np.floating]


class Engine(Protocol):
    """What computes: `Dynamics`."""

    def call(self, name: str, args: Sequence[Any], f_ext: Any = None, out: Any = None) -> tuple[Any, ...]: ...
    def direct(
        self,
        name: str,
        slow: Callable[..., object],
        result: type[tuple[Any, ...]] | None = None,
        shares: bool = True,
        positional: int = ...,
    ) -> Callable[..., Any] | None: ...


class OpenedCall:
    """A function with numbers of the robot as inputs.

    own: the robot's own numbers, which are taken where a keyword is left out.
    """

    def __init__(self, engine: Engine, function: Function, own: Mapping[str, Array]) -> None:
        self._engine, self._own = engine, own
        self._inputs = [port.name for port in function.inputs]
        self._closed = [name for name in function.numbers if name not in own]
        self._opened = FUNCTIONS[variant(function.name, own)]
        self._plain = self._called(self._opened)
        forced = FUNCTIONS[function.forced or function.name]
        self._takes_forces = function.takes_f_ext or bool(function.forced)
        self._with_forces = (
            self._called(FUNCTIONS[variant(forced.name, (F_EXT.name, *own))]) if self._takes_forces else self._plain
        )
        self.__signature__ = self._signature()
        self._options = self.__signature__.parameters.keys() - set(self._inputs)
        self.__name__, self.__doc__ = function.method, document_of(self._opened)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return getattr, (self._engine, self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self._engine!r}>"

    @property
    def front(self) -> Callable[..., Any]:
        """A native callable for calls with all numbers by name; it leaves all others to this object."""
        of = self._opened
        return self._engine.direct(of.name, self, result_of(of), True, len(self._inputs)) or self

    def _called(self, function: Function) -> Callable[..., Any]:
        """A variant by position: all inputs, and `out`."""

        def slow(*args: Any, out: Any = None) -> Any:
            return made(function, self._engine.call(function.name, args, None, out))

        return self._engine.direct(function.name, slow, result_of(function)) or slow

    def _signature(self) -> Signature:
        either, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        options = [F_EXT.name, "out"] if self._takes_forces else ["out"]
        taken = [Parameter(name, either) for name in self._inputs]
        taken += [Parameter(name, either, default=None) for name in options]
        return Signature([*taken, *(Parameter(name, keyword, default=None) for name in self._own)])

    def _bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Mapping[str, Any]:
        closed = next((name for name in self._closed if name in named), None)
        return bound_arguments(self.__name__, self.__signature__, args, named, opened_by(closed))

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers: an array, or a named tuple."""
        given, inputs = named, args
        if len(args) != len(self._inputs) or not named.keys() <= self._options:
            given = self._bound(args, named)
            inputs = [given[name] for name in self._inputs]
        forces = given.get(F_EXT.name) if self._takes_forces else None
        numbers = [own if given.get(name) is None else given[name] for name, own in self._own.items()]
        every = (*inputs, *numbers) if forces is None else (*inputs, forces, *numbers)
        call, out = self._plain if forces is None else self._with_forces, given.get("out")
        return call(*every) if out is None else call(*every, out=out)
