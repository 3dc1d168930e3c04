"""What is true of the C target: its sizes, its compiler flags, its promise to callers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from condyle.backends.common.chunks import CUT, Cut
from condyle.errors import UnsupportedError

NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_WORD = re.compile(r"[A-Za-z0-9.+:_-]{0,120}")


@dataclass(frozen=True, slots=True)
class Target:
    """Facts that shape the generated text and its build.

    abi: raised when the meaning of an exported symbol changes.
    cut: how long one chunk function is.
    part: operations in one translation unit when a function is compiled in parallel.
    flags: for every compiler; `-ffp-contract=fast` makes a * b + c one instruction, nothing else is relaxed.
    """

    abi: int = 1
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


@dataclass(frozen=True, slots=True)
class Facts:
    """What generated code says about its robot; `name` is the prefix of every exported symbol.

    Raises UnsupportedError for a name that is not `[a-z][a-z0-9_]{0,30}`, or for text that could leave a C string.
    """

    nq: int
    nv: int
    fingerprint: str = ""
    version: str = ""
    name: str = "robot"

    def __post_init__(self) -> None:
        checked_name(self.name)
        for text in (self.fingerprint, self.version):
            if _WORD.fullmatch(text) is None:
                raise UnsupportedError(f"{text!r} cannot stand in generated code")


def checked_name(name: str) -> str:
    """The name itself if generated code may carry it."""
    if NAME.fullmatch(name) is None:
        raise UnsupportedError(f"{name!r} cannot name generated code: allowed is [a-z][a-z0-9_]{{0,30}}")
    return name
