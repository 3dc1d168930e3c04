"""Parameters of the C target: sizes, compiler flags, ABI number."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.backends.common.chunks import CUT, Cut


@dataclass(frozen=True, slots=True)
class Target:
    """Parameters of the generated text and its build.

    abi: raised when the meaning of an exported symbol changes. cut: the length of a chunk function.
    stack: bytes of workspace that a plain call may have on the stack; the smallest default stack of a thread is 128 KiB
    (musl). part: operations of one translation unit if a function is compiled in parallel.
    flags: for every compiler; `-ffp-contract=fast` fuses a * b + c, no other rule of arithmetic is relaxed.
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
