"""Parameters of the instruction sets and of the code generator."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Isa:
    """One instruction set.

    name: the runtime's name of it. vector_bytes: bytes of a register, and of a slot of the workspace.
    registers: their number. broadcast: whether an operand can be one number in memory, repeated in every lane.
    stretch: whether short displacements count operands (disp8*N) instead of bytes.
    plain: mean bytes of an instruction on registers. reach: additional bytes of one that reads memory.
    scalar: instructions on single numbers; other lanes of a register are not used, and a slot is one number.
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
NEEDS = "needs an x86-64 processor with AVX2 and FMA"
"""What the least of them asks for."""
ISAS = {isa.name: isa for isa in (AVX512, AVX2)}
SINGLE = {isa.name: replace(isa, vector_bytes=16, scalar=True) for isa in ISAS.values()}
"""The scalar form of each instruction set, for one state at a time."""


def narrow(isa: Isa, bits: int, panel: int) -> Isa:
    """The set with registers of half their size, where the columns of a panel fill no more; see `least_lanes`."""
    return replace(isa, vector_bytes=32) if isa.broadcast and panel * bits == 32 * 8 else isa


@dataclass(frozen=True, slots=True)
class Target:
    """Parameters of the code generator and of the cost model.

    far: a value whose next use is at least this many operations away is not loaded; the operation reads memory.
    dirty: factor on the distance to the next use of a value that would have to be stored, when a register is chosen to
    be freed. issue: instructions for each cycle. read: cost of an operand in memory, in instructions.
    near_bytes: size of code that stays in the level-1 cache; fetch: bytes of longer code for each cycle. sets, ways: of
    the level-1 data cache, with lines of 64 bytes; miss: cycles of a cache miss.
    ahead: an operation of n may be scheduled up to ahead / n places earlier, if n < small and the code stays in the
    level-1 cache. Longer code is limited by its size, and a schedule makes it larger.
    orders: tried in addition to the trace if n < small; long: the only ones for more operations; huge: the only ones
    for `many` or more.
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
