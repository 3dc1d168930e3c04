"""A user's function, and what it is once compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.calls.dynamics import Dynamics, Out
from condyle.calls.mapping import Sink, Source
from condyle.calls.methods import as_result
from condyle.compile.options import compile_options, robot_parts
from condyle.derivatives import DERIVATIVE_KINDS, derivative
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.fixed_points import implicit_vjp
from condyle.functions.open_rollouts import rollout_by
from condyle.identity import Identified, Parts, differing, digest
from condyle.model.robot import Robot
from condyle.model.state import quaternions_of
from condyle.model.tree import Tree, tree_of
from condyle.runtime.arrays import Binder
from condyle.runtime.packed import Packed
from condyle.specification import UNBOUND, Bound, Function, Port
from condyle.symbolic import Symbols
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes
from condyle.user.ports import NAME, Sizes, Tracer, answers_of, check_arguments, check_shape, inputs_of, ordered
from condyle.user.state import HELD, Caller, State
from condyle.user.traced import alone, check_same, iterated, renamed, traced

# A user's function on numbers: plain Python and NumPy, one state after the other. The reference of what is traced.


Array = NDArray[np.float64]


class Numbers:
    """The robot's functions at one state, by the reference."""

    def __init__(self, robot: Robot, bound: Bound) -> None:
        def tree(frame: str) -> Tree:
            return tree_of(robot, bound._replace(frames=(frame,) if frame else ()))

        self._tree = cache(tree)

    def call(self, function: Function, arguments: Sequence[Any], frame: str) -> Sequence[Any]:
        tree, rows = self._tree(frame), dict[str, Array]()
        known = sizes(tree)
        for port, value in zip(function.inputs, arguments, strict=True):
            array: Any = np.asarray(value, np.float64)
            check_shape(f"at.{function.method}", port.name, array.shape, port.shape(known))
            rows[port.name] = array.reshape(1, -1)
        route = function.route_names(tree.has_shared_coordinates)[0]
        found = evaluate(tree, function, route, rows)
        return [np.reshape(x, port.shape(known)) for x, port in zip(found, function.outputs, strict=True)]


def answered(
    function: Function,
    robot: Robot,
    bound: Bound,
    run: Callable[[Mapping[str, Any]], object],
    args: Sequence[ArrayLike],
) -> tuple[Array, ...]:
    """The answers (..., *shape) of a function that is run state by state."""
    known = sizes(tree_of(robot, bound))
    call = Binder(function, known, np.dtype(np.float64), quaternions=quaternions_of(robot)).bind(args)
    shapes = [port.shape(known) for port in function.inputs]
    names = [port.name for port in function.inputs]
    outputs: list[Any] = [np.empty((call.n, *port.shape(known))) for port in function.outputs]
    for k in range(call.n):
        state = [rows[k if len(rows) > 1 else 0].reshape(s)[()] for rows, s in zip(call.inputs, shapes, strict=True)]
        with np.errstate(all="ignore"):
            found: Any = run(dict(zip(names, state, strict=True)))
        every = cast("dict[str, Any]", found) if isinstance(found, dict) else {"value": found}
        for port, output in zip(function.outputs, outputs, strict=True):
            value: Any = np.asarray(every[port.name], np.float64)
            if value.shape != output.shape[1:]:
                raise ShapeError(f"{port.name} has shape {value.shape} of numbers and {output.shape[1:]} of symbols")
            output[k] = value
    batch = call.results[0].shape[: call.results[0].ndim - len(function.outputs[0].dims)]
    return tuple(output.reshape(batch + output.shape[1:]) for output in outputs)


# What identifies a user's function, and its pickle: it is traced again on the other side, and compared.


Traced = TypeVar("Traced", bound=Identified)


def parts_of_function(robot: Robot, bound: Bound, traced: Parts) -> Parts:
    """Hashes of the robot, of the options, and of what was traced, by name."""
    options = {name: digest(value) for name, value in bound._asdict().items()}
    return {**robot_parts(robot), **options, **{f"function.{name}": part for name, part in traced.items()}}


def traced_again(kind: Callable[..., Traced], recipe: tuple[object, ...], pickled: Parts) -> Traced:
    """A function out of a pickle, traced here; UnsupportedError where that gives another one."""
    function = kind(*recipe)
    differences = ", ".join(differing(pickled, function.identity_parts))
    if differences:
        raise UnsupportedError(
            f"{function}: traced here it is not the function that was pickled (what differs: {differences}). A "
            "pickle has the function by its name, and constants of its module or closure that were set at run time "
            "have other values here: pass them as inputs, or bind them by functools.partial(f, gain=...), which a "
            "pickle holds"
        )
    return function


class UserFunction(Identified):
    """A function that a user wrote in NumPy, traced: `compile` makes it fast, `reference` runs it in NumPy.

    has_state: whether its first argument is `at`; if not, the robot has no joints. bound: reference frames, integrator
    and contacts. build, write: `Robot.compile` and `condyle.export` of the robot.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        inputs: Mapping[str, Any],
        sizes_of: Mapping[str, int] | None,
        robot: Robot,
        has_state: bool,
        bound: Bound,
        build: Callable[..., Dynamics],
        write: Callable[..., list[Path]],
    ) -> None:
        self._recipe = (f, inputs, sizes_of, robot, has_state, bound, build, write)
        self._f, self._robot, self._has_state, self._build, self._write = f, robot, has_state, build, write
        self._bound, self._parts = bound, dict[str, str]()
        known = sizes(tree_of(robot, bound)) if has_state else None
        self._name = getattr(f, "__name__", "function")
        method = "user_" + (self._name if NAME.fullmatch(self._name) else "function")
        ports = inputs_of(inputs, Sizes.joined(known, sizes_of))
        check_arguments(f, self._name, has_state, [port.name for port in ports])
        tracer, outputs = self._trace(known or {}, ports)
        self.specification, frames, self._traced = traced(self._name, method, ports, outputs, tracer)
        other, again = self._trace(known or {}, ports)
        check_same(self._name, self.specification, traced(self._name, method, ports, again, other)[0])
        self._bound = bound._replace(frames=frames)
        self._only = {
            key: cache(partial(alone, self._name, method, ports, {key: output}, tracer))
            for key, output in outputs.items()
        }

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        """A pickle is the function, by its name, and what identifies it; the other side traces it and compares."""
        return traced_again, (type(self), self._recipe, dict(self.identity_parts))

    def _identified(self) -> Parts:
        return parts_of_function(self._robot, self._bound, self._traced)

    def __repr__(self) -> str:
        takes = ", ".join(port.name for port in self.specification.inputs)
        gives = ", ".join(port.name for port in self.specification.outputs)
        return f"<{type(self).__name__} {self._name}: ({takes}) -> ({gives})>"

    def _trace(self, sizes: Mapping[str, int], ports: Sequence[Port]) -> tuple[Tracer, dict[str, Symbols]]:
        """The function run on symbols of its inputs, and its answers by name; sizes: sizes."""
        tracer = Tracer(sizes)
        symbols = {port.name: tracer.input(port) for port in ports}
        return tracer, answers_of(self._name, lambda: self._run(tracer, symbols), tracer)

    def _run(self, caller: Caller, arguments: Mapping[str, Any]) -> object:
        """The function itself, on symbols or on numbers."""
        if not self._has_state:
            return self._f(**arguments)
        held = {name: arguments[name] for name in HELD if name in arguments}
        state = State(held, caller, self._robot, self._bound)
        return self._f(state, **{name: value for name, value in arguments.items() if name not in HELD})

    @property
    def specification_frames(self) -> tuple[str, ...]:
        """The frames that it asks."""
        return self._bound.frames

    def at_state(self, state: Any, **arguments: Any) -> object:
        """The function itself at a state of symbols."""
        return self._f(state, **arguments)

    def reference(self, *args: ArrayLike, **named: ArrayLike) -> Any:
        """Return the answers by NumPy, state by state in float64: what compiled answers are compared with."""
        given = ordered(self.specification, args, named)
        caller = Numbers(self._robot, self._bound)
        answers = answered(self.specification, self._robot, self._bound, lambda of: self._run(caller, of), given)
        return as_result(self.specification, answers)

    def compile(
        self,
        target: str = "cpu",
        dtype: DTypeLike = "float64",
        threads: int | None = None,
        device: int | None = None,
        check: bool = True,
    ) -> CompiledFunction:
        """Return the function for a target; options as in `Robot.compile`. It is compiled at its first call."""
        options = {"target": target, "dtype": dtype, "threads": threads, "device": device, "check": check}
        recipe = (UserFunction.compile, (self, *options.values()))
        return CompiledFunction(self, self._build(**options, **compile_options(self._bound)), recipe)

    def export(
        self,
        target: str,
        out: str | PathLike[str],
        derivatives: Sequence[str] = (),
        name: str | None = None,
        dtype: DTypeLike | None = None,
        rollout: Mapping[str, Sequence[str]] | None = None,
        iterate: Mapping[str, Any] | None = None,
        embedded: bool = False,
        libm: bool = False,
        part: str | None = None,
        flash: int | None = None,
        stack: int | None = None,
    ) -> list[Path]:
        """Write a project with this function, by its own name; return the paths of the files.

        target: "c", "cuda" or "casadi". "casadi" always has the derivatives; it takes no robot with quaternions
        or planar joints, which `condyle.interop.casadi.wrap` does. derivatives: some of "jvp", "vjp", "jacobian",
        "hessian". name, dtype: as in `condyle.export`. rollout: write a rollout of any number of steps too: {"by_time":
        names of inputs with a value for each step, "sum": names of outputs that are summed}, both optional; {} has
        neither. iterate, of "c" and "cuda": write "iterate_NAME" too, the function repeated until it is done, with an
        answer `iterations`: {"until": an output that is one number, "most": 1 to 2^24}, "done" and 50 where they are
        left out; a state that is done keeps its answers, and all states that are computed at once go on until the last
        is done. A CUDA header has all steps written out: keep `most` small there. embedded, libm, part, flash,
        stack: as in `condyle.export`; rollouts are not embedded.
        """
        for kind in derivatives:
            if kind not in DERIVATIVE_KINDS:
                raise UnsupportedError(f"derivatives: {kind!r}; allowed is {', '.join(map(repr, DERIVATIVE_KINDS))}")
        if self._bound.force_frame != UNBOUND.force_frame:
            raise UnsupportedError("exports have forces in the bodies' axes: leave force_frame= out")
        own = renamed(self.specification, self._name)
        functions = (own, *(derivative(kind, own) for kind in derivatives))
        rollouts = () if rollout is None else (rollout_by(own, rollout),)
        if iterate is not None and target not in ("c", "cuda"):
            raise UnsupportedError(
                f"iterate=: target {target!r} has no iterations, 'c' and 'cuda' have: call the function in a loop"
            )
        iterations = () if iterate is None else (iterated(own, iterate),)
        options = {key: value for key, value in compile_options(self._bound).items() if key != "force_frame"}
        options |= {"embedded": embedded, "libm": libm, "part": part, "flash": flash, "stack": stack}
        return self._write(target, out, (*functions, *iterations, *rollouts), name, dtype, **options)

    def only(self, output: str | None) -> Function:
        """The function with one output alone; it may be left out where there is one."""
        if output is None and len(self._only) == 1:
            return self.specification
        if output not in self._only:
            raise UnsupportedError(f"of={output!r}: name an output: {', '.join(self._only)}")
        return self._only[output]()


class CompiledFunction(Identified):
    """A user's function on one target, called with arrays (..., *size): any leading dimensions, which broadcast.

    It returns a named tuple, or an array if it has one output. All arrays may be packed.
    """

    def __init__(
        self, user_function: UserFunction, dynamics: Dynamics, recipe: tuple[Callable[..., object], tuple[object, ...]]
    ) -> None:
        self._recipe, self._parts = recipe, dict[str, str]()
        self._user_function, self._dynamics, self._function = user_function, dynamics, user_function.specification
        self._direct = dynamics.direct(self._function, self._call) or self._call

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._recipe

    def __repr__(self) -> str:
        return f"{self._user_function!r}: target {self._dynamics.target}, {self._dynamics.dtype}"

    def _identified(self) -> Parts:
        return {**self._dynamics.identity_parts, **self._user_function.identity_parts}

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return *self._dynamics.__dask_tokenize__(), self.identity

    def __call__(self, *args: ArrayLike, **named: Any) -> Any:
        """The answers; inputs by position or by name, and `out=`, an array or a tuple of arrays."""
        return self._direct(*args, **named)

    def _call(self, *args: ArrayLike, out: Out = None, **named: ArrayLike) -> Any:
        given = ordered(self._function, args, named)
        return as_result(self._function, self._dynamics.call(self._function, given, out))

    def map(
        self,
        source: Source,
        sink: Sink,
        chunk: int = 65536,
        journal: str | PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> int:
        """The function of more states than memory holds: see `Dynamics.map`."""
        return self._dynamics.map(self._function, source, sink, chunk, journal, progress)

    def jvp(self) -> Callable[..., Any]:
        """Return the derivative along tangents of every input: f.jvp()(q, u, dq, du)."""
        return self._dynamics.jvp(self._function)

    def vjp(self, of: str = "", implicit: Sequence[str] | str = ()) -> Callable[..., Any]:
        """Return the derivatives of cotangents times the outputs, by every input: f.vjp()(q, u, cost_bar).

        of="rollout": those of a rollout, f.vjp("rollout")(q, u, q_bar, cost_bar, by_time=("u",), sum=("cost",)), with
        the options of `rollout`.
        of="iterate": those of an iteration that has arrived, f.vjp("iterate", implicit=("x",))(x, u, x_bar, cost_bar),
        at its answers x = f(x, u): implicit names them. By where it began the derivative is 0. No step is
        differentiated, so it does not matter how many there were; where x is not there yet, it is that of another
        problem. Errors: UnsupportedError for names, and for more than 64 entries.
        """
        if of == "iterate":
            return self._dynamics.function(implicit_vjp(self._function, implicit))
        if of not in ("", "rollout") or implicit:
            raise UnsupportedError(
                f"vjp({of!r}, implicit={implicit!r}): give nothing, 'rollout', or 'iterate' and names"
            )
        return self._dynamics.rollouts_of(self._function, "vjp") if of else self._dynamics.vjp(self._function)

    def rollout(
        self,
        *args: ArrayLike,
        by_time: Sequence[str] | str = (),
        sum: Sequence[str] | str = (),
        every: int = 1,
        last: bool = False,
        steps: int | None = None,
        out: Out = None,
        **named: ArrayLike,
    ) -> Any:
        """Return the answers of the function repeated: an output with the name of an input is that input of the next
        step.

        Inputs by position or by name: before the first step, or constant. by_time: names of inputs with a value for
        each step, whose time axis stands before their own axes: f.rollout(q, u, by_time=("u",)) with u (..., T, nu).
        steps: the number of steps, if no input has a time axis. Answers have a time axis: one for each step; every=k:
        for steps k, 2 k, ... and the last one; last=True: the last one alone, without time axis. sum: names of outputs
        that are summed over all steps.
        Errors: ShapeError for time axes that differ in length or have no step, and for an output whose shape is not
        that of the input of its name; UnsupportedError for an option.
        """
        call = self._dynamics.rollouts_of(self._function)
        return call(*args, by_time=by_time, sum=sum, every=every, last=last, steps=steps, out=out, **named)

    def iterate(
        self,
        *args: ArrayLike,
        until: str | tuple[str, str] = "done",
        most: int = 50,
        by_time: Sequence[str] | str = (),
        sum: Sequence[str] | str = (),
        out: Out = None,
        **named: ArrayLike,
    ) -> Any:
        """Return the answers of the function repeated until it says that it is done.

        x_0 = x, x_k = f(x_(k-1), u) for k = 1, 2, ... up to the first k with done > 0, and up to k = most: an output
        with the name of an input is that input of the next iteration. Answers are those of that iteration, and one more
        is their number k, `iterations` (...), a whole number as a float. Each state of a batch ends for itself. Its
        answers are the same to the bit as those of a rollout of k steps, whatever the other states do.

        Inputs by position or by name: before the first iteration, or constant. until: an output that is one number;
        the state is done where it is above 0, and never where it is NaN. until=("done", "any"): the states are
        candidates of one query: the first iteration at which any is done is the last one of all. most: 1 to 2^24. A
        state that is not done then has its answers of that iteration, and done <= 0. by_time: names of inputs with a
        value for each iteration, whose time axis, of `most` rows, stands before their own axes. sum: names of outputs
        that are summed over the iterations.
        Errors: ShapeError for a time axis of another length, and for an output whose shape is not that of the input of
        its name; UnsupportedError for an option, and for a function with an output `iterations`.
        """
        call = self._dynamics.rollouts_of(self._function)
        return call.iterate(args, named if out is None else {**named, "out": out}, until, most, by_time, sum)

    def jacobian(self, by: Sequence[str] | str | None = None) -> Callable[..., Any]:
        """Return the derivatives of all outputs by some inputs, None is all: a named tuple dcost_dq, ..."""
        return self._dynamics.jacobian(self._function, by)

    def hessian(self, of: str | None = None) -> Callable[..., Any]:
        """Return the second derivative (..., n, n) of one output by all inputs in order, n the sizes of their tangents
        together.

        An output with several entries takes factors lam of them behind the inputs: it is that of lam . output.
        """
        function = self._user_function.only(of)
        derived = self._dynamics.hessian(function)
        if function.outputs[0].dims:
            return derived

        def of_one(*args: ArrayLike, out: Out = None) -> Any:
            return derived(*args, np.ones((), self.dtype), out=out)

        return of_one

    def pack(self, array: ArrayLike, name: str) -> Packed:
        """A packed copy of an input of many states, by the input's name."""
        port = next((port for port in self._function.inputs if port.name == name), None)
        if port is None:
            known = ", ".join(port.name for port in self._function.inputs)
            raise UnsupportedError(f"pack: there is no input {name!r}; there are {known}")
        return self._dynamics.packed(array, port)

    @property
    def specification(self) -> Function:
        """What it takes and gives."""
        return self._function

    @property
    def dynamics(self) -> Dynamics:
        """What computes: it takes this function by its specification."""
        return self._dynamics

    def only(self, output: str | None) -> Function:
        """The function with one output alone; see `UserFunction.only`."""
        return self._user_function.only(output)

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states; also how `iterate` ran last."""
        latest = self._dynamics.rollouts_of(self._function).latest
        if latest is None:
            return self._dynamics.explain(n, (self._function,)).replace(self._function.name, self._function.called)
        function, iterations = latest
        said = self._dynamics.explain(n, (self._function, function)).replace(self._function.name, self._function.called)
        said = f"{said}\nthe last call of iterate: {self._dynamics.kernel(function).description}"
        if not hasattr(iterations, "__array__"):
            return f"{said}; its iterations lie on the GPU"
        counts: Array = np.asarray(iterations)
        if not counts.size or function.repeat is None:
            return f"{said}; no states"
        average, most = f"{counts.mean():.1f}", f"{counts.max():.0f} of {function.repeat.steps}"
        return f"{said}; states {counts.size}, iterations on average {average}, at the most {most}"

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self._dynamics.dtype

    @property
    def target(self) -> str:
        return self._dynamics.target
