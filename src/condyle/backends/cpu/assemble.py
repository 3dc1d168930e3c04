"""A Program -> machine code and its data, in the order of several that costs least by the cost model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from condyle.backends.common.chunks import Chunk, Cut, Lowered, Room, angle_slots, lower, orders
from condyle.backends.common.facts import packed
from condyle.backends.cpu.allocate import Allocated, Constants, allocate, cheapest, is_near, schedule
from condyle.backends.cpu.encode import encode, padded
from condyle.backends.cpu.operations import Instruction, expand_sines, expanded, inline_angles
from condyle.backends.cpu.single import Single, single
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.loops import Code
from condyle.ir.program import Program
from condyle.runtime.packed import Layouts, full

WHOLE = Cut(shortest=1 << 40, longest=1 << 40)
"""No chunks: all operations between two loops of sines are one kernel."""
SINES, REACH, LOOPS, AGAIN = -1, -2, -3, -4
"""Steps of a plan that are no kernels: sines and cosines by the driver; reduction of large angles; loops; back to an
earlier step."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The allocated code of all operations between two loops of sines, and its bytes."""

    order: str
    code: tuple[Instruction, ...]
    text: bytes


@dataclass(frozen=True, slots=True)
class Assembled:
    """The parts of a runtime Plan; slots and numbers as in tiles/plan.h, constants as kernels read them.

    single: the scalar form, for one state.
    """

    kernels: tuple[Kernel, ...]
    constants: bytes
    slots: tuple[int, ...]
    values: tuple[float, ...]
    numbers: tuple[int, ...]
    single: Single | None

    @property
    def text(self) -> bytes:
        """All machine code."""
        return b"".join(padded(kernel.text) for kernel in self.kernels)


def assemble(
    program: Program, isa: Isa, bits: int, target: Target = TARGET, layouts: Layouts | None = None
) -> Assembled:
    """The machine code of a straight-line Program. Raises UnsupportedError for a constant that is not finite.

    layouts: of packed arrays; by default every entry is a column.
    """
    work, program = Straight(isa, bits, target), expanded(program, bits, isa)
    low = work.add(program, inline_angles(program))
    ports = port_numbers(low.bases, low.tables, low.zero, layouts or full_layouts(program, isa.lanes(bits)), work.slots)
    code = [kernel.code for kernel in work.kernels]
    one = single(low, work.angles, code, work.constants.values, work.size, isa, bits)
    return work.assembled(low.zero, len(low.bases), ports, work.size, single=one)


@dataclass
class Straight:
    """Kernels of Programs that run in order, and the numbers of all steps so far.

    values: (slot, number) pairs, set once for each call. angles: slots of angles whose sines kernels compute. size:
    number of slots that the last Program needs.
    """

    isa: Isa
    bits: int
    target: Target
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    constants: Constants = field(default_factory=Constants)
    slots: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    values: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    angles: list[int] = field(default_factory=list[int])
    offset: int = 0
    size: int = 0

    def add(self, program: Program, inline: Collection[int], room: Room | None = None) -> Lowered:
        """Adds a Program. inline: angles whose sines its kernels compute."""
        low = lower(program, WHOLE, inline, room)
        self.size = low.size
        self.values += low.constants
        angles = [low.slots[angle] for angle in sorted(inline) if angle in low.slots]
        if angles:
            self.steps += (REACH, len(self.slots), len(angles))
            self.slots += angles
            self.angles += angles
        for step in low.steps:
            if isinstance(step, Chunk):
                self._kernel(low, step)
            else:
                self.steps += (SINES, len(self.slots), len(step.angles))
                self.slots += [slot for angle in step.angles for slot in angle_slots(low, angle)]
        return low

    def _kernel(self, low: Lowered, chunk: Chunk) -> None:
        kernel, self.constants, top = _kernel(low, chunk, self.constants, self.isa, self.bits, self.target)
        self.size = max(self.size, top)
        self.kernels.append(kernel)
        self.steps += (self.offset, 0, 0)
        self.offset += len(padded(kernel.text))

    def assembled(
        self,
        zero: int,
        inputs: int,
        ports: Sequence[int],
        size: int,
        loops: Sequence[int] = (),
        table: Sequence[float] = (),
        single: Single | None = None,
    ) -> Assembled:
        """The parts of a plan with a workspace of `size` slots.

        zero: a slot that is always zero. inputs: number of ports that are inputs. loops: words of all steps LOOPS.
        table: numbers after the constants of kernels.
        """
        values = [(zero, 0.0), *self.values]
        head = (size, inputs, len(ports) // 4 - inputs, len(self.steps) // 3, len(values), len(loops))
        numbers = (*head, *ports, *self.steps, *(slot for slot, _ in values), *loops)
        constants = packed_constants(self.constants.values, self.isa, self.bits) + packed(table, self.bits)
        once = tuple(value for _, value in values)
        return Assembled(tuple(self.kernels), constants, tuple(self.slots), once, numbers, single)


def full_layouts(program: Code, lanes: int) -> Layouts:
    """Every entry of every array is kept."""
    return tuple(full(a.shape, lanes) for a in program.inputs), tuple(full(a.shape, lanes) for a in program.arrays)


def port_numbers(
    bases: Sequence[int], tables: Sequence[Sequence[int]], zero: int, layouts: Layouts, slots: list[int]
) -> list[int]:
    """The numbers of all inputs, given their first slots, and of outputs, given the slots of their entries.

    Their tables are added to `slots`. zero: a slot that is always zero, for entries that are not kept.
    """
    numbers: list[int] = []
    for base, layout in zip(bases, layouts[0], strict=True):
        plain = layout.columns == layout.size
        numbers += (base, layout.size, layout.columns, -1 if plain else len(slots))
        slots += () if plain else layout.offsets
    for slots_of, layout in zip(tables, layouts[1], strict=True):  # products of zeros may be -0.0
        table: list[int] = np.where(np.array(layout.offsets) == layout.columns, zero, slots_of).tolist()
        start = len(slots)
        slots += (*table, *(zero,) * (-len(table) % 16))
        numbers += (start, len(table), len(slots), layout.columns)
        slots += [table[entry] for entry in layout.entries]
    return numbers


def packed_constants(values: Sequence[float], isa: Isa, bits: int) -> bytes:
    """Numbers as kernels read them: once, or once for every lane."""
    repeat = 1 if isa.broadcast else isa.lanes(bits)
    return packed([value for value in values for _ in range(repeat)], bits)


def _kernel(
    low: Lowered, chunk: Chunk, constants_before: Constants, isa: Isa, bits: int, target: Target
) -> tuple[Kernel, Constants, int]:
    """The kernel of one chunk in its cheapest order, the constants, and the number of slots."""
    tried = (
        _allocated(low, name, order, constants_before, isa, bits, target) for name, order in _orders(low, chunk, target)
    )
    name, code, constants, size = cheapest(tried, isa, bits, target)
    return Kernel(name, tuple(code), encode(code, isa, bits)), constants, size


def _allocated(
    low: Lowered, name: str, order: list[int], constants_before: Constants, isa: Isa, bits: int, target: Target
) -> Allocated:
    """An allocated order, scheduled if the code is short and stays in the level-1 cache."""
    program, order = expand_sines(low.program, order, bits)

    def allocated(order: list[int]) -> Allocated:
        constants = constants_before.copy()
        code, size = allocate(program, order, low.slots, constants, isa, low.size, target)
        return Allocated(name, code, constants, size)

    if len(order) < target.small:
        ahead = target.ahead // len(order) + 1
        made = allocated(schedule(program.nodes, order, ahead, target.issue))
        if is_near(made.code, isa, target):
            return made
    return allocated(order)


def _orders(low: Lowered, chunk: Chunk, target: Target) -> list[tuple[str, list[int]]]:
    """The orders that are tried; for a long Program the trace is not."""
    roots = [node for node in chunk.nodes if node in low.slots]
    count = len(chunk.nodes)
    names = target.orders if count < target.small else target.long if count < target.many else target.huge
    trace, *others = orders(low.program, chunk.nodes, roots, names)
    return others if others and count >= target.small else [trace, *others]
