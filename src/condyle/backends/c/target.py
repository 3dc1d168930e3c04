"""What is true of the C target: its sizes, its compiler flags, its promise to callers."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.backends.common.chunks import CUT, Cut


@dataclass(frozen=True, slots=True)
class Target:
    """Facts that shape the generated text and its build.

    abi: raised when the meaning of an exported symbol changes.
    cut: how long one chunk function is.
    stack: bytes of workspace that a plain call may put there; the smallest default of a thread is 128 KiB (musl).
    part: operations in one translation unit when a function is compiled in parallel.
    flags: for every compiler; `-ffp-contract=fast` makes a * b + c one instruction, nothing else is relaxed.
    """

    abi: int = 2
    stack: int = 96 * 1024
    cut: Cut = CUT
    part: int = 1000
    flags: tuple[str, ...] = (
        "-O2",
        "-march=native",
        "-fPIC",
        "-ffp-contract=fast",
        "-fno-math-errno",
        "-fno-trapping-math",
    )
    timeout: float = 600.0


TARGET = Target()
