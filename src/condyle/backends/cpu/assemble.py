"""A Program to machine code and the data it needs, the best of several orders by a model of its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from condyle.backends.common.chunks import Chunk, Cut, Lowered, angle_slots, lower
from condyle.backends.common.order import orders
from condyle.backends.cpu.allocate import Constants, allocate
from condyle.backends.cpu.code import Instruction
from condyle.backends.cpu.cost import cost, is_near
from condyle.backends.cpu.encode import encode, padded
from condyle.backends.cpu.schedule import schedule
from condyle.backends.cpu.sincos import expand, inline_angles
from condyle.backends.cpu.single import Single, single
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.errors import UnsupportedError
from condyle.ir.program import Program
from condyle.ir.sweep import Code
from condyle.runtime.layout import Layouts, full

WHOLE = Cut(shortest=1 << 40, longest=1 << 40)
"""No chunks: what stands between two loops of sines is one kernel."""
SINES, REACH, LOOPS = -1, -2, -3
"""Steps of a plan that are no kernels: sines and cosines by the driver; angles brought within reach; loops."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Allocated code of everything between two loops of sines, and its bytes."""

    order: str
    code: tuple[Instruction, ...]
    text: bytes


@dataclass(frozen=True, slots=True)
class Assembled:
    """Everything a runtime Plan is made of; slots and numbers as tiles/plan.h says, constants as kernels read them.

    single: the scalar form, for one state. side: how many tiles run side by side.
    """

    kernels: tuple[Kernel, ...]
    constants: bytes
    slots: tuple[int, ...]
    values: tuple[float, ...]
    numbers: tuple[int, ...]
    single: Single | None
    side: int = 1

    @property
    def text(self) -> bytes:
        """All machine code."""
        return b"".join(padded(kernel.text) for kernel in self.kernels)


def assemble(
    program: Program, isa: Isa, bits: int, target: Target = TARGET, layouts: Layouts | None = None
) -> Assembled:
    """The machine code of a straight-line Program. Raises UnsupportedError for a constant without a finite value.

    layouts: of the arrays when they are packed; without them every entry is a column.
    """
    work = straight(program, isa, bits, target)
    low, slots = work.low, work.slots
    ports = port_numbers(low.bases, low.tables, low.zero, layouts or full_layouts(program, isa.lanes(bits)), slots)
    code = [kernel.code for kernel in work.kernels]
    one = single(low, work.angles, code, work.constants.values, work.size, isa, bits)
    return work.assembled(ports, work.size, (), isa, bits, one)


@dataclass(frozen=True, slots=True)
class Straight:
    """Kernels of a Program, and the numbers of its steps so far; angles: the slots of those within kernels."""

    low: Lowered
    angles: list[int]
    kernels: tuple[Kernel, ...]
    constants: Constants
    slots: list[int]
    steps: list[int]
    size: int

    def assembled(
        self,
        ports: Sequence[int],
        size: int,
        loops: Sequence[int],
        isa: Isa,
        bits: int,
        one: Single | None,
        cleared: Sequence[int] = (),
    ) -> Assembled:
        """Everything, `loops` behind the kernels, in a workspace of so many slots; cleared: those that stay zero."""
        low = self.low
        places = [low.zero, *cleared, *(place for place, _ in low.constants)]
        values = (*[0.0] * (1 + len(cleared)), *(value for _, value in low.constants))
        steps = [*self.steps, *((LOOPS, 0, 0) if loops else ())]
        head = (size, len(low.bases), len(ports) // 4 - len(low.bases), len(steps) // 3, len(places), len(loops))
        repeat = 1 if isa.broadcast else isa.lanes(bits)
        table = packed([value for value in self.constants.values for _ in range(repeat)], bits)
        numbers = (*head, *ports, *steps, *places, *loops)
        return Assembled(self.kernels, table, tuple(self.slots), values, numbers, one)


def straight(program: Program, isa: Isa, bits: int, target: Target) -> Straight:
    """All kernels of a Program."""
    inline = inline_angles(program)
    low = lower(program, WHOLE, inline)
    constants = Constants()
    kernels: list[Kernel] = []
    slots: list[int] = []
    steps: list[int] = []
    size, offset = low.size, 0
    angles = [low.slots[angle] for angle in sorted(inline) if angle in low.slots]
    if angles:
        steps += (REACH, 0, len(angles))
        slots += angles
    for step in low.steps:
        if isinstance(step, Chunk):
            kernel, constants, top = _kernel(low, step, constants, isa, bits, target)
            size = max(size, top)
            kernels.append(kernel)
            steps += (offset, 0, 0)
            offset += len(padded(kernel.text))
        else:
            steps += (SINES, len(slots), len(step.angles))
            slots += [slot for angle in step.angles for slot in angle_slots(low, angle)]
    return Straight(low, angles, tuple(kernels), constants, slots, steps, size)


def full_layouts(program: Code, lanes: int) -> Layouts:
    """Every entry of every array is kept."""
    return tuple(full(a.shape, lanes) for a in program.inputs), tuple(full(a.shape, lanes) for a in program.arrays)


def port_numbers(
    bases: Sequence[int], tables: Sequence[Sequence[int]], zero: int, layouts: Layouts, slots: list[int]
) -> list[int]:
    """The numbers of all inputs, by their first slots, and outputs, by the slots of their entries.

    Their tables are added to `slots`; zero: a slot that stays zero.
    """
    numbers: list[int] = []
    for base, layout in zip(bases, layouts[0], strict=True):
        plain = layout.columns == layout.size
        numbers += (base, layout.size, layout.columns, -1 if plain else len(slots))
        slots += () if plain else layout.places
    for table, layout in zip(tables, layouts[1], strict=True):
        assert set(np.array(table)[np.array(layout.places) == layout.columns]) <= {zero}
        start = len(slots)
        slots += (*table, *(zero,) * (-len(table) % 16))
        numbers += (start, len(table), len(slots), layout.columns)
        slots += [table[entry] for entry in layout.entries]
    return numbers


def packed(values: Sequence[float], bits: int) -> bytes:
    """Numbers as the machine stores them."""
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float64 if bits == 64 else np.float32)
    if not np.isfinite(array).all():
        raise UnsupportedError("a constant is not finite in this precision and cannot stand in generated code")
    return array.tobytes()


def _kernel(
    low: Lowered, chunk: Chunk, known: Constants, isa: Isa, bits: int, target: Target
) -> tuple[Kernel, Constants, int]:
    """The cheapest order of one chunk, the constants then, and the top of the workspace."""
    best: tuple[float, str, list[Instruction], Constants, int] | None = None
    for name, order in _orders(low, chunk, target):
        code, constants, size = _allocated(low, order, known, isa, bits, target)
        taken = cost(code, isa, bits, target)
        if best is None or taken < best[0]:
            best = taken, name, code, constants, size
    assert best is not None
    _, name, code, constants, size = best
    return Kernel(name, tuple(code), encode(code, isa, bits)), constants, size


def _allocated(
    low: Lowered, order: list[int], known: Constants, isa: Isa, bits: int, target: Target
) -> tuple[list[Instruction], Constants, int]:
    """One order on registers: scheduled, if the code is short and stays near then too."""
    program, order = expand(low.program, order, bits)

    def allocated(order: list[int]) -> tuple[list[Instruction], Constants, int]:
        constants = replace(known, values=list(known.values), numbers=dict(known.numbers))
        code, size = allocate(program, order, low.slots, constants, isa, low.size, target)
        return code, constants, size

    if len(order) < target.small:
        ahead = target.ahead // len(order) + 1
        made = allocated(schedule(program.nodes, order, ahead, target.issue))
        if is_near(made[0], isa, target):
            return made
    return allocated(order)


def _orders(low: Lowered, chunk: Chunk, target: Target) -> list[tuple[str, list[int]]]:
    """Those that are worth trying; the trace of a long Program is not."""
    roots = [node for node in chunk.nodes if node in low.slots]
    count = len(chunk.nodes)
    names = target.orders if count < target.small else target.long if count < target.many else target.huge
    trace, *others = orders(low.program, chunk.nodes, roots, names)
    return others if others and count >= target.small else [trace, *others]
