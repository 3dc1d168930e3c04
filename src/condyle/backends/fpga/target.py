"""What is true of the FPGA target: its words, what an operator costs, the device it is counted against."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.errors import UnsupportedError

A, B = 27, 18
"""The two signed factors of one DSP48E2."""


@dataclass(frozen=True, slots=True)
class Word:
    """How numbers are held: `data` bits a signal; a product's second factor is cut to `factor` bits; constants 18.

    frac: bits behind the point of every signal, or None for a scale of its own for each.
    """

    name: str
    data: int
    factor: int
    frac: int | None = None
    constant: int = B


WORDS = {
    word.name: word
    for word in (Word("27x18", 27, 18), Word("27", 27, 27), Word("32", 32, 32), Word("q16.16", 32, 32, 16, 32))
}
"""27x18: one DSP a product. 27: two where both factors are signals. 32: four. q16.16: the papers' format."""


@dataclass(frozen=True, slots=True)
class Device:
    """A part and what it holds."""

    name: str
    dsp: int
    lut: int


XCVU9P = Device("XCVU9P", 6840, 1_182_240)
ADD_CYCLES = 1
SINCOS_CYCLES, SINCOS_DSP = 5, 4
RECIPROCAL_CYCLES, RECIPROCAL_DSP = 8, 2
ADDER = 32
"""Bits of the operands of the widest sum between two registers."""


def word_of(name: str) -> Word:
    """The word of that name; UnsupportedError says which there are."""
    if name not in WORDS:
        raise UnsupportedError(f"word {name!r}: allowed is {', '.join(WORDS)}")
    return WORDS[name]


def product_dsp(a: int, b: int) -> int:
    """DSPs of a product of signed factors of a and b bits: each cut into pieces that fit."""
    wide, narrow = max(a, b), min(a, b)
    if wide <= A and narrow <= B:
        return 1
    return 2 if narrow <= A and (wide <= A or narrow <= B) else 4


def product_cycles(a: int, b: int) -> int:
    """Product, [sum of partial products,] shift and clamp."""
    return 3 if product_dsp(a, b) == 4 else 2
