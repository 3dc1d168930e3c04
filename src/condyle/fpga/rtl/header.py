"""The header of a packet: 32 bits, a row for each field. All that writes or reads headers takes them from here."""

from __future__ import annotations

from typing import NamedTuple

HEAD, VERSION = 32, 2
"""Bits of a header; the version of the table below and of the registers."""


class Bits(NamedTuple):
    """Of a field the bits, what it is, whether a task has it, and whether its result has the same number.

    A number that is returned goes through the accelerator with its task.
    """

    high: int
    low: int
    about: str
    in_task: bool = False
    is_returned: bool = False

    @property
    def width(self) -> int:
        return self.high + 1 - self.low

    @property
    def verilog(self) -> str:
        """The bits of a word."""
        return f"[{self.high}:{self.low}]" if self.width > 1 else f"[{self.low}]"


HEADER = {
    "function": Bits(7, 0, "the code of the function", in_task=True),
    "flag": Bits(8, 8, "flag"),
    "error": Bits(9, 9, "error"),
    "malformed": Bits(10, 10, "malformed"),
    "tag": Bits(31, 16, "the tag", in_task=True, is_returned=True),
}
"""Other bits: 0 of a result, ignored in a task."""

TAG_BITS = HEADER["tag"].width
RETURNED = sorted((name for name, bits in HEADER.items() if bits.is_returned), key=lambda name: -HEADER[name].low)
"""Fields that are returned: the accelerator's tag, the first one lowest."""
RETURNED_BITS = sum(HEADER[name].width for name in RETURNED)


def returned_of(number: str) -> dict[str, str]:
    """The fields in a Verilog word of RETURNED_BITS."""
    parts, low = dict[str, str](), 0
    for name in RETURNED:
        bits = Bits(low + HEADER[name].width - 1, low, "")
        parts[name] = number if len(RETURNED) == 1 else f"{number}{bits.verilog}"
        low = bits.high + 1
    return parts


def filled_header(**fields: str) -> str:
    """A header as a concatenation in Verilog; bits without a field are 0."""
    parts, low = list[str](), 0
    for name, bits in sorted(HEADER.items(), key=lambda row: row[1].low):
        if name in fields:
            parts += [f"{bits.low - low}'b0"] * (bits.low > low) + [fields[name]]
            low = bits.high + 1
    return f"{{{', '.join(reversed(parts))}}}"
