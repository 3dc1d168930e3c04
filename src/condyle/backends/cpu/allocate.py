"""List scheduling of an order, and register allocation: the value with the farthest next use is spilled (Belady 1966).

A schedule keeps operations that wait for operands from filling the processor's queues. _allocate.c does the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from condyle.backends.cpu import _allocate
from condyle.backends.cpu.operations import ROWS, SLOT, Instruction
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.program import Program
from condyle.operations import Node

# The cost model: cycles of code by its number of instructions, or by its bytes, plus cache misses of data.
#
# Code larger than the level-1 instruction cache is fetched at a fixed number of bytes for each cycle, whatever its
# size. Each line of the workspace that is not in the level-1 data cache takes about one cycle more. The numbers were
# measured: decision 0025.


def cost(code: Sequence[Instruction], isa: Isa, bits: int, target: Target = TARGET) -> float:
    """Cycles for one tile, of many in sequence."""
    reads, misses = traffic(code, isa.slot_bytes(bits), target)
    size = isa.plain * len(code) + isa.reach * reads
    near = (len(code) + target.read * reads) / target.issue
    return (near if size < target.near_bytes else size / target.fetch) + target.miss * misses


def is_near(code: Sequence[Instruction], isa: Isa, target: Target = TARGET) -> bool:
    """Whether the code stays in the level-1 cache from one tile to the next."""
    return isa.plain * len(code) + isa.reach * sum(1 for i in code if not 0 <= i.b < SLOT) < target.near_bytes


def traffic(code: Sequence[Instruction], slot_bytes: int, target: Target = TARGET) -> tuple[int, int]:
    """(operands in memory, cache misses of a tile after another one), with least-recently-used replacement in each
    set."""
    return _allocate.traffic(list(code), slot_bytes, target.sets, target.ways)


LATENCY = {op: row.latency for op, row in ROWS.items() if row.latency != 4}
"""Cycles until the result is available; 4 for all others."""


def schedule(nodes: Sequence[Node], order: Sequence[int], window: int, issue: float) -> list[int]:
    """The operations of `order`, each at most `window` places earlier, operands before their uses.

    issue: operations for each cycle. In _allocate_schedule.h; the same in Python: tests/backends/cpu/plain_schedule.py.
    """
    return _allocate.schedule(tuple(nodes), list(order), window, issue, LATENCY)


@dataclass
class Constants:
    """The table of constants, each once, in order of first use."""

    values: list[float] = field(default_factory=list[float])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, value: float) -> int:
        """The number of this constant in the table."""
        key = value.hex()
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(value)
        return self.numbers[key]

    def copy(self) -> Constants:
        return Constants(list(self.values), dict(self.numbers))


def allocate(
    program: Program,
    order: Sequence[int],
    homes: Mapping[int, int],
    constants: Constants,
    isa: Isa,
    size: int,
    target: Target = TARGET,
) -> tuple[list[Instruction], int]:
    """Instructions that compute `order`, and the number of slots of the workspace with spills.

    In _allocate.c; the same in Python: tests/backends/cpu/plain_allocate.py.

    homes: the slot of each value that comes from elsewhere, and of each value of `order` that must be stored; for an
    input that is constant number k, constant(k) - SLOT.
    size: number of occupied slots; spills come after them.
    """
    choices = isa.registers, size, target.far, target.dirty
    return _allocate.allocate(program.nodes, list(order), dict(homes), constants.number, Instruction, ROWS, *choices)


class Allocated(NamedTuple):
    """An allocated order: its name, its code, the table of constants, and the number of slots of the workspace."""

    order: str
    code: list[Instruction]
    constants: Constants
    size: int


def cheapest(tried: Iterable[Allocated], isa: Isa, bits: int, target: Target = TARGET) -> Allocated:
    """The one with the least cost by the cost model, the first of several."""
    return min(tried, key=lambda made: cost(made.code, isa, bits, target))
