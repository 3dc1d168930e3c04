"""The error for operations that a target does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from condyle.errors import UnsupportedError
from condyle.ir.program import Program
from condyle.operations import LEAVES

EVERYTHING = ("numpy", "cpu", "c", "cuda")
"""Targets that have every operation of the table."""


def lacks(program: Program, has: Collection[str]) -> list[str]:
    """Operations of the Program that a target does not have."""
    return sorted({node[0] for node in program.nodes} - LEAVES - set(has))


def refused(target: str, lacking: Iterable[str], has: Iterable[str]) -> UnsupportedError:
    """The error for operations that a target lacks."""
    return UnsupportedError(
        f"{target} has no operation {', '.join(map(repr, lacking))}; it has {', '.join(sorted(has))}; "
        f"targets {', '.join(EVERYTHING)} have every one"
    )
