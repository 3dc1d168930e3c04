"""What code takes, by a model of the processor: instructions, or the code and the lines of data that are brought near.

Code that outgrows the nearest cache comes at a fixed number of bytes a cycle, however far it goes; each line of the
workspace that is not near takes about a cycle more. docs/decisions/0025 has the measurements that the numbers are of.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.cpu import _allocate
from condyle.backends.cpu.code import SLOT, Instruction
from condyle.backends.cpu.target import TARGET, Isa, Target


def cost(code: Sequence[Instruction], isa: Isa, bits: int, target: Target = TARGET) -> float:
    """Cycles that one tile takes, when many follow one another."""
    reads, misses = traffic(code, isa.slot_bytes(bits), target)
    size = isa.plain * len(code) + isa.reach * reads
    near = (len(code) + target.read * reads) / target.issue
    return (near if size < target.near_bytes else size / target.fetch) + target.miss * misses


def is_near(code: Sequence[Instruction], isa: Isa, target: Target = TARGET) -> bool:
    """Whether the code stays in the nearest cache from one tile to the next."""
    return isa.plain * len(code) + isa.reach * sum(1 for i in code if not 0 <= i.b < SLOT) < target.near_bytes


def traffic(code: Sequence[Instruction], slot_bytes: int, target: Target = TARGET) -> tuple[int, int]:
    """Operands in memory, and lines of the workspace that a tile brings near when one like it went before.

    A set keeps the lines that were used last.
    """
    return _allocate.traffic(list(code), slot_bytes, target.sets, target.ways)
