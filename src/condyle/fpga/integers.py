"""The accelerator's integers in Python: the functions of `Dynamics` with the bits of the hardware."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls.methods import as_result, document_of, result_type, signature_of
from condyle.compile import targets
from condyle.compile.checks import check_solvable
from condyle.compile.options import bound_arguments, check_choice, check_numbers, check_robot, whole
from condyle.errors import StateError, UnsupportedError
from condyle.fpga import Options
from condyle.fpga.fixed_point import TARGETS, Compiled
from condyle.fpga.functions import task_name, tasks
from condyle.fpga.rtl.doubles import FLAG
from condyle.fpga.simulation import Bench
from condyle.model.robot import Robot
from condyle.runtime.arrays import Binder, Call
from condyle.runtime.kernel import cores
from condyle.runtime.native import NativeKernel, fast_path
from condyle.runtime.ranges import ArraySpec
from condyle.specification import F_EXT, Function

Array = NDArray[np.float64]
Out = Array | Sequence[Array] | None


class FixedPoint:
    """The functions of one robot in the integers of its accelerator. Safe to call from many threads.

    A method takes what the method of `Dynamics` takes, in float64, and returns (value, flag). value: as there. flag
    (...): true where an input was outside the box or a number was clamped. out= is for the value. Inputs are rounded to
    the nearest word (halves to even) and clamped. Value and flag are exactly those of the Verilog of `condyle.export`.
    StateError for NaN and infinities.
    """

    def __init__(self, compiled: Compiled, threads: int, recipe: tuple[object, ...]) -> None:
        self._compiled, self._threads, self._recipe = compiled, threads, recipe
        self._functions = {function.name: function for function in compiled.tasks}
        self._binders: dict[Function, Binder] = {}
        self._benches: dict[tuple[Function, str], Bench] = {}

    def __reduce__(self) -> tuple[Callable[..., FixedPoint], tuple[object, ...]]:
        return fixed_point, self._recipe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A function that was registered later."""
        for function in () if name.startswith("_") else self._functions.values():
            if function.method == name:
                return _method(function).__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<FixedPoint of {self._compiled.robot!r}: word {self._compiled.options.word}>"

    @property
    def functions(self) -> tuple[str, ...]:
        """The short names of the functions."""
        return tuple(self._functions)

    def function(self, name: str | Function) -> Callable[..., Any]:
        """Return the method of a function by its short name, such as "fd"."""
        return getattr(self, self._function(name).method)

    def explain(self) -> str:
        """Return a line for each function with the code that runs: machine code, or NumPy and the reason."""
        return "\n".join(map(self._compiled.line, self._functions.values()))

    def call(
        self, name: str | Function, args: Sequence[ArrayLike], f_ext: ArrayLike | None = None, out: Out = None
    ) -> Any:
        """Return (value, flag) of a function by its short name."""
        function, call = self._bound(name, args, f_ext, out)
        flags = np.empty((call.n, 1))
        if call.n:
            kernel = self._compiled.kernel(function)
            if f_ext is None and function.method not in self.__dict__ and isinstance(kernel, NativeKernel):
                self._shadow(function, kernel)
            kernel(call.n, call.inputs, (*call.outputs, flags), self._threads)
            if not flags.max() < np.inf:
                self._check_finite(function, call)
        return _answered(function.plain, call, flags > 0.0)

    def words(
        self, name: str | Function, *args: ArrayLike, f_ext: ArrayLike | None = None
    ) -> dict[str, NDArray[np.int64]]:
        """Return the integers of a task by input, (..., size), clamped: what a host sends. See `formats`."""
        function, call = self._bound(name, args, f_ext, None)
        self._check_finite(function, call)
        inputs = {port.name: x for port, x in zip(function.inputs, call.inputs, strict=True)}
        found: dict[str, NDArray[np.int64]] = {}
        for word, value in self._compiled.words(function, inputs).items():
            if word.name in inputs:
                empty = np.zeros((call.n, inputs[word.name].shape[1]), np.int64)
                found.setdefault(word.name, empty)[:, word.index] = value
        batch = _batch(function, call)
        return {name: np.reshape(x, (*batch, -1)) for name, x in found.items()}

    def formats(self, name: str | Function) -> dict[str, dict[int, tuple[int, int]]]:
        """Return by input or output, and by entry (flat, row major), the bits of a word and those after the point."""
        function = self._function(name)
        plan, task = self._compiled.plan(function), self._compiled.tasks[function]
        found: dict[str, dict[int, tuple[int, int]]] = {}
        for word, format in plan.formats.items():
            if task.takes(word, plan.base):
                found.setdefault(word.name, {})[word.index] = format.width, format.frac
        outputs = {held: output for output, held in task.words.items()}
        for word, format in plan.results[function.name]:
            if word.name in outputs:
                found.setdefault(outputs[word.name], {})[word.index] = format.width, format.frac
        return found

    def simulate(
        self,
        name: str | Function,
        *args: ArrayLike,
        f_ext: ArrayLike | None = None,
        tool: str = "iverilog",
        progress: Callable[[str], None] | None = None,
    ) -> Any:
        """Return (value, flag) from the simulated Verilog: bit for bit what the method returns.

        The accelerator has this function only, if its formats do not depend on others. tool: "iverilog", or
        "verilator", which compiles for minutes and runs faster; what is compiled serves later calls. progress: is
        called with texts.
        Errors: BuildError if the tool is missing, or if an answer differs from the integer model: please report that.
        """
        function, call = self._bound(name, args, f_ext, None)
        self._check_finite(function, call)
        plain, flags = function.plain, np.empty((call.n, 1), np.bool_)
        if call.n:
            bench = self._benches.get((plain, tool))
            if bench is None:
                options = self._compiled.smallest(plain)
                bench = self._benches[plain, tool] = Bench(self._compiled.robot, options, plain.name, tool)
            inputs = {port.name: x for port, x in zip(function.inputs, call.inputs, strict=True)}
            answer = bench.answer(self._compiled.words(function, inputs), progress or (lambda _: None))
            for rows, value in zip(call.outputs, self._compiled.reals(function, answer), strict=True):
                rows[...] = value
            flags[:, 0] = answer.over
        return _answered(plain, call, flags)

    def _shadow(self, function: Function, kernel: NativeKernel) -> None:
        """Puts a native callable in front of a method, for plain calls; all others are left to the method."""
        inputs, outputs = self._binders[function].specs
        result = result_type(f"{function.method}_flagged", (*(spec.name for spec in outputs), FLAG))
        method = _method(function).__get__(self)
        every = (*outputs, ArraySpec(FLAG, (), 1))
        fast = fast_path(method, False, inputs, every, np.dtype("f8"), result, self._threads)
        if fast is not None:
            fast.set_entry(False, kernel.entry, kernel.single)
            setattr(self, function.method, _front(function, fast, method, result))

    def _function(self, name: str | Function) -> Function:
        """The function of a name; UnsupportedError for one that the accelerator does not have."""
        if isinstance(name, Function) and name in self._compiled.tasks:
            return name
        name = name if isinstance(name, str) and name in self._functions else task_name(name)
        if name not in self._functions:
            raise UnsupportedError(
                f"there is no function {name!r} in this accelerator; there are {', '.join(self.functions)}"
            )
        return self._functions[name]

    def _bound(
        self, name: str | Function, args: Sequence[ArrayLike], f_ext: ArrayLike | None, out: Out
    ) -> tuple[Function, Call]:
        """The function, with external forces where they are given, and the checked call."""
        function = self._function(name)
        if f_ext is not None and self._compiled.options.f_ext is None:
            raise UnsupportedError(
                "f_ext: this accelerator has no external forces: give fixed_point(..., f_ext=) the largest [N, N m]"
            )
        if f_ext is not None:
            if not function.takes_f_ext:
                raise UnsupportedError(f"{function.method} does not depend on external forces: call it without f_ext")
            function, args = function.taking(F_EXT), (*args, f_ext)
        if function not in self._binders:
            check_solvable(self._compiled.robot, (function,))
            self._binders[function] = Binder(function, self._compiled.sizes, np.dtype("f8"), recompiles=False)
        return function, self._binders[function].bind(args, out=out)

    def _check_finite(self, function: Function, call: Call) -> None:
        for port, rows in zip(function.inputs, call.inputs, strict=True):
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if bad.size:
                raise StateError(
                    f"{function.called}: {port.name} has entries that are not finite, first in state {bad[0]} of "
                    f"{len(rows)}: an integer has no NaN and no infinity",
                    tuple(bad.tolist()),
                )


def _batch(function: Function, call: Call) -> tuple[int, ...]:
    dims = len(function.outputs[0].dims)
    shape = call.results[0].shape
    return shape[: len(shape) - dims]


def _answered(function: Function, call: Call, flags: NDArray[np.bool_]) -> Any:
    return as_result(function, call.finish()), np.reshape(flags, _batch(function, call))[()]


def _front(function: Function, fast: Any, method: Callable[..., Any], flagged: type) -> Callable[..., Any]:
    """A call by position through `fast`; what it leaves to the method, and what is not finite, is the method's."""
    count = len(function.inputs)

    @wraps(method)
    def front(*args: Any, **named: Any) -> Any:
        if named or len(args) != count:
            return method(*args, **named)
        answers = fast(*args)
        if type(answers) is not flagged:
            return answers
        flags = answers[-1]
        return (as_result(function, answers[:-1]), flags > 0.0) if flags.sum() < np.inf else method(*args)

    return front


def _method(function: Function) -> Callable[..., Any]:
    signature, count = signature_of(function), len(function.inputs)

    def method(self: FixedPoint, *args: Any, **named: Any) -> Any:
        if len(args) == count and not named:
            return self.call(function, args)
        bound = bound_arguments(function.method, signature, (self, *args), named)
        inputs = [bound[port.name] for port in function.inputs]
        return self.call(function, inputs, bound.get(F_EXT.name), bound.get("out"))

    method.__name__, method.__qualname__ = function.method, f"FixedPoint.{function.method}"
    method.__doc__ = f"{document_of(function)}\n\nAnswers (value, flag): see `FixedPoint`."
    method.__dict__["__signature__"] = signature
    return method


for _task in tasks().values():
    setattr(FixedPoint, _task.function.method, _method(_task.function))


def fixed_point(
    robot: Robot,
    word: str = "27x18",
    box: Mapping[str, object] | None = None,
    f_ext: float | None = None,
    step: float = 1e-3,
    functions: Sequence[str | Function] | None = None,
    threads: int | None = None,
    target: str = "cpu",
) -> FixedPoint:
    """Return the functions of a robot in the integers of its accelerator, bit for bit; compiled at their first call.

    word, box, f_ext [N, N m], step [s]: as in `condyle.export` for "verilog", whose word for the 7 series is "25x18".
    functions: those of one accelerator, or their short names; None: three accelerators, of the library's functions,
        of the steps "rk4" and "euler", and of those of a given base.
    threads: their largest number; None is every core.
    target: "cpu": machine code; "numpy": the model that defines the integers, thousands of times slower for one state.
    Errors: UnsupportedError for an option, with what is allowed.
    """
    check_robot("fixed_point", robot)
    check_choice("target", target, TARGETS)
    check_numbers(f_ext=f_ext, step=step)
    if not isinstance(word, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"word={word!r}: give text, such as '27x18', '32' or 'q16.16'")
    listed = isinstance(functions, Iterable) and not isinstance(functions, str)
    if functions is not None and not listed:
        raise UnsupportedError(f"functions={functions!r}: give a list of short names, such as ('id', 'fd')")
    count = cores() if threads is None else whole("threads", threads, 1, "None for every core")
    options = Options(word=word, f_ext=f_ext, step=step, box=box or {})
    chosen = None if functions is None else tuple(map(task_name, functions))
    compiled = Compiled(robot, options, chosen, targets.TARGETS[target])
    return FixedPoint(compiled, count, (robot, word, box, f_ext, step, chosen, threads, target))
