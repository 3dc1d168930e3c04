"""The methods of `Dynamics` and of users' functions on arrays of another framework: arguments by position or by name.

A framework brings a `Maker`: how its arrays are made and how a function is called on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.calls.methods import document_of, result_type
from condyle.calls.rollouts import Options, RolloutCall, length, shape_warning
from condyle.derivatives import derivative
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, function_of
from condyle.functions.quantities import push_of
from condyle.functions.repeat import ITERATIONS
from condyle.functions.steps import STEP
from condyle.specification import F_EXT, Derivative, Port
from condyle.user.function import CompiledFunction


def job_of(x: object) -> str:
    """What a compiled job is, by the name of its class. UnsupportedError for anything else."""
    from condyle.jobs.environment import Environments
    from condyle.jobs.optimal_control.solver import Solver

    for kind in (Environments, Solver):
        if isinstance(x, kind):
            return kind.__name__
    said = "give a Dynamics, or a function, environments or a solver that compile() made"
    raise UnsupportedError(f"wrap({type(x).__name__}): {said}")


# Rollouts on arrays of another framework: one call forward, one back; and how arguments are bound.


def bound(
    method: str, taken: Sequence[str], order: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name; TypeError as of any call."""
    if len(args) > len(order):
        raise TypeError(f"{method}({', '.join(order)}): {len(args)} arguments given")
    given = dict(zip(order, args, strict=False))
    for name, value in named.items():
        if name == "out":
            raise UnsupportedError(f"{method}: answers are always fresh arrays here: leave out= out")
        if name not in order or name in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is none of these, or given twice")
        given[name] = value
    for name in taken:
        if name not in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is missing")
    return given


class Rollout(RolloutCall):
    """A function repeated: see `Dynamics.rollout` and `CompiledFunction.rollout`, without `out=`."""

    def __init__(self, maker: Any, function: specification.Function, by_time: tuple[str, ...]) -> None:
        """by_time: inputs that have a time axis, unless `steps` holds them."""
        super().__init__(by_time)
        self._maker, self._numbers = maker, maker.numbers_of(function)
        plain, forced = function.taking(*self._numbers), function.taking(F_EXT, *self._numbers)
        self._plain, self._forced = self._form(plain), self._form(forced) if function.takes_f_ext else None
        self._taken = [port.name for port in function.inputs]
        self._order = [*self._taken, *([F_EXT.name] if function.takes_f_ext else []), *self._numbers]
        self._every_input = forced
        self._iterated: Form | None = None

    def _form(self, function: specification.Function) -> Any:
        """How the rollout of a function is called."""
        parts = tuple(port.name for port in function.outputs)
        result = result_type(f"{function.method}_rollout", parts) if len(parts) > 1 else None
        return self._maker.form(function)._replace(result=result)

    def _counted(self, function: specification.Function) -> Form:
        """How the function is called that is repeated until it is done."""
        form = self._iterated
        if form is None:
            form = self._form(function)
            gives = (*form.gives, (ITERATIONS, False))
            result = result_type(f"{function.method}_iterated", tuple(name for name, _ in gives))
            form = self._iterated = form._replace(gives=gives, result=result)
        return form

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        given = bound("rollout", self._taken, self._order, args, named)
        for name in self._numbers:
            if given.get(name) is None:
                given[name] = self._maker.number(name, given[self._taken[0]])
        return given

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        has_forces = arguments.get(F_EXT.name) is not None
        form = self._forced if has_forces and self._forced is not None else self._plain
        form = self._counted(self._every_input) if options.until else form
        steps = length(self._every_input, arguments, options)
        inputs = [arguments[port] for port, _ in form.takes]
        what = self._maker.repeated(form.what, *options._replace(steps=steps))
        return self._maker.call(what, form, inputs, options.called)

    def warn(self, message: str) -> None:
        self._maker.warn(message)


class Form(NamedTuple):
    """A function as it is called.

    what: as the framework's calls have it. takes: names of inputs, and gives: of answers, each with whether it is a
    configuration.
    """

    what: Any
    takes: tuple[tuple[str, bool], ...]
    gives: tuple[tuple[str, bool], ...]
    result: Any


class Maker:
    """What all methods of one object share.

    framework: its name. sizes: what dimension names are. numbers: those of the robot that are inputs, and its own.
    """

    framework: ClassVar[str]
    gradient: ClassVar[str]
    """How a user of the framework takes a gradient."""
    sizes: Mapping[str, int]
    numbers: Mapping[str, Any]

    def what(self, function: specification.Function) -> Any:
        """A function as calls have it."""
        raise NotImplementedError

    def call(self, what: Any, form: Form, arguments: Sequence[Any], method: str) -> Any:
        """The answers: an array, or the named tuple. form: how it is called."""
        raise NotImplementedError

    def number(self, name: str, like: Any) -> Any:
        """A number of the robot itself, where the argument `like` lies."""
        raise NotImplementedError

    def filled(self, shape: tuple[int, ...], value: float, like: Any) -> Any:
        """An array of one number, where `like` lies."""
        raise NotImplementedError

    def repeated(self, what: Any, *options: Any) -> Any:
        """The rollout of a function, both as calls have them; options: those of `condyle.calls.rollouts.Options`."""
        raise NotImplementedError

    def warn(self, message: str) -> None:
        """A ShapeWarning."""
        shape_warning(message)

    def form(self, function: specification.Function) -> Form:
        """A function as it is called."""
        parts = tuple(port.name for port in answered_ports(function))
        return Form(
            self.what(function),
            tuple((port.name, port.dims[-1:] == ("nq",)) for port in function.inputs),
            tuple((part, port.dims[-1:] == ("nq",)) for part, port in zip(parts, function.outputs, strict=True)),
            result_type(function.method, parts) if len(parts) > 1 else None,
        )

    def numbers_of(self, function: specification.Function) -> list[str]:
        """The numbers that are inputs of a function."""
        return [number for number in self.numbers if number in function.numbers]


def answered_ports(function: specification.Function) -> tuple[Port, ...]:
    """The ports that answers are called by: of a vjp those of the inputs that they are cotangents of."""
    origin = function.origin
    return origin.function.inputs if isinstance(origin, Derivative) and origin.kind == "vjp" else function.outputs


def by_method(dyn: Dynamics) -> dict[str, specification.Function]:
    """The functions that can be called, by their methods."""
    there = dyn.signature
    return {function.method: dyn.driven(function) for function in FUNCTIONS.values() if function.name in there}


class Method:
    """A function, or a derivative, of arrays.

    plain, forced: the function without external forces and with them, if it takes them.
    """

    def __init__(
        self,
        maker: Maker,
        plain: specification.Function,
        forced: specification.Function | None,
        numbers: Sequence[str],
        always: bool = False,
    ) -> None:
        self._maker, self._forced = maker, None if forced is None else maker.form(forced)
        self._plain = self._forced if always and self._forced is not None else maker.form(plain)
        self.__name__, self.__doc__ = plain.method, document_of(plain)
        options = [*([] if forced is None else [F_EXT.name]), *numbers]
        is_jvp = isinstance(plain.origin, Derivative) and plain.origin.kind == "jvp"
        self._tangents: dict[str, str] = {f"d{name}": name for name in options} if is_jvp else {}
        options += self._tangents
        self._taken = [name for name, _ in self._plain.takes if name not in options]
        self._order = [*self._taken, *options]
        self._forces = {F_EXT.name, f"d{F_EXT.name}"}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        form = self._plain
        if not named and len(args) == len(form.takes) == len(self._taken):
            return self._maker.call(form.what, form, args, self.__name__)
        given = bound(self.__name__, self._taken, self._order, args, named)
        if self._forced is not None and any(given.get(name) is not None for name in self._forces):
            form = self._forced
        inputs = [self._value(name, given) for name, _ in form.takes]
        return self._maker.call(form.what, form, inputs, self.__name__)

    def _value(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """An input; numbers that are not given are the robot's own, forces and tangents zero."""
        value = arguments.get(name)
        if value is not None or name in self._taken:
            return value
        if name in self._maker.numbers:
            return self._maker.number(name, arguments[self._taken[0]])
        number = self._tangents.get(name, name)
        like = self._maker.numbers.get(number)
        shape = (self._maker.sizes["n_bodies"], 6) if like is None else tuple(like.shape)
        return self._maker.filled(shape, 0.0, arguments[self._taken[0]])


class Functions:
    """The functions of a robot: the methods of `Dynamics`, without `out=`."""

    def __init__(self, dyn: Dynamics, maker: Maker, recipe: tuple[Any, ...]) -> None:
        """recipe: a function and its arguments that make this again."""
        self._dyn, self._maker, self._recipe = dyn, maker, recipe
        self._derivatives: dict[tuple[object, ...], Method] = {}
        methods = by_method(dyn)
        for method, function in methods.items():
            own = self._maker.numbers_of(function)
            with_forces = function.taking(F_EXT, *own) if function.takes_f_ext else None
            setattr(self, method, Method(self._maker, function.taking(*own), with_forces, own))
        if STEP.method in methods:
            self.rollout = Rollout(self._maker, methods[STEP.method], push_of(methods[STEP.method]))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle, and a copy, is made from the robot and the options."""
        return self._recipe

    def __repr__(self) -> str:
        return f"<{self._maker.framework}: the functions of {self._dyn!r}>"

    def jvp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.jvp`."""
        return self._derivative("jvp", name)

    def vjp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.vjp`."""
        return self._derivative("vjp", name)

    def jacobian(self, name: str | specification.Function, by: Sequence[str] | str | None = None) -> Method:
        """See `Dynamics.jacobian`."""
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str | specification.Function) -> Method:
        """See `Dynamics.hessian`."""
        return self._derivative("hessian", name)

    def _derivative(
        self, kind: str, base: str | specification.Function, by: Sequence[str] | str | None = None
    ) -> Method:
        if base == "rollout":
            raise UnsupportedError(f"rollout has gradients as any other method: call it, then {self._maker.gradient}")
        names = (by,) if isinstance(by, str) else None if by is None else tuple(by)
        key = kind, base, names
        if key not in self._derivatives:
            function = self._dyn.driven(function_of(base))
            own = self._maker.numbers_of(function)
            forced = derivative(kind, function.taking(F_EXT, *own), names) if function.may_take_f_ext else None
            always = names is not None and F_EXT.name in names
            plain = forced if always and forced else derivative(kind, function.taking(*own), names)
            self._derivatives[key] = Method(self._maker, plain, forced, own, always)
        return self._derivatives[key]


class Function:
    """A user's function: called as it is, and the methods of the compiled function, without `out=`."""

    def __init__(self, compiled: CompiledFunction, maker: Maker, recipe: tuple[Any, ...]) -> None:
        """recipe: as in `Functions`."""
        self._compiled, self._function = compiled, compiled.specification
        self._maker, self._recipe = maker, recipe
        self._call = Method(self._maker, self._function, None, ())
        self.rollout = Rollout(self._maker, self._function, ())

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        return self._call(*args, **named)

    def iterate(
        self,
        *args: Any,
        until: str | tuple[str, str] = "done",
        most: int = 50,
        by_time: Sequence[str] | str = (),
        sum: Sequence[str] | str = (),
        **named: Any,
    ) -> Any:
        """See `CompiledFunction.iterate`. It has no gradient."""
        return self.rollout.iterate(args, named, until, most, by_time, sum)

    @property
    def specification(self) -> specification.Function:
        """What it takes and gives."""
        return self._function

    def __reduce__(self) -> tuple[Any, ...]:
        return self._recipe

    def __repr__(self) -> str:
        return f"<{self._maker.framework}: the function {self._compiled!r}>"

    def jvp(self) -> Method:
        """See `CompiledFunction.jvp`."""
        return self._derivative("jvp", self._function)

    def vjp(self) -> Method:
        """See `CompiledFunction.vjp`."""
        return self._derivative("vjp", self._function)

    def jacobian(self, by: Sequence[str] | str | None = None) -> Method:
        """See `CompiledFunction.jacobian`."""
        return self._derivative("jacobian", self._function, by)

    def hessian(self, of: str | None = None) -> Any:
        """See `CompiledFunction.hessian`."""
        function = self._compiled.only(of)
        made = self._derivative("hessian", function)
        return made if function.outputs[0].dims else partial(self._of_one, made)

    def _of_one(self, hessian: Method, *args: Any) -> Any:
        return hessian(*args, self._maker.filled((), 1.0, args[0]))

    def _derivative(self, kind: str, base: specification.Function, by: Sequence[str] | str | None = None) -> Method:
        return Method(self._maker, derivative(kind, base, by), None, ())
