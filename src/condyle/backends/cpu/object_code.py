"""Assembled code as bytes, which can be kept in the cache: loading takes milliseconds, assembling up to seconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

FORMAT = "machine code 1"


@dataclass(frozen=True, slots=True)
class Single:
    """The parts of a runtime Single: machine code, constants, and the numbers that tiles/single.h describes."""

    text: bytes
    constants: bytes
    numbers: bytes


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """The parts of a runtime Plan and of its Single, the sizes of the arrays, and the number of operations."""

    isa: str
    bits: int
    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    operations: int
    text: bytes
    constants: bytes
    slots: bytes
    values: bytes
    numbers: bytes
    single: Single | None


def to_bytes(code: ObjectCode) -> bytes:
    """A line of JSON with sizes, then the parts one after the other."""
    parts = [code.text, code.constants, code.slots, code.values, code.numbers]
    if code.single is not None:
        parts += [code.single.text, code.single.constants, code.single.numbers]
    facts = [FORMAT, code.isa, code.bits, code.in_sizes, code.out_sizes, code.operations, [len(part) for part in parts]]
    return json.dumps(facts).encode() + b"\n" + b"".join(parts)


def from_bytes(data: bytes) -> ObjectCode:
    """The object code that `to_bytes` wrote. Raises ValueError for anything else."""
    line, _, rest = data.partition(b"\n")
    facts: object = json.loads(line)
    if not isinstance(facts, list) or len(cast("list[object]", facts)) != 7 or facts[0] != FORMAT:
        raise ValueError("not object code")
    _, isa, bits, in_sizes, out_sizes, operations, lengths = cast(
        "tuple[str, str, int, list[int], list[int], int, list[int]]", facts
    )
    if sum(lengths) != len(rest) or len(lengths) not in (5, 8):
        raise ValueError("object code that is cut short")
    parts: list[bytes] = []
    for length in lengths:
        parts.append(rest[:length])
        rest = rest[length:]
    text, constants, slots, values, numbers, *more = parts
    single = Single(*more) if more else None
    sizes = tuple(in_sizes), tuple(out_sizes)
    return ObjectCode(isa, bits, *sizes, operations, text, constants, slots, values, numbers, single)
