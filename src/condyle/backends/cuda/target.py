"""Parameters of the GPUs and of the code generator, and the form of a function: lanes for each state, partitioning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from condyle.backends.cuda.group.schedule import LATENCY, words
from condyle.errors import UnsupportedError
from condyle.ir.count import count, work
from condyle.ir.program import Program
from condyle.specification import Call, Composition, Function, MinusProduct

WARP = 32
ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
"""Architectures whose registers and spills are tested; the PTX runs on all from sm_80 on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Parameters; the same PTX is for all GPUs.

    ptx, oldest: version of PTX, and the oldest architecture.
    values32, values64: most numbers in registers of a thread; more are spilled to local memory. spare64: the same of
    float64 where the assembler spills too. barrier: steps between two barriers in such code of `many` operations or
    more.
    trust: factor on these for a first candidate, because the assembler often finds an order that needs fewer registers.
    dirty: factor on the distance to the next use of a value that would have to be spilled, when a register is chosen to
    be freed. eager: inputs with at most this number of entries are read as a whole at the start.
    widths: entries of a row that are staged together, the widest first. whole_rows: whether short rows are staged as a
    whole, which needs dense rows in device memory.
    shared: bytes of shared memory that every GPU has. pool: bytes for each warp above which a narrower width is tried.
    orders: tried in addition to the trace; few: the only ones for Programs of `many` operations or more.
    longest: derivatives of forward dynamics with more operations are split into several kernels.
    longest_given: the same where M^-1 is an input, whose entries would stay in shared memory, and in exported headers.
    most_threads: threads of one block.
    """

    ptx: str = "7.0"
    oldest: str = "sm_80"
    values32: int = 245
    values64: int = 110
    spare64: int = 86
    barrier: int = 256
    trust: float = 1.7
    dirty: float = 0.7
    eager: int = 64
    widths: tuple[int, ...] = (32, 16, 8, 4)
    whole_rows: bool = True
    shared: int = 99 * 1024
    pool: int = 24_000
    orders: tuple[str, ...] = ("rows", "columns", "leaves")
    few: tuple[str, ...] = ("leaves",)
    many: int = 8_000
    longest: int = 25_000
    longest_given: int = 6_000
    most_threads: int = 128

    def values(self, bits: int) -> int:
        """The most numbers in registers of a thread."""
        return self.values32 if bits == 32 else self.values64


TARGET = Target()


# The form that a batch runs in, chosen by an estimate of its time from counts that need no GPU.
#
# UNMEASURED: no time of these kernels has been taken on a GPU. The counts are exact or nearly so; the cycles are
# assumed, and every assumption is in this file. A form that the user names is always taken.


SCHEDULERS = 4
"""Warp schedulers of a multiprocessor: the number of warps that issue an instruction in each cycle."""

CYCLES_A_US = 1700.0
LAUNCH_US = 2.5
"""Clock and launch time of an H100 or H200, approximately."""

ALONE = 2.0
"""Cycles for an instruction of straight-line code if a warp has a scheduler alone, with stalls by dependences and
instruction fetches."""

STEP_CYCLES, STEP_INSTRUCTIONS = 48.0, 34.0
"""One step of a group: cycles from a store in shared memory to the loads after it; instructions counted for sm_90."""

KNOWN_MULTIPROCESSORS = 132
"""Multiprocessors of an H100 or H200, for estimates without a GPU."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: cycles of a warp alone, instructions of a warp, states of a warp."""

    alone: float
    instructions: float
    states: int

    def us(self, n: int, multiprocessors: int) -> float:
        """Estimated microseconds for n states, with the launch."""
        rounds = -(-n // (self.states * SCHEDULERS * multiprocessors))
        return LAUNCH_US + max(self.alone, rounds * self.instructions) / CYCLES_A_US


@dataclass(frozen=True)
class Size:
    """The counts of a Program in each form."""

    program: Program

    @cached_property
    def operations(self) -> int:
        return work(self.program)

    @cached_property
    def entries(self) -> int:
        return sum(array.size for array in (*self.program.inputs, *self.program.arrays))

    @cached_property
    def thread(self) -> float:
        """Instructions of a thread, within a tenth: operations, staged entries, more for reciprocals and sines."""
        counts = count(self.program)
        return 80 + self.operations + 4.3 * self.entries + 2 * counts.div + 30 * counts.sincos

    @cached_property
    def _words(self) -> tuple[int, int]:
        """The number of words, and the length of the longest chain of dependent ones."""
        found = words(self.program)
        depth: dict[int, int] = {}
        for word in found:
            level = 1 + max((depth.get(value, 0) for value in word.reads()), default=0)
            depth.update(dict.fromkeys(word.defines, level))
        return len(found), max(depth.values(), default=0)

    def steps(self, lanes: int) -> float:
        """Steps of a group, limited by its critical path or by its number of lanes."""
        number, depth = self._words
        return max(LATENCY * depth, number / lanes) + 8

    def launch(self, lanes: int) -> Launch:
        """The kernel with this number of lanes for each state."""
        if lanes == 1:
            return Launch(ALONE * self.thread, self.thread, WARP)
        steps, around = self.steps(lanes), 400 + 12 * self.entries / lanes
        return Launch(STEP_CYCLES * steps + ALONE * around, STEP_INSTRUCTIONS * steps + around, WARP // lanes)


def product_launch(nv: int, matrices: int) -> Launch:
    """The kernel of `launches.Product`."""
    instructions = 150 + 1.2 * matrices * nv * nv
    return Launch(instructions * ALONE, instructions, 1)


# The form of a function on a GPU: the number of lanes for each state, and the partitioning into kernels.


LANES = (2, 4, 8, 16, 32)
WEIGHED = (8, 16, 32)
"""Numbers of lanes whose times are estimated; smaller ones are used only if they are named."""

SPLIT, FUSED, WHOLE = "split", "fused", "completely-fused"

Partitions: TypeAlias = Mapping[str, Composition]
"""{partitioning: steps}, with the words of Plancher 2021, section V-C. A step is a launch.

split: the composition without calls of compositions. fused: the composition as it is written, where that differs.
completely-fused: one call of the function itself, the only one for a function without a composition.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """lanes: lanes for each state; 1 is a thread for each state."""

    lanes: int = 1
    partition: str = WHOLE

    def __str__(self) -> str:
        lanes = "thread" if self.lanes == 1 else f"group{self.lanes}"
        return lanes if self.partition == WHOLE else f"{lanes} {self.partition}"


LINK_PARALLEL = Form(0)
"""Lanes are links, or segments of a chain of links: see the folder `links`."""


class Request(NamedTuple):
    """A requested form: the numbers of lanes to choose from, and the partitioning or ""."""

    lanes: tuple[int, ...] = (1, *WEIGHED)
    partition: str = ""


def partitions(function: Function, expanded: Composition) -> Partitions:
    """expanded: the composition without calls of compositions.

    A product overwrites its right operand, so that must be used by one product only, and must not be an output.
    """
    whole = {WHOLE: (Call(function, tuple(port.name for port in function.named_outputs)),)}
    rights = [step.right for step in expanded if isinstance(step, MinusProduct)]
    called = {name for step in expanded if isinstance(step, Call) for name in step.gives}
    own = called - {port.name for port in function.outputs}
    if not expanded or len(set(rights)) < len(rights) or not set(rights) <= own:
        return whole
    fused = {} if function.composition == expanded else {FUSED: function.composition}
    return {SPLIT: expanded, **fused, **whole}


def stages(steps: Composition) -> list[Call | list[MinusProduct]]:
    """The launches: consecutive products with the same left operand are one launch."""
    found: list[Call | list[MinusProduct]] = []
    for step in steps:
        last = found[-1] if found else None
        if isinstance(step, Call):
            found.append(step)
        elif isinstance(last, list) and last[0].left == step.left:
            last.append(step)
        else:
            found.append([step])
    return found


def requested(function: Function, words: str, partitions: Partitions) -> Request:
    """The request of words such as "thread", "group", "group16", "split" and "group32 fused"; "" and "auto" request
    nothing."""
    ways = {"group": WEIGHED, "thread": (1,), **{f"group{number}": (number,) for number in LANES}}
    named = tuple(partitions) if len(partitions) > 1 else ()
    made = Request()
    for word in words.split():
        if word in ways and made.lanes == Request().lanes:
            made = made._replace(lanes=ways[word])
        elif word in named and not made.partition:
            made = made._replace(partition=word)
        elif word != "auto":
            raise UnsupportedError(
                f"kernels: {word!r} does not say how {function.name!r} runs on a GPU; it can be one of "
                + ", ".join(["auto", *ways, *named])
                + (", or one way to deal out lanes and one partitioning, as 'group32 split'" if named else "")
            )
    return made
