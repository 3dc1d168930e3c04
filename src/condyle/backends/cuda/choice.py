"""Which form a batch runs in: an estimate of its time from counts that need no GPU.

UNMEASURED: no time of these kernels has been taken on a GPU. The counts are exact or nearly so; what a cycle buys is
assumed, and every assumption stands in this file. Forms named by the user are never overruled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from condyle.backends.common.lacking import lacks
from condyle.backends.cuda.forms import FUSED, SPLIT, WHOLE, Form, Wish, usual
from condyle.backends.cuda.group.schedule import LATENCY
from condyle.backends.cuda.group.words import OPERATIONS, words
from condyle.backends.cuda.target import TARGET, WARP
from condyle.ir.count import count, work
from condyle.ir.program import Program

SCHEDULERS = 4
"""Of a multiprocessor: so many warps issue an instruction in each cycle."""

CYCLES_A_US = 1700.0
LAUNCH_US = 2.5
"""Clock and launch of an H100 or H200, roughly."""

ALONE = 2.0
"""Cycles an instruction of straight-line code where a warp has a scheduler for itself: dependences, code from afar."""

STEP_CYCLES, STEP_INSTRUCTIONS = 48.0, 34.0
"""One step of a group: from a shared store to the loads behind it; instructions as counted in code for sm_90."""

WIDTHS = (8, 16, 32)
"""Lanes of a group that are weighed; fewer only if named."""

KNOWN_MULTIPROCESSORS = 132
"""Of an H100 or H200: for explanations where there is no GPU."""


@dataclass(frozen=True)
class Size:
    """What a Program takes in either form."""

    program: Program

    @cached_property
    def operations(self) -> int:
        return work(self.program)

    @cached_property
    def entries(self) -> int:
        return sum(array.size for array in (*self.program.inputs, *self.program.arrays))

    @cached_property
    def thread(self) -> float:
        """Instructions of a thread a state, to a third: operations, staged entries, reciprocals, sines."""
        counts = count(self.program)
        return 800 + self.operations + 5 * self.entries + 85 * counts.div + 30 * counts.sincos

    @cached_property
    def _words(self) -> tuple[int, int]:
        """How many words, and how many of them one after the other."""
        found = words(self.program)
        depth: dict[int, int] = {}
        for word in found:
            level = 1 + max((depth.get(value, 0) for value in word.reads()), default=0)
            depth.update(dict.fromkeys(word.defines, level))
        return len(found), max(depth.values(), default=0)

    def steps(self, lanes: int) -> float:
        """Of a group: bound by its longest way, or by its lanes."""
        number, depth = self._words
        return max(LATENCY * depth, number / lanes) + 8


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: cycles of a warp alone, instructions of a warp, states of a warp."""

    alone: float
    instructions: float
    states: int

    def us(self, n: int, multiprocessors: int) -> float:
        warps = -(-n // self.states)
        return (
            LAUNCH_US + max(self.alone, -(-warps // (SCHEDULERS * multiprocessors)) * self.instructions) / CYCLES_A_US
        )


class Choice:
    """The form of each batch of one function. size: of the Program of any function."""

    def __init__(self, function: str, size: Callable[[str], Size], named: Wish) -> None:
        self.function, self.size, self.named = function, size, named

    def forms(self) -> list[Form]:
        """Those that the user's words admit; a thread a state where a group of lanes lacks an operation."""
        lanes = [self.named.lanes] if self.named.lanes else list(WIDTHS) if self.named.group else [1, *WIDTHS]
        if not self.named.lanes and not self.named.group and lacks(self.size(self.function).program, OPERATIONS):
            lanes = [1]
        return [Form(number, self.named.partition or self._usual(number)) for number in lanes]

    def _usual(self, lanes: int) -> str:
        return usual(self.function, self.size(self.function).operations, TARGET) if lanes == 1 else WHOLE

    def ranked(self, n: int, multiprocessors: int) -> list[Form]:
        """The fastest for n states first; of equals fewer lanes, which leave more of the GPU to others."""
        found = self.forms()
        if len(found) == 1:
            return found
        return sorted(found, key=lambda form: (self.us(form, n, multiprocessors), form.lanes))

    def us(self, form: Form, n: int, multiprocessors: int) -> float:
        """Estimated microseconds, with the launches."""
        return sum(launch.us(n, multiprocessors) for launch in self._launches(form))

    def _launches(self, form: Form) -> Iterable[Launch]:
        before = ("minv", "fd") if self.function == "dfd" else ()
        whole = {WHOLE: (self.function,), FUSED: (*before, "difd"), SPLIT: (*before, "did")}[form.partition]
        for name in whole:
            yield _launch(self.size(name), form.lanes)
        if form.partition == SPLIT:
            nv = self.size("did").program.arrays[0].shape[0]
            yield Launch(5 * nv * nv * ALONE, 5 * nv * nv, 1)


def _launch(size: Size, lanes: int) -> Launch:
    if lanes == 1:
        return Launch(ALONE * size.thread, size.thread, WARP)
    steps, around = size.steps(lanes), 400 + 12 * size.entries / lanes
    return Launch(STEP_CYCLES * steps + ALONE * around, STEP_INSTRUCTIONS * steps + around, WARP // lanes)
