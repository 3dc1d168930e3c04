"""The accelerator's integers in Python: the functions of `Dynamics` with the bits of the hardware."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.backends.cpu import build
from condyle.backends.cpu import build as cpu
from condyle.calls.methods import as_result, document_of, result_type, signature_of
from condyle.compile import Target, targets
from condyle.compile.options import bound_arguments, check_choice, check_numbers, check_robot, whole
from condyle.compile.routes import check_solvable
from condyle.errors import BuildError, StateError, UnsupportedError
from condyle.fpga.box import box_of, check_held, limits
from condyle.fpga.functions import chosen, families, task_name, tasks
from condyle.fpga.plans import Options, planned
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import FLAG, Answer, evaluate, program_of
from condyle.fpga.rtl.target import Integers, word_of
from condyle.fpga.rtl.vectors import dense, task_of
from condyle.fpga.simulation import Bench
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.runtime.arrays import ArraySpec, Binder, Call
from condyle.runtime.native import Kernel, NativeKernel, NumpyKernel, cores, fast_path
from condyle.specification import F_EXT, Function, Port
from condyle.trace.straight import sizes

# The accelerator's integers compiled: a kernel for each function, from real inputs to real outputs and a flag.


Reals = NDArray[np.float64]
Floats = NDArray[np.floating]
CHUNK = 1000
"""States that NumPy computes at once, because it keeps every signal of all of them."""
LONGEST = 150_000
"""A task with more operations would take minutes to compile, so NumPy computes it."""
TARGETS = ("cpu", "numpy")
"""Machine code if the processor and the system allow it, or the integer model itself."""


class Compiled:
    """Kernels of one robot's accelerators. functions: names of those of one accelerator, or None for `families`.

    UnsupportedError, also at the first use of a function, for what cannot be planned.
    """

    def __init__(self, robot: Robot, options: Options, functions: Sequence[str] | None, target: Target) -> None:
        self.robot, self.options, self.target = robot, options, target
        self.sizes = sizes(tree_of(robot))
        every = families(robot) if functions is None else (tuple(task.function.name for task in chosen(functions)),)
        self.families = every
        chosen_tasks = [task for name, task in tasks().items() if any(name in family for family in every)]
        self.tasks = {task.function: task for task in chosen_tasks}
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._kernels: dict[Function, Kernel] = {}
        self._lock = threading.RLock()
        self._box = limits(robot, box_of(robot, options.box, options.f_ext))
        check_held(self._box, word_of(options.word))

    def options_of(self, function: Function) -> Options:
        """The options of the accelerator that has a function."""
        name = function.plain.name
        return replace(self.options, functions=next(family for family in self.families if name in family))

    def plan(self, function: Function) -> Plan:
        options = self.options_of(function)
        with self._lock:
            if options.functions not in self._plans:
                self._plans[options.functions] = planned(self.robot, options)
            return self._plans[options.functions]

    def smallest(self, function: Function) -> Options:
        """The options of the smallest accelerator with these integers: one function, if its formats are the same."""
        alone = replace(self.options, functions=(function.plain.name,))
        made = (self.plan(function), planned(self.robot, alone))
        one, other = (_said(plan, function.plain.name) for plan in made)
        return alone if one == other else self.options_of(function)

    def kernel(self, function: Function) -> Kernel:
        """Of a task's function, with or without external forces. Its last output is the flag, see `evaluate.FLAG`; of
        the model one or zero."""
        kernel = self._kernels.get(function)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(function) or self._built(function)
                self._kernels[function] = kernel
        return kernel

    def words(self, function: Function, states: Mapping[str, Floats]) -> dict[Word, Integers]:
        """A task's words: inputs (n or 1, size) rounded and clamped; words of other functions are zero."""
        plan, n = self.plan(function), max(len(x) for x in states.values())
        whole: dict[str, Reals] = {}
        for word in plan.formats:
            size = 1 + max(other.index for other in plan.takes(word.name))
            given = np.asarray(states.get(word.name, np.zeros((1, size))), np.float64)
            whole[word.name] = np.broadcast_to(given, (n, size))
        return task_of(plan, function.plain.name, whole)

    def reals(self, function: Function, answer: Answer) -> list[Reals]:
        """The outputs (n, size) in SI units, dense."""
        plan, name, n = self.plan(function), function.plain.name, len(answer.over)
        return [dense(plan, name, port.name, answer, np.zeros((n, self._size(port)))) for port in function.outputs]

    def line(self, function: Function) -> str:
        """A line for people: the code that runs, if it is known already."""
        said = "; ".join(
            kernel.description + (", with f_ext" if taken.has_forces else "")
            for taken, kernel in self._kernels.items()
            if taken.plain == function
        )
        return f"{function.name:10} {said or 'not compiled before its first call'}"

    def _size(self, port: Port) -> int:
        return int(np.prod(port.shape(self.sizes)))

    def _built(self, function: Function) -> Kernel:
        kept = None if self.target.is_reference else build.find(self._key(function), None)
        if kept is not None:
            return kept
        self.plan(function)  # an error if it cannot be planned
        why = self._why_not(function)
        if not why:
            try:
                made = cpu.assembled(program_of(self.plan(function), function, self.sizes), "float64")
                kernel = cpu.load(made)
                build.keep(self._key(function), made)
                return kernel
            except (UnsupportedError, BuildError) as error:
                why = str(error)
        return NumpyKernel(partial(self._model, function), function.inputs, np.dtype("f8"), f"NumPy, {why}")

    def _why_not(self, function: Function) -> str:
        """Why a function is not compiled; empty if it is."""
        plan, task = self.plan(function), self.tasks[function.plain]
        leaves = [leaf for one in task.passes for leaf in one]
        length = sum(len(plan.datapaths[leaf.array].cones[leaf.group]) for leaf in leaves) * max(1, len(task.stages))
        if self.target.is_reference:
            return "as asked for"
        return f"{length} operations are too many to compile" if length > LONGEST else ""

    def _model(self, function: Function, inputs: Mapping[str, Floats]) -> list[Reals]:
        n = max(len(x) for x in inputs.values())
        parts: list[list[Reals]] = []
        for first in range(0, n, CHUNK):
            states = {name: x if len(x) == 1 else x[first : first + CHUNK] for name, x in inputs.items()}
            known = {name: np.where(np.isfinite(x), x, 0.0) for name, x in states.items()}
            answer = evaluate(self.plan(function), function.plain.name, self.words(function, known))
            flags = answer.over[:, None].astype(np.float64)
            for x in states.values():
                flags = np.where(np.isfinite(x).all(axis=1, keepdims=True), flags, np.nan)
            parts.append([*self.reals(function, answer), flags])
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _key(self, function: Function) -> build.Key:
        """All that a plan depends on: the robot with its limits, the options."""
        options = self.options_of(function)
        said = repr((replace(options, box={}), sorted(self._box.items(), key=str)))
        return build.Key(self.robot.identity, f"integers of {function.key}", said, "float64", f"integers of {function}")


def _said(plan: Plan, name: str) -> list[object]:
    """All that a task's integers depend on: the formats of its words, operations of the arrays behind the sines."""
    task = plan.tasks[name]
    found: list[object] = [(word, format) for word, format in plan.formats.items() if task.takes(word, plan.base)]
    for array, group in dict.fromkeys(leaf for leaves in task.passes for leaf in leaves):
        path = plan.datapaths[array]
        ops = [path.ops[k] for k in sorted(path.cones[group])]
        found += [(op.kind, op.format, op.value, op.factor, op.drop) for op in ops]
    weights = plan.weights if task.stages else {}
    return [*found, *((name, [one.values[k] for k in task.stages], one.format) for name, one in weights.items())]


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
    check_numbers(step=step)
    if f_ext is not None:
        check_numbers(f_ext=f_ext)
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
