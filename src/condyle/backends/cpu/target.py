"""What is true of the processors that this target writes code for."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Isa:
    """One instruction set.

    name: as the runtime calls it. vector_bytes: of one register, and of one slot of the workspace.
    registers: how many of them. broadcast: whether an operand can be one number of memory, repeated in every lane.
    stretch: whether short displacements count whole operands (disp8*N) instead of bytes.
    plain: bytes of an instruction on registers. reach: bytes more where it reads memory.
    scalar: instructions on single numbers; a register's other lanes are nobody's, and a slot is one number.
    """

    name: str
    vector_bytes: int
    registers: int
    broadcast: bool
    stretch: bool
    plain: float
    reach: float
    scalar: bool = False

    def lanes(self, bits: int) -> int:
        """States in one register."""
        return 1 if self.scalar else self.vector_bytes * 8 // bits

    def slot_bytes(self, bits: int) -> int:
        """Bytes of one slot of the workspace."""
        return bits // 8 if self.scalar else self.vector_bytes


AVX512 = Isa("avx512", 64, 32, broadcast=True, stretch=True, plain=6, reach=1)
AVX2 = Isa("avx2", 32, 16, broadcast=False, stretch=False, plain=4.6, reach=2.5)
ISAS = {isa.name: isa for isa in (AVX512, AVX2)}
SINGLE = {isa.name: replace(isa, vector_bytes=16, scalar=True) for isa in ISAS.values()}
"""Of each instruction set the scalar form: it computes one state at a time."""


@dataclass(frozen=True, slots=True)
class Target:
    """Choices that shape the code.

    far: a value whose next use is this many operations away stays in memory, and the operation reads it there.
    dirty: what the distance to the next use counts of a value that must be stored before its register is given away.
    issue: instructions a cycle. read: what an operand in memory costs beside its instruction, as a part of one.
    near_bytes: code that stays in the nearest cache; fetch: bytes of longer code a cycle. sets, ways: of the nearest
    cache for data, whose lines hold 64 bytes; miss: cycles for a line that is not there.
    ahead: an operation of n may be scheduled ahead / n places earlier, if n < small and the code stays near; what
    bounds longer code is its length, and a schedule makes it longer.
    orders: those that are tried beside the trace if n < small; long: the only ones for more operations; huge: the only
    ones for `many` or more.
    """

    far: int = 6
    dirty: float = 0.7
    issue: float = 3.0
    read: float = 0.1
    near_bytes: int = 36_000
    fetch: float = 12.8
    sets: int = 64
    ways: int = 11
    miss: float = 0.9
    ahead: int = 200_000
    small: int = 4_500
    orders: tuple[str, ...] = ("rows", "leaves", "tips")
    long: tuple[str, ...] = ("rows", "leaves", "tips", "arrays")
    huge: tuple[str, ...] = ("tips", "arrays", "blocks")
    many: int = 16_000


TARGET = Target()
