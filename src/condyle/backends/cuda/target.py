"""Parameters of the GPUs and of the code generator."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
"""Architectures whose registers and spills are tested; the PTX runs on all from sm_80 on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Parameters; the same PTX is for all GPUs.

    ptx, oldest: version of PTX, and the oldest architecture.
    values32, values64: most numbers in registers of a thread; more are spilled to local memory.
    trust: factor on these for a first candidate, because the assembler often finds an order that needs fewer registers.
    dirty: factor on the distance to the next use of a value that would have to be spilled, when a register is chosen to
    be freed. eager: inputs with at most this number of entries are read as a whole at the start.
    widths: entries of a row that are staged together, the widest first.
    shared: bytes of shared memory that every GPU has. pool: bytes for each warp above which a narrower width is tried.
    orders: tried in addition to the trace; few: the only ones for Programs of `many` operations or more.
    longest: derivatives of forward dynamics with more operations are split into several kernels.
    most_threads: threads of one block.
    """

    ptx: str = "7.0"
    oldest: str = "sm_80"
    values32: int = 245
    values64: int = 110
    trust: float = 1.7
    dirty: float = 0.7
    eager: int = 64
    widths: tuple[int, ...] = (32, 16, 8, 4)
    shared: int = 99 * 1024
    pool: int = 24_000
    orders: tuple[str, ...] = ("rows", "columns", "leaves")
    few: tuple[str, ...] = ("leaves",)
    many: int = 8_000
    longest: int = 6_000
    most_threads: int = 128

    def values(self, bits: int) -> int:
        """The most numbers in registers of a thread."""
        return self.values32 if bits == 32 else self.values64


TARGET = Target()
