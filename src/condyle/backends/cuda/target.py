"""What is true of the GPUs that this target writes code for, and the choices that shape the code."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
"""Those whose registers and spills the tests look at; the text itself runs on each one from sm_80 on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Choices; the same PTX serves all GPUs.

    ptx, oldest: version of the instruction set and the oldest architecture it is written for.
    values32, values64: numbers that a thread keeps in registers at once; beyond that they are spilled to local memory.
    trust: how many times as many are first left to the assembler, which often finds an order that needs fewer.
    dirty: what the distance to the next use counts of a value that must be spilled before its register is given away.
    eager: entries up to which an input is read as a whole at the start.
    widths: entries of a row that are staged together, the widest first.
    shared: bytes of shared memory that every GPU has. pool: shared bytes a warp above which a narrower width is tried.
    orders: those tried beside the trace; few: the only ones for Programs of `many` operations or more.
    longest: operations above which derivatives of forward dynamics are split into several kernels.
    most_threads: of one block.
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
        """Numbers a thread keeps in registers."""
        return self.values32 if bits == 32 else self.values64


TARGET = Target()
