"""Derivatives of the functions of one robot, called as the functions are: `dyn.vjp("fd")(q, v, tau, a_bar)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from itertools import takewhile
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.derivatives.names import Name, name_of
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, variant
from condyle.methods import document_of, result_type
from condyle.options import bound_arguments
from condyle.ports import OPEN
from condyle.runtime.arrays import Binder
from condyle.runtime.packed import Packed
from condyle.runtime.sums import summed
from condyle.specification import F_EXT, Function

Array = NDArray[np.floating]
Shape = tuple[int, ...]

DF_EXT = f"d{F_EXT.name}"
"""The tangent of external forces."""


class Engine(Protocol):
    """What computes: `Dynamics`."""

    def binder(self, name: str) -> Binder: ...
    def zeros(self, dims: tuple[int, ...]) -> Array: ...
    def call(self, name: str, args: Sequence[Any], f_ext: Any = None, out: Any = None) -> tuple[Any, ...]: ...
    def direct(
        self,
        name: str,
        slow: Callable[..., object],
        result: type[tuple[Any, ...]] | None = None,
        shares: bool = True,
        positional: int = ...,
    ) -> Callable[..., Any] | None: ...
    def explain(self, n: int = 1, functions: Sequence[str] | None = None) -> str: ...
    def memory(self, n: int, functions: Sequence[str] | None = None) -> dict[str, int]: ...
    def pack(self, array: ArrayLike, port: str = "", of: str = "") -> Packed: ...


class Form:
    """A derivative with external forces as an input, or without: what a call needs of it."""

    def __init__(self, name: Name) -> None:
        self.kind, self.name = name.kind, str(name)
        self.function = FUNCTIONS[self.name]
        self.inputs = [port.name for port in self.function.inputs]
        ports = name.base.inputs if name.kind == "vjp" else self.function.outputs
        self.answers = tuple(port.name for port in ports)
        self.result = result_type(self.function.method, self.answers) if len(self.answers) > 1 else None
        self._called: Callable[..., Any] | None = None

    def shaped(self, answers: Sequence[Any]) -> Any:
        """An array, or the named tuple."""
        return answers[0] if self.result is None else self.result(*answers)

    def every(self, engine: Engine, given: Sequence[Any], out: Any = None) -> Any:
        """The answers for every state, an array or the named tuple, in plain cases by a native call."""

        def slow(*args: Any, out: Any = None) -> Any:
            return self.shaped(engine.call(self.name, args, None, out))

        if self._called is None:
            self._called = engine.direct(self.name, slow, self.result) or slow
        return self._called(*given) if out is None else self._called(*given, out=out)


class Derivative:
    """A derivative of a function of one robot, called as the function is.

    Takes the inputs of the function, then tangents (jvp), cotangents (vjp) or factors (hessian), by position or by
    name; external forces where the function takes them, which are one more input then: vjp, jacobian and hessian answer
    for them, and jvp takes `df_ext`. Forces, and their tangent, that are not given are zero. Numbers of the robot that
    are inputs are keywords as well, with tangents `dinertias`, ...; left out, they are the robot's own. A cotangent has
    the shape of its input, batch dimensions included: where an input was broadcast, it is summed over those dimensions.
    """

    def __init__(
        self,
        engine: Engine,
        kind: str,
        of: str,
        by: Sequence[str] | None = None,
        numbers: Mapping[str, Array] | None = None,
    ) -> None:
        """numbers: of the robot, those that are inputs of the function, and its own."""
        self._base = base = FUNCTIONS[of]  # held: functions of users are known as long as somebody has them
        self._numbers = dict(numbers or {})
        own = FUNCTIONS[variant(of, self._numbers)]
        every = tuple(port.name for port in own.inputs)
        chosen = every if by is None else _inputs(kind, own, by, base.takes_f_ext)
        by = None if chosen == every else chosen
        self._engine = engine
        self.recipe = kind, of, by
        self._always = by is not None and F_EXT.name in by and base.takes_f_ext
        forced = variant(of, (F_EXT.name, *self._numbers))
        self._plain = Form(name_of(kind, forced if self._always else own.name, by))
        self._with_forces = Form(name_of(kind, forced, by)) if base.takes_f_ext else None
        self.__signature__ = self._signature()
        self._taken = [one.name for one in self.__signature__.parameters.values() if one.default is Parameter.empty]
        self._options = self.__signature__.parameters.keys() - set(self._taken)
        self.__doc__ = document_of(self.function, self._plain.answers)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _again, (self._engine, *self.recipe)

    def __repr__(self) -> str:
        kind, of, by = self.recipe
        return f"<{kind}({of!r}{'' if by is None else f', by={by}'}) of {self._engine!r}>"

    @property
    def name(self) -> str:
        """The short name of this derivative, which `explain` and exports know: "vjp_fd"."""
        return self._plain.name

    @property
    def function(self) -> Function:
        """Its specification."""
        return self._plain.function

    @property
    def result(self) -> type[tuple[Any, ...]] | None:
        """The named tuple of its answers; None for a bare array."""
        return self._plain.result

    @property
    def sums(self) -> bool:
        """Whether its answers are sums over states where an input is one for all of them."""
        return self._plain.kind == "vjp"

    @property
    def positional(self) -> int:
        """How many arguments come in the order of the function's inputs; those behind have another."""
        both = zip((*self._plain.inputs, "out"), self.__signature__.parameters, strict=False)
        return len([*takewhile(lambda pair: pair[0] == pair[1], both)])

    @property
    def signature(self) -> str:
        """The gufunc signature."""
        return self.function.signature

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states."""
        return self._engine.explain(n, (self.name,))

    def memory(self, n: int) -> int:
        """Bytes of all inputs and outputs of a batch of n states, external forces left out."""
        return self._engine.memory(n, (self.name,))[self.name]

    def pack(self, array: ArrayLike, port: str) -> Packed:
        """A packed copy of an array for one of its ports, by name."""
        return self._engine.pack(array, port, self.name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers: an array, or a named tuple."""
        if len(args) != len(self._taken) or not named.keys() <= self._options:
            given = bound_arguments(self.function.called, self.__signature__, args, named)
        else:
            given = {**dict(zip(self._taken, args, strict=True)), **named}
        forces = self._always or any(given.get(name) is not None for name in (F_EXT.name, DF_EXT))
        form = self._with_forces if self._with_forces and forces else self._plain
        return self._answers(form, [self._value(name, given) for name in form.inputs], given.get("out"))

    def _signature(self) -> Signature:
        """The inputs by position, then options."""
        either = Parameter.POSITIONAL_OR_KEYWORD
        optional = [*([F_EXT.name] if self._with_forces else []), *self._numbers]
        tangents = [f"d{name}" for name in optional] if self._plain.kind == "jvp" else []
        options = [*optional, *tangents, "out"]
        given = [port.name for port in self.function.inputs if port.name not in options]
        taken = [Parameter(name, either) for name in given]
        return Signature([*taken, *(Parameter(name, either, default=None) for name in options)])

    def _value(self, port: str, given: Mapping[str, Any]) -> Any:
        """An input; numbers that are not given are the robot's own, forces and tangents zero."""
        value, optional = given.get(port), (F_EXT.name, *self._numbers)
        if value is not None or port not in (*optional, *(f"d{name}" for name in optional)):
            return value
        if port in self._numbers:
            return self._numbers[port]
        specs, _ = self._engine.binder((self._with_forces or self._plain).name).specs
        return self._engine.zeros(next(spec.dims for spec in specs if spec.name == port))

    def _answers(self, form: Form, given: Sequence[Any], out: Any) -> Any:
        """As the engine has them; cotangents of inputs that were broadcast are summed."""
        binder = self._engine.binder(form.name)
        inputs, outputs = binder.specs
        own = [] if form.kind != "vjp" else [_batch(x, len(s.dims)) for x, s in zip(given, inputs, strict=True)]
        if all(batch == own[0] for batch in own):
            return form.every(self._engine, given, out)
        answers: Any = form.every(self._engine, given)
        answers = (answers,) if form.result is None else answers
        if any(isinstance(x, Packed) for x in given):
            return form.shaped(_packed_sums(form, answers, given, out))
        if not all(isinstance(answer, np.ndarray) for answer in answers):
            raise UnsupportedError(
                f"{self.function.called}: one row for all states has a sum of cotangents as its answer, which is not "
                "made on the GPU: give every argument the same batch, and sum the answer"
            )
        shapes = [batch + spec.dims for batch, spec in zip(own, outputs, strict=False)]
        arrays = [cast(Array, x) for x in given if isinstance(x, np.ndarray)]
        taken = None if out is None else binder.taken(out, shapes, arrays)
        sums = [summed(answer, shape) for answer, shape in zip(answers, shapes, strict=True)]
        for array, found in zip(taken or (), sums, strict=False):
            array[...] = found
        return form.shaped(taken or sums)


def _packed_sums(form: Form, answers: Sequence[Packed], given: Sequence[Any], out: Any) -> list[Any]:
    """The cotangents, packed where the input is, plain where one row was given for all states."""
    if out is not None:
        raise UnsupportedError(
            f"{form.function.called}: out= is for packed arguments alone, or for plain ones; an input that is one row "
            "for all states has a plain cotangent: leave out= out"
        )
    pairs = zip(answers, given, strict=False)
    return [answer if isinstance(x, Packed) else summed(answer.dense(), x.shape) for answer, x in pairs]


def _batch(value: Any, dims: int) -> Shape:
    """Its batch dimensions; none of what is no array, of which the call complains."""
    try:
        shape = tuple(value.shape) if hasattr(value, "shape") else np.asarray(value).shape
    except ValueError:
        shape = ()
    return shape[: max(len(shape) - dims, 0)]


def _inputs(kind: str, base: Function, by: Sequence[str], forces: bool) -> tuple[str, ...]:
    """What is differentiated by, in the order of the inputs; UnsupportedError for what is none of them."""
    own = [port.name for port in base.inputs]
    every = [name for name in own if name not in OPEN]
    every += [*([F_EXT.name] if forces else []), *(name for name in own if name in OPEN)]
    listed = isinstance(by, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance]
    chosen = [by] if isinstance(by, str) else list(by) if listed else []
    if not chosen or any(one not in every for one in chosen) or any(chosen.count(one) > 1 for one in chosen):
        raise UnsupportedError(
            f"{kind}({_shown(base)}, by={by!r}): give some of its inputs, each once: {', '.join(every)}"
        )
    return tuple(port for port in every if port in chosen)


def _shown(base: Function) -> str:
    """A function of a user by its own name: its short name is a hash."""
    return base.called if base.name.startswith("user_") else repr(base.name)


def _again(engine: Any, kind: str, of: str, by: tuple[str, ...] | None) -> object:
    """A derivative of an unpickled robot."""
    return getattr(engine, kind)(of, *([] if by is None else [by]))
