"""Functions on a GPU: a form is chosen by the sizes of their Programs, and the launches of that form are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

from condyle.backends.common.facts import bits_of
from condyle.backends.common.forms import lacks
from condyle.backends.cuda import time_loop
from condyle.backends.cuda.group.schedule import OPERATIONS
from condyle.backends.cuda.launches import Composed, Part, Parts, Text, grouped, over_rows, parts, straight
from condyle.backends.cuda.target import (
    SPLIT,
    TARGET,
    WHOLE,
    Form,
    Launch,
    Partitions,
    Size,
    Target,
    partitions,
    product_launch,
    requested,
    stages,
)
from condyle.compile.routes import Router
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, function_or_none
from condyle.ir.loops import TimeLoop
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.specification import Call, Function, MinusProduct, expanded
from condyle.specification.ports import F_EXT
from condyle.trace.straight import arrays, written


class GpuKernels:
    """The kernels of one robot, which several functions and forms share."""

    def __init__(self, router: Router, target: Target = TARGET) -> None:
        self.router, self.target = router, target
        self.size, self.part, self.in_time_loop = cache(self._size), cache(self._part), cache(self._in_time_loop)
        self.looped, self.over_rows = cache(self._looped), cache(self._over_rows)

    def _size(self, function: Function) -> Size:
        """What a form is chosen by; UnsupportedError for robots that are too long for a GPU."""
        return Size(self.router.straight(function))

    def _part(self, function: Function, dtype: str, lanes: int) -> Part:
        """The one kernel of a function; kernels of a split function are those of the plain ones."""
        program, bits = self.size(function).program, bits_of(dtype)
        return straight(program, bits, self.target) if lanes == 1 else grouped(program, lanes, bits, self.target)

    def _over_rows(self, function: Function, dtype: str) -> Part:
        """The kernel of a function for rows of many problems; UnsupportedError where it is no straight code."""
        return over_rows(self.size(function).program, bits_of(dtype), self.target)

    def _in_time_loop(self, function: Function, dtype: str, kind: time_loop.Kind) -> tuple[Text, ...]:
        """The one kernel of a loop over time; UnsupportedError where a step is too long for it."""
        if self.usual(function) != WHOLE:
            raise UnsupportedError(f"target 'cuda': {function} of this robot is too long for one kernel")
        return time_loop.texts(self.size(function).program, kind, bits_of(dtype), self.target)

    def iterates(self, function: Function) -> bool:
        """Whether it has loops over time inside."""
        code = None if self.router.is_too_long(function) else self.router.best(function).code
        return isinstance(code, Segmented) and any(code.iterations)

    def _looped(self, function: Function, dtype: str) -> Parts:
        """The launches of a function that has loops over time inside."""
        code = cast(Segmented, self.router.code(function))
        return time_loop.segmented(code, bits_of(dtype), self.target)

    def usual(self, function: Function, lanes: int = 1) -> str:
        """The partition if nothing is said: one kernel, unless it would be too long for a thread a state."""
        if lanes > 1:
            return WHOLE
        inputs = {port.name for port in function.inputs}
        takes_inverse = any(isinstance(step, MinusProduct) and step.left in inputs for step in expanded(function))
        return self._partition(function, self.target.longest_given if takes_inverse else self.target.longest)

    def _partition(self, function: Function, longest: int) -> str:
        return SPLIT if SPLIT in partitions_of(function) and self.size(function).operations > longest else WHOLE

    def composed(self, function: Function, partition: str) -> Composed:
        """The steps that a function is launched as."""
        tree = self.router.tree
        inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.named_outputs)
        steps = partitions_of(function)[partition]
        rights = {step.right for step in steps if isinstance(step, MinusProduct)}
        calls = [step for step in steps if isinstance(step, Call) and rights & {*step.gives}]
        kept = {
            name: entries
            for step in calls
            for name, entries in zip(step.gives, written(self.size(step.function).program), strict=True)
        }
        return Composed(function, inputs, outputs, steps, kept)

    def exported(self, functions: Sequence[Function]) -> tuple[list[Composed], dict[Function, Program]]:
        """For CUDA C++, a thread a state: the steps of each function, and the Programs of all that is called."""
        made = [self.composed(function, self._partition(function, self.target.longest_given)) for function in functions]
        called = dict.fromkeys(function for whole in made for function in whole.called)
        return made, {function: self.size(function).program for function in called}


@dataclass(frozen=True, eq=False)
class GpuFunction:
    """What one function runs as: `backends.cuda.function.Source`. words: those of `requested`."""

    kernels: GpuKernels
    function: Function
    dtype: str
    multiprocessors: int
    words: str = ""

    @cached_property
    def partitions(self) -> Partitions:
        return partitions_of(self.function)

    def form(self, n: int) -> Form:
        """The fastest for n states, by the estimate, that fits a GPU; the first, for its error, where none does.

        Of equals it has fewer lanes, which leave more of the GPU to others.
        """
        asked = requested(self.function, self.words, self.partitions)
        if self.kernels.iterates(self.function):
            return Form()
        widths = asked.lanes
        if len(widths) > 1 and 1 in widths and lacks(self.kernels.size(self.function).program, OPERATIONS):
            widths = [1]  # groups of lanes have not all operations
        found = [Form(lanes, asked.partition or self.kernels.usual(self.function, lanes)) for lanes in widths]
        if len(found) > 1:
            found.sort(key=lambda form: (self.us(form, n), form.lanes))
        for form in found:
            with suppress(UnsupportedError):
                if form.lanes > 1:
                    self.launches(form)
                return form
        return found[0]

    def us(self, form: Form, n: int) -> float:
        """Estimated microseconds, with the launches."""
        if self.kernels.iterates(self.function):
            code = cast(Segmented, self.kernels.router.code(self.function))
            programs = [*((part, 1) for part in code.programs), *((part.body, part.most) for part in code.iterations)]
            return sum(times * Size(part).launch(1).us(n, self.multiprocessors) for part, times in programs)

        def launch(step: Call | list[MinusProduct]) -> Launch:
            if isinstance(step, Call):
                return self.kernels.size(step.function).launch(form.lanes)
            return product_launch(self.kernels.router.tree.nv, len(step))

        return sum(launch(step).us(n, self.multiprocessors) for step in stages(self.partitions[form.partition]))

    def launches(self, form: Form) -> Parts:
        """What to launch; UnsupportedError for robots that are too long for a GPU."""
        if self.kernels.iterates(self.function):
            return self.kernels.looped(self.function, self.dtype)
        made = self.kernels.composed(self.function, form.partition)
        kernels = {function: self.kernels.part(function, self.dtype, form.lanes) for function in made.called}
        return parts(made, kernels, bits_of(self.dtype), self.kernels.target)

    def over_rows(self) -> Part:
        """The kernel for rows of many problems."""
        return self.kernels.over_rows(self.function, self.dtype)

    def repeated(self, loop: TimeLoop) -> GpuRollout | None:
        """A loop around it in one kernel. None where a step is too long for that or has loops of its own, where all
        states end together, and where states end that have inputs with a time axis."""
        ends = loop.until >= 0 and (loop.together or any(take.every for take in loop.takes))
        if ends or self.kernels.iterates(self.function):
            return None
        made = GpuRollout(self, loop)
        with suppress(UnsupportedError):
            made.launches(made.form(1))
            return made
        return None

    def line(self, n: int) -> str:
        """For people: the form, and the estimate of its time."""
        if self.kernels.router.is_rolled(self.function):
            return ", too long for a GPU"
        form = self.form(n)
        return f", {form}, estimated {self.us(form, n):.0f} us (unmeasured)"


@dataclass(frozen=True, eq=False)
class GpuRollout:
    """What a rollout runs as: one kernel with the loop inside, a thread a state."""

    step: GpuFunction
    loop: TimeLoop

    def form(self, n: int) -> Form:
        return Form()

    def launches(self, form: Form) -> Parts:
        """What to launch; UnsupportedError where a step is too long for one kernel."""
        kernels, function, dtype = self.step.kernels, self.step.function, self.step.dtype
        texts = kernels.in_time_loop(function, dtype, time_loop.Kind.from_loop(self.loop))
        program = kernels.size(function).program
        return time_loop.parts(f"rollout of {function}", program, self.loop, bits_of(dtype), texts)

    def over_rows(self) -> Part:
        raise UnsupportedError(f"target 'cuda': a rollout of {self.step.function} is no part of a schedule")

    def repeated(self, loop: TimeLoop) -> None:
        """Nothing: it is repeated already."""


def partitions_of(function: Function) -> Partitions:
    """How a function can be launched; what it calls takes external forces if it does."""
    found = partitions(function, expanded(function))
    if not function.has_forces:
        return found
    return {name: tuple(map(_with_forces, steps)) for name, steps in found.items()}


def _with_forces(step: Call | MinusProduct) -> Call | MinusProduct:
    return step._replace(function=step.function.taking(F_EXT)) if isinstance(step, Call) else step


def requests(kernels: str | Mapping[str, str]) -> dict[Function, str]:
    """The words for each function, one for all or some by name; UnsupportedError for words that say nothing."""
    if not isinstance(kernels, (str, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"kernels={kernels!r}: give words such as 'group32', or {{'dfd': 'group32 split'}}")
    named = dict.fromkeys(FUNCTIONS, kernels) if isinstance(kernels, str) else kernels
    words: dict[Function, str] = {}
    for name, asked in named.items():
        function = function_or_none(name)
        if function is None:
            raise UnsupportedError(f"kernels: there is no function {name!r}; there are {', '.join(FUNCTIONS)}")
        if not isinstance(asked, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"kernels: {name!r} is {asked!r}, expected words such as 'group32 split'")
        requested(function, asked, partitions_of(function))
        words[function] = asked
    return words
