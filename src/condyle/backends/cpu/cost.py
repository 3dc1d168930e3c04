"""The cost model: cycles of code by its number of instructions, or by its bytes, plus cache misses of data.

Code larger than the level-1 instruction cache is fetched at a fixed number of bytes for each cycle, whatever its size.
Each line of the workspace that is not in the level-1 data cache takes about one cycle more. The numbers were measured:
docs/decisions/0025.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.cpu import _allocate
from condyle.backends.cpu.code import SLOT, Instruction
from condyle.backends.cpu.target import TARGET, Isa, Target


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
