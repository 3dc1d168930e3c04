"""Functions of a robot, and of users, whose states are computed elsewhere by blocks: arguments, names, shapes.

An input is per state, (states, *dims), and goes by blocks; or one for all states, (*dims). An answer is per state; but
the cotangent of an input that is one for all is a sum over states, and so over blocks. A rollout counts as a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.calls.methods import result_type
from condyle.calls.rollouts import Options, RolloutCall, length, names
from condyle.compile.options import numbers_of_compiled
from condyle.derivatives import derivative
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.functions import function_of
from condyle.functions.quantities import push_of
from condyle.functions.steps import STEP
from condyle.interop.wrapped import answered_ports, bound, by_method
from condyle.runtime.arrays import as_array
from condyle.specification import F_EXT, Derivative
from condyle.user.function import CompiledFunction

Array = NDArray[np.floating]
Shape = tuple[int, ...]
Target = Dynamics | CompiledFunction


class Task(NamedTuple):
    """What a worker computes. A user's function goes there with its robot, so that functions are made of it there.

    function: of a robot; None is the user's function, or the one of its output. extra: forces and numbers that are
    inputs.
    """

    kind: str
    function: specification.Function | None
    output: str = ""
    by: tuple[str, ...] | None = None
    extra: tuple[str, ...] = ()
    rolled: Options | None = None


class Input(NamedTuple):
    """An argument: an array, or a lazy one."""

    name: str
    dims: Shape
    value: Any

    @property
    def is_shared(self) -> bool:
        """Whether it is one for all states."""
        return len(self.value.shape) == len(self.dims)


class Call(NamedTuple):
    """A call with its arguments checked. sums: of each answer, whether it is a sum over states."""

    task: Task
    method: str
    inputs: list[Input]
    outputs: list[Shape]
    sums: list[bool]
    result: type[tuple[Any, ...]] | None


class Runner(Protocol):
    """What has the workers."""

    def takes(self, value: object) -> bool:
        """Whether this is a lazy array, which is not read here."""
        ...

    def answers(self, call: Call) -> Sequence[Any]:
        """All answers."""
        ...


def check_target(called: str, target: object) -> None:
    """UnsupportedError for what was not compiled."""
    if not isinstance(target, Dynamics | CompiledFunction):
        raise UnsupportedError(f"{called}({type(target).__name__}): give a Dynamics, or a function that compile() made")


def engine_of(target: Target) -> Dynamics:
    """What computes."""
    return target.dynamics if isinstance(target, CompiledFunction) else target


def function_for(target: Target, task: Task) -> specification.Function:
    """The function of a task."""
    of = task.function
    if of is None:
        assert isinstance(target, CompiledFunction)
        of = target.only(task.output) if task.output else target.specification
    of = of.taking(*task.extra)
    if task.rolled is not None:
        of = task.rolled.repeated(of)
    return derivative(task.kind, of, task.by) if task.kind else of


def run(target: Target, task: Task, args: Sequence[Array]) -> tuple[Array, ...]:
    """The answers of a block, in a worker."""
    dyn, function = engine_of(target), function_for(target, task)
    if not task.kind and task.rolled is None:
        return dyn.call(function, args)
    found = dyn.function(function)(*args)
    return cast("tuple[Array, ...]", found) if isinstance(found, tuple) else (found,)


class Method:
    """A function, a derivative or a rollout, called with arrays by position or by name."""

    def __init__(
        self,
        target: Target,
        runner: Runner,
        task: Task,
        filled: Mapping[str, Array] | None = None,
        rolls: bool = False,
    ) -> None:
        """filled: inputs that are not asked for. rolls: whether a call repeats it."""
        self._target, self._runner, self._task = target, runner, task
        self._dyn = dyn = engine_of(target)
        base = function_for(target, Task("", task.function, task.output))
        self._base = base
        options = dyn.__reduce__()[1]
        own = numbers_of_compiled(options)
        self._robot_numbers = {name: value for name, value in own.items() if name in base.numbers}
        self._takes_forces = base.may_take_f_ext if task.kind else base.takes_f_ext
        self._always = task.by is not None and F_EXT.name in task.by
        extra = [*([F_EXT.name] if self._takes_forces else []), *self._robot_numbers]
        tangents = [f"d{name}" for name in extra] if task.kind == "jvp" else []
        self._options = [*extra, *tangents]
        self._filled = dict(filled or {})
        if rolls:
            cotangents = [f"{port.name}_bar" for port in base.outputs] if task.kind else []
            self._taken = [*(port.name for port in base.inputs), *cotangents]
        else:
            more, held = tuple(extra) if self._always else tuple(self._robot_numbers), (*self._options, *self._filled)
            called = function_for(target, task._replace(extra=more))
            self._taken = [port.name for port in called.inputs if port.name not in held]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers: an array, or a named tuple."""
        return self._run(self._bound(args, named), self._task)

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name; TypeError as of any call."""
        order = [*self._taken, *self._options]
        return {**bound(self._base.method, self._taken, order, args, named), **self._filled}

    def _run(self, arguments: Mapping[str, Any], task: Task) -> Any:
        forced = self._always or any(arguments.get(name) is not None for name in (F_EXT.name, f"d{F_EXT.name}"))
        task = task._replace(extra=(*([F_EXT.name] if forced else []), *self._robot_numbers))
        function = function_for(self._target, task)
        takes, gives = self._dyn.binder(function).specs
        inputs = [self._input(spec.name, spec.dims, arguments) for spec in takes[: len(function.inputs)]]
        is_vjp = isinstance(function.origin, Derivative) and function.origin.kind == "vjp"
        sums = [x.is_shared for x in inputs] if is_vjp else [False] * len(gives)
        parts = tuple(port.name for port in answered_ports(function))
        result = result_type(function.method, parts) if len(parts) > 1 else None
        if all(x.is_shared for x in inputs):
            sums = [False] * len(gives)
        call = Call(task, function.method, inputs, [spec.dims for spec in gives], sums[: len(gives)], result)
        answers = self._runner.answers(call)
        return answers[0] if result is None else result(*answers)

    def _input(self, name: str, dims: Shape, arguments: Mapping[str, Any]) -> Input:
        """An argument, checked; numbers that are not given are the robot's own, forces and tangents zero."""
        method, dtype = self._base.method, self._dyn.dtype
        value: Any = arguments.get(name)
        if arguments.get(name) is None and name in self._options:
            value = self._robot_numbers.get(name, np.zeros(dims, dtype))
        array = value if self._runner.takes(value) else _array(method, name, value, dtype)
        _check(method, name, array, dims, dtype)
        return Input(name, dims, array)


def _array(method: str, name: str, value: Any, dtype: np.dtype[np.floating]) -> Array:
    """What is no lazy array; lists and integers convert."""
    array = as_array(method, name, value)
    plain = array.dtype.kind in "iu" or (array.dtype.kind == "f" and not hasattr(value, "dtype"))
    return array.astype(dtype) if plain else array


def _check(method: str, name: str, array: Any, dims: Shape, dtype: np.dtype[np.floating]) -> None:
    """DTypeError and ShapeError."""
    if array.dtype != dtype:
        other = f', or compile(dtype="{array.dtype}")' if str(array.dtype) in ("float32", "float64") else ""
        cure = f'pass {name}.astype("{dtype}"){other}' if array.dtype.kind == "f" else "pass real numbers"
        raise DTypeError(f"{method}: {name} is {array.dtype}, expected {dtype}: {cure}")
    shape = tuple(array.shape)
    if shape[len(shape) - len(dims) :] != dims or not len(dims) <= len(shape) <= len(dims) + 1:
        said = ", ".join(map(str, dims))
        many = f"states, {said}" if said else "states,"
        raise ShapeError(
            f"{method}: {name} has shape {shape}, expected ({many}), or ({said}), which is one for all states"
        )


class Rollout(RolloutCall, Method):
    """A rollout, or its vjp: see `Dynamics.rollout` and `CompiledFunction.rollout`, without `out=`."""

    def __init__(
        self,
        target: Target,
        runner: Runner,
        kind: str,
        function: specification.Function | None,
        by_time: tuple[str, ...] = (),
    ) -> None:
        RolloutCall.__init__(self, by_time)
        Method.__init__(self, target, runner, Task(kind, function), rolls=True)

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        return self._bound(args, named)

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        extra = [name for name in self._options if arguments.get(name) is not None]
        if options.together:
            raise UnsupportedError("iterate: candidates of one query end together: call the compiled function itself")
        steps = length(self._base.taking(*extra), arguments, options)
        return self._run(arguments, self._task._replace(rolled=options._replace(steps=steps)))


# The methods of `Dynamics`, and of users' functions, by blocks.


class Functions:
    """The methods of `Dynamics`, without `out=`. An input is per state, (states, ...), or one for all states."""

    def __init__(self, dyn: Dynamics, runner: Runner) -> None:
        self._dyn, self._runner = dyn, runner

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):  # copy and pickle ask before there is a Dynamics
            raise AttributeError(method)
        known = by_method(self._dyn)
        if method not in known:
            raise AttributeError(f"{method}: there are {', '.join(known)}, rollout, jvp, vjp, jacobian, hessian")
        return Method(self._dyn, self._runner, Task("", known[method]))

    @property
    def rollout(self) -> Rollout:
        """See `Dynamics.rollout`; by blocks of rollouts."""
        return self._rollout("")

    def jvp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.jvp`."""
        return self._derivative("jvp", name)

    def vjp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.vjp`: cotangents of inputs that are one for all states are sums over them."""
        if name == "rollout":
            return self._rollout("vjp")
        return self._derivative("vjp", name)

    def _rollout(self, kind: str) -> Rollout:
        step = self._dyn.driven(STEP)
        return Rollout(self._dyn, self._runner, kind, step, push_of(step))

    def jacobian(self, name: str | specification.Function, by: Sequence[str] | str | None = None) -> Method:
        """See `Dynamics.jacobian`."""
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str | specification.Function) -> Method:
        """See `Dynamics.hessian`."""
        return self._derivative("hessian", name)

    def _derivative(
        self, kind: str, base: str | specification.Function, by: Sequence[str] | str | None = None
    ) -> Method:
        task = Task(kind, self._dyn.driven(function_of(base)), by=None if by is None else names(by))
        return Method(self._dyn, self._runner, task)


class Function:
    """A user's function and the methods of `CompiledFunction`, without `out=`, for arrays as in `Functions`."""

    def __init__(self, compiled: CompiledFunction, runner: Runner) -> None:
        self._compiled, self._runner = compiled, runner

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        return Method(self._compiled, self._runner, Task("", None))(*args, **named)

    def rollout(self, *args: Any, **named: Any) -> Any:
        """See `CompiledFunction.rollout`; by blocks of rollouts."""
        return Rollout(self._compiled, self._runner, "", None)(*args, **named)

    def iterate(
        self,
        *args: Any,
        until: str = "done",
        most: int = 50,
        by_time: Sequence[str] | str = (),
        sum: Sequence[str] | str = (),
        **named: Any,
    ) -> Any:
        """See `CompiledFunction.iterate`; by blocks of states."""
        return Rollout(self._compiled, self._runner, "", None).iterate(args, named, until, most, by_time, sum)

    def jvp(self) -> Method:
        """See `CompiledFunction.jvp`."""
        return Method(self._compiled, self._runner, Task("jvp", None))

    def vjp(self, of: str = "") -> Method:
        """See `CompiledFunction.vjp`."""
        if of == "rollout":
            return Rollout(self._compiled, self._runner, "vjp", None)
        return Method(self._compiled, self._runner, Task("vjp", None))

    def jacobian(self, by: Sequence[str] | str | None = None) -> Method:
        """See `CompiledFunction.jacobian`."""
        return Method(self._compiled, self._runner, Task("jacobian", None, by=None if by is None else names(by)))

    def hessian(self, of: str | None = None) -> Method:
        """See `CompiledFunction.hessian`."""
        function = self._compiled.only(of)
        # a number has one factor, which is 1
        filled = {} if function.outputs[0].dims else {"lam": np.ones((), self._compiled.dtype)}
        return Method(self._compiled, self._runner, Task("hessian", None, function.outputs[0].name), filled)
