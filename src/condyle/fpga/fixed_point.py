"""The accelerator's integers compiled: a kernel for each function, from real inputs to real outputs and a flag."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cpu import build as cpu
from condyle.backends.cpu import keep
from condyle.compile.target import Target
from condyle.errors import BuildError, UnsupportedError
from condyle.fpga.box import box_of, check_held
from condyle.fpga.functions import chosen, families, tasks
from condyle.fpga.plans import Options, planned
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.doubles import program_of
from condyle.fpga.rtl.evaluate import Answer, evaluate
from condyle.fpga.rtl.formats import Integers
from condyle.fpga.rtl.target import word_of
from condyle.fpga.rtl.vectors import dense, task_of
from condyle.fpga.states import limits
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.runtime.kernel import Kernel
from condyle.runtime.numpy_kernel import NumpyKernel
from condyle.specification import Function, Port
from condyle.trace.structure import sizes

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
        """Of a task's function, with or without external forces. Its last output is the flag, see `doubles.FLAG`; of
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
        kept = None if self.target.is_reference else keep.find(self._key(function), None)
        if kept is not None:
            return kept
        self.plan(function)  # an error if it cannot be planned
        why = self._why_not(function)
        if not why:
            try:
                made = cpu.assembled(program_of(self.plan(function), function, self.sizes), "float64")
                kernel = cpu.load(made)
                keep.keep(self._key(function), made)
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

    def _key(self, function: Function) -> keep.Key:
        """All that a plan depends on: the robot with its limits, the options."""
        options = self.options_of(function)
        said = repr((replace(options, box={}), sorted(self._box.items(), key=str)))
        return keep.Key(self.robot.identity, f"integers of {function.key}", said, "float64", f"integers of {function}")


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
