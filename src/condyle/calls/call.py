"""Calls of the functions of one robot: `dyn.vjp("fd")(q, v, tau, a_bar)`, `dyn.forward_dynamics(q, v, tau, gravity=g)`.

What is always the same of a call, its signature and the native callable, is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from itertools import takewhile
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls.methods import answer_names, document_of, result_of
from condyle.compile.options import bound_arguments, opened_by
from condyle.derivatives import derivative
from condyle.errors import UnsupportedError
from condyle.runtime.arrays import Binder, summed
from condyle.runtime.packed import Packed
from condyle.specification import F_EXT, Derivative, Function
from condyle.specification.ports import CONTROLS, OPEN

Array = NDArray[np.floating]
Shape = tuple[int, ...]

DF_EXT = f"d{F_EXT.name}"
"""The tangent of external forces."""


class Engine(Protocol):
    """What computes: `Dynamics`. Functions are values here; a name serves too where people write it."""

    @property
    def dtype(self) -> np.dtype[np.floating]: ...
    def binder(self, function: Function) -> Binder: ...
    def zeros(self, dims: Shape) -> Array: ...
    def call(self, function: Function, args: Sequence[Any], out: Any = None) -> tuple[Any, ...]: ...
    def direct(
        self,
        function: Function,
        slow: Callable[..., object],
        result: type[tuple[Any, ...]] | None = None,
        shares: bool = True,
        positional: int = ...,
    ) -> Callable[..., Any] | None: ...
    def explain(self, n: int = 1, functions: Sequence[str | Function] | None = None) -> str: ...
    def memory(self, n: int, functions: Sequence[str | Function] | None = None) -> dict[str, int]: ...
    def pack(self, array: ArrayLike, port: str = "", of: str | Function = "") -> Packed: ...


class Call:
    """A function of one robot, called with arrays: an array, or the named tuple, of answers.

    Takes the inputs by position or by name, of derivatives then tangents (jvp), cotangents (vjp) or factors (hessian);
    external forces where the function takes them: of a derivative they are one more input then, for which vjp, jacobian
    and hessian answer, and jvp takes `df_ext`. Forces, and their tangent, that are not given are zero. Numbers of the
    robot that are inputs are keywords, with tangents `dinertias`, ...; left out, they are the robot's own. A cotangent
    has the shape of its input, batch dimensions included: where an input was broadcast, it is summed over those
    dimensions.
    """

    def __init__(
        self,
        engine: Engine,
        function: Function,
        with_forces: Function | None = None,
        numbers: Mapping[str, Array] | None = None,
        recipe: tuple[Callable[..., object], tuple[object, ...]] | None = None,
    ) -> None:
        """with_forces: what is called where external forces are given; it is `function` itself if they always are.

        numbers: of the robot, those that are inputs, and its own. recipe: of a pickle.
        """
        self._engine, self._recipe = engine, recipe
        self._numbers = {name: own for name, own in (numbers or {}).items() if name != CONTROLS.name}
        self.function, self._with_forces = function, with_forces
        self._optional = [*([F_EXT.name] if with_forces else []), *self._numbers]
        origin = function.origin
        is_jvp = isinstance(origin, Derivative) and origin.kind == "jvp"
        self._tangents = [f"d{name}" for name in self._optional] if is_jvp else []
        self._left_out = {*self._optional, *self._tangents}
        self._taken = [port.name for port in function.inputs if port.name not in self._left_out]
        self.__signature__ = self._signature()
        self._options = self.__signature__.parameters.keys() - set(self._taken)
        self.__name__, self.__doc__ = function.called, document_of(function, answer_names(function))
        self._native: dict[Function, Callable[..., Any]] = {}

    @classmethod
    def of_function(cls, engine: Engine, function: Function, numbers: Mapping[str, Array]) -> Call:
        """The method of a function, with numbers of the robot as keywords."""
        with_forces = function.taking(F_EXT, *numbers) if function.takes_f_ext else None
        recipe = getattr, (engine, function.method)
        return cls(engine, function.taking(*numbers), with_forces, numbers, recipe)

    @classmethod
    def of_derivative(
        cls, engine: Engine, kind: str, base: Function, by: Sequence[str] | str | None, numbers: Mapping[str, Array]
    ) -> Call:
        """A derivative of a function; by: the inputs that it is by, "f_ext" too. UnsupportedError for what is none."""
        plain = base.taking(*numbers)
        every = tuple(port.name for port in plain.inputs)
        chosen = every if by is None else _inputs(kind, plain, by, base.may_take_f_ext)
        by = None if chosen == every else chosen
        forced = derivative(kind, base.taking(F_EXT, *numbers), by) if base.may_take_f_ext else None
        always = forced is not None and by is not None and F_EXT.name in by
        function = forced if forced is not None and always else derivative(kind, plain, by)
        return cls(engine, function, forced, numbers, (_derivative_again, (engine, kind, base, by)))

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._recipe or (Call, (self._engine, self.function))

    def __repr__(self) -> str:
        name = self.name if isinstance(self.function.origin, Derivative) else self.__name__
        return f"<{name} of {self._engine!r}>"

    @property
    def asked(self) -> tuple[object, ...]:
        """Kind, function and inputs of a derivative: numbers of equal functions may be inputs or keywords."""
        return self.__reduce__()[1][1:]

    @property
    def name(self) -> str:
        """The short name, which `explain` and exports know: "vjp_fd"."""
        return self.function.name

    @property
    def signature(self) -> str:
        """The gufunc signature."""
        return self.function.signature

    @property
    def front(self) -> Callable[..., Any]:
        """A native callable, which leaves to this object what it does not take; this object where there is none."""
        both = zip((*(port.name for port in self.function.inputs), "out"), self.__signature__.parameters, strict=False)
        positional = len([*takewhile(lambda pair: pair[0] == pair[1], both)])
        shares, result = not _sums(self.function), result_of(self.function)
        return self._engine.direct(self.function, self, result, shares, positional) or self

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states."""
        return self._engine.explain(n, (self.function,))

    def memory(self, n: int) -> int:
        """Bytes of all inputs and outputs of a batch of n states, external forces left out."""
        return self._engine.memory(n, (self.function,))[self.name]

    def pack(self, array: ArrayLike, port: str) -> Packed:
        """A packed copy of an array for one of its ports, by name."""
        return self._engine.pack(array, port, self.function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers: an array, or a named tuple."""
        if len(args) != len(self._taken) or not named.keys() <= self._options:
            closed = next(
                (name for name in named if name in self.function.root.numbers and name not in self._numbers), None
            )
            given = bound_arguments(self.__name__, self.__signature__, args, named, opened_by(closed))
        else:
            given = {**dict(zip(self._taken, args, strict=True)), **named}
        function = self.function
        if self._with_forces and any(given.get(name) is not None for name in (F_EXT.name, DF_EXT)):
            function = self._with_forces
        inputs = [self._value(port.name, given) for port in function.inputs]
        if _sums(function):
            return self._summed(function, inputs, given.get("out"))
        return self._every(function, inputs, given.get("out"))

    def _signature(self) -> Signature:
        """All by position or by name; of a function, which is no derivative, numbers by name."""
        either, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        taken = [Parameter(name, either) for name in self._taken]
        options = [*self._optional, *self._tangents, "out"]
        named = [] if isinstance(self.function.origin, Derivative) else [*self._numbers]
        taken += [Parameter(name, either, default=None) for name in options if name not in named]
        return Signature([*taken, *(Parameter(name, keyword, default=None) for name in named)])

    def _value(self, port: str, arguments: Mapping[str, Any]) -> Any:
        """An input; numbers that are not given are the robot's own, forces and tangents zero."""
        value = arguments.get(port)
        if value is not None or port not in self._left_out:
            return value
        if port in self._numbers:
            return self._numbers[port]
        specs, _ = self._engine.binder(self._with_forces or self.function).specs
        return self._engine.zeros(next(spec.dims for spec in specs if spec.name == port))

    def _every(self, function: Function, inputs: Sequence[Any], out: Any = None) -> Any:
        """The answers for every state, in plain cases by a native call."""
        call = self._native.get(function)
        if call is None:
            result = result_of(function)

            def slow(*args: Any, out: Any = None) -> Any:
                return _shaped(function, self._engine.call(function, args, out))

            call = self._native[function] = self._engine.direct(function, slow, result) or slow
        return call(*inputs) if out is None else call(*inputs, out=out)

    def _summed(self, function: Function, arguments: Sequence[Any], out: Any) -> Any:
        """Cotangents of inputs that were broadcast are summed."""
        binder = self._engine.binder(function)
        inputs, outputs = binder.specs
        batches = [_batch(x, len(spec.dims)) for x, spec in zip(arguments, inputs, strict=True)]
        if all(batch == batches[0] for batch in batches):
            return self._every(function, arguments, out)
        answers: Any = self._every(function, arguments)
        answers = (answers,) if result_of(function) is None else answers
        if any(isinstance(x, Packed) for x in arguments):
            return _shaped(function, _packed_sums(function, answers, arguments, out))
        if not all(isinstance(answer, np.ndarray) for answer in answers):
            raise UnsupportedError(
                f"{self.function.called}: one row for all states has a sum of cotangents as its answer, which is not "
                "made on the GPU: give every argument the same batch, and sum the answer"
            )
        shapes = [batch + spec.dims for batch, spec in zip(batches, outputs, strict=False)]
        arrays = [cast(Array, x) for x in arguments if isinstance(x, np.ndarray)]
        taken = None if out is None else binder.taken(out, shapes, arrays)
        sums = [summed(answer, shape) for answer, shape in zip(answers, shapes, strict=True)]
        for array, answer in zip(taken or (), sums, strict=False):
            array[...] = answer
        return _shaped(function, taken or sums)


def _sums(function: Function) -> bool:
    """Whether its answers are sums over states where an input is one for all of them."""
    return isinstance(function.origin, Derivative) and function.origin.kind == "vjp"


def _shaped(function: Function, answers: Sequence[Any]) -> Any:
    """An array, or the named tuple."""
    result = result_of(function)
    return answers[0] if result is None else result(*answers)


def _packed_sums(function: Function, answers: Sequence[Packed], arguments: Sequence[Any], out: Any) -> list[Any]:
    """The cotangents, packed where the input is, plain where one row was given for all states."""
    if out is not None:
        raise UnsupportedError(
            f"{function.called}: out= is for packed arguments alone, or for plain ones; an input that is one row "
            "for all states has a plain cotangent: leave out= out"
        )
    pairs = zip(answers, arguments, strict=False)
    return [answer if isinstance(x, Packed) else summed(answer.dense(), x.shape) for answer, x in pairs]


def _batch(value: Any, dims: int) -> Shape:
    """Its batch dimensions; none of what is no array, of which the call complains."""
    try:
        shape = tuple(value.shape) if hasattr(value, "shape") else np.asarray(value).shape
    except ValueError:
        shape = ()
    return shape[: max(len(shape) - dims, 0)]


def _inputs(kind: str, function: Function, by: Sequence[str] | str, takes_forces: bool) -> tuple[str, ...]:
    """What is differentiated by, in the order of the inputs; UnsupportedError for what is none of them."""
    inputs = [port.name for port in function.inputs]
    every = [name for name in inputs if name not in OPEN]
    every += [*([F_EXT.name] if takes_forces else []), *(name for name in inputs if name in OPEN)]
    listed = isinstance(by, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance]
    chosen = [by] if isinstance(by, str) else list(by) if listed else []
    if not chosen or any(name not in every for name in chosen) or any(chosen.count(name) > 1 for name in chosen):
        raise UnsupportedError(
            f"{kind}({_shown(function)}, by={by!r}): give some of its inputs, each once: {', '.join(every)}"
        )
    return tuple(port for port in every if port in chosen)


def _shown(function: Function) -> str:
    """A function of a user by its own name: its short name is a hash."""
    return function.called if function.content else repr(function.name)


def _derivative_again(engine: Any, kind: str, base: Function, by: tuple[str, ...] | None) -> object:
    """A derivative of an unpickled robot."""
    return getattr(engine, kind)(base, *([] if by is None else [by]))
