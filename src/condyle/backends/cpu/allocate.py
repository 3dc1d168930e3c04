"""A linear order on registers: what is ready goes first, what leaves is what is used again farthest away (Belady 1966).

Schedules keep the processor's queues from filling with what waits. The work is done by _allocate.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from condyle.backends.cpu import _allocate
from condyle.backends.cpu.code import Instruction
from condyle.backends.cpu.cost import cost
from condyle.backends.cpu.operations import ROWS
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.ops import Node
from condyle.ir.program import Program

LATENCY = {op: row.latency for op, row in ROWS.items() if row.latency != 4}
"""Cycles until the result is there; 4 for all others."""


def schedule(nodes: Sequence[Node], order: Sequence[int], window: int, issue: float) -> list[int]:
    """The operations of `order`, each at most `window` places earlier, operands before what uses them.

    issue: operations a cycle. _allocate_schedule.h does it, tests/backends/cpu/plain_schedule.py says it in Python.
    """
    return _allocate.schedule(tuple(nodes), list(order), window, issue, LATENCY)


@dataclass
class Constants:
    """The table of constants, each once, in order of first use."""

    values: list[float] = field(default_factory=list[float])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, value: float) -> int:
        """Where this constant stands."""
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
    """Instructions that compute `order`, and how many slots the workspace has then.

    _allocate.c does it; tests/backends/cpu/plain_allocate.py says the same in Python.

    homes: the slot of each value that comes from elsewhere, and of each value of `order` that is to be stored; of an
    input that is constant number k, constant(k) - SLOT.
    size: slots taken already; spills go behind them.
    """
    choices = isa.registers, size, target.far, target.dirty
    return _allocate.allocate(program.nodes, list(order), dict(homes), constants.number, Instruction, ROWS, *choices)


class Allocated(NamedTuple):
    """One order on registers: its name, the code, the constants then, and how many slots the workspace has."""

    order: str
    code: list[Instruction]
    constants: Constants
    size: int


def cheapest(tried: Iterable[Allocated], isa: Isa, bits: int, target: Target = TARGET) -> Allocated:
    """That which takes the least by the model of `cost.py`, the first of equals."""
    return min(tried, key=lambda made: cost(made.code, isa, bits, target))
