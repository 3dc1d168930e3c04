"""Facts of the FPGA target: its words, the cost of each operator, the devices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.ir.interp import values
from condyle.ir.program import Program
from condyle.text import printable

A, B = 27, 18
"""The two signed factors of one DSP48E2."""


@dataclass(frozen=True, slots=True)
class Word:
    """The bits of numbers: a signal has `data` bits, and the second factor of a product is cut to `factor` bits.

    frac: bits behind the binary point of every signal; None: each signal has its own scale. constant: bits of a
    constant, which always has its own scale.
    """

    name: str
    data: int
    factor: int
    frac: int | None = None
    constant: int = B


NARROWEST, WIDEST = 8, 32
"""Least and most bits of a word. Narrower ones are too inaccurate; wider ones need sums of more than `ADDER` bits."""
SCALED, FIXED = re.compile(r"([0-9]{1,2})(?:x([0-9]{1,2}))?"), re.compile(r"q([0-9]{1,2})\.([0-9]{1,2})")
WORDS = (
    "27x18 (signals of 27 bits, each with its own scale; the second factor of a product is cut to 18, at least half of "
    "them), 32 (not cut) or q16.16 (16 bits before the binary point, with the sign, and 16 behind it); a signal has "
    f"{NARROWEST} to {WIDEST} bits"
)
"""The allowed words, for error messages."""


@dataclass(frozen=True, slots=True)
class Device:
    """A part and its resources. factors: bits of the two signed factors of one of its multipliers. word: the default
    word, which takes one multiplier a product where there is such a word.

    family: as yosys names it. order: the part as its tools name it. board: a board that has it. Xilinx parts keep delay
    lines in look-up tables. An ECP5 keeps each bit in a flip-flop, and has as many flip-flops as look-up tables.
    """

    name: str
    dsp: int
    lut: int
    order: str
    board: str
    family: str = "xcup"
    factors: tuple[int, int] = (A, B)
    word: str = "27x18"

    @property
    def multiplier(self) -> str:
        """The name of one of its DSPs."""
        return MULTIPLIERS[self.family]

    @property
    def budget(self) -> int:
        """The default budget of DSPs: 62 %."""
        return self.dsp * 62 // 100

    def product(self, a: int, b: int) -> int:
        """Multipliers of one `fx_product` of a and b bits."""
        pairs = ((a, b), (b, a))
        return min(-(-x // wide) * -(-y // narrow) for x, y in pairs for wide, narrow in [self.factors])


MULTIPLIERS = {"xcup": "DSP48E2", "xc7": "DSP48E1", "ecp5": "MULT18X18D"}
PARTS = {
    "xcvu9p": Device("XCVU9P", 6840, 1_182_240, "xcvu9p-flga2104-2L-e", "VCU118"),
    "xcu250": Device("XCU250", 12_288, 1_728_000, "xcu250-figd2104-2L-e", "Alveo U250"),
    "xck26": Device("XCK26", 1248, 117_120, "xck26-sfvc784-2LV-c", "KV260"),
    "xc7a100t": Device("XC7A100T", 240, 63_400, "xc7a100tcsg324-1", "Arty A7-100T", "xc7", (25, 18), "25x18"),
    "xc7z020": Device("XC7Z020", 220, 53_200, "xc7z020clg400-1", "PYNQ-Z2", "xc7", (25, 18), "25x18"),
    "ecp5-85k": Device("LFE5U-85F", 156, 83_640, "LFE5U-85F-6BG381C", "ULX3S-85F", "ecp5", (18, 18)),
    "ecp5-45k": Device("LFE5U-45F", 72, 43_848, "LFE5U-45F-6BG381C", "ULX3S-45F", "ecp5", (18, 18)),
    "ecp5-25k": Device("LFE5U-25F", 28, 24_288, "LFE5U-25F-6BG381C", "ULX3S-25F", "ecp5", (18, 18)),
}
"""The parts by the name of `--part`; the first is the default. 7 series: DSPs and tables of DS180 and DS190."""
XCVU9P = PARTS["xcvu9p"]
SINCOS_CYCLES, SINCOS_PRODUCTS = 5, ((27, 18), (27, 18), (15, 18), (15, 18))
RECIPROCAL_CYCLES, RECIPROCAL_PRODUCTS = 8, ((27, 18), (27, 18))
ADDER = 32
"""Bits of the operands of the widest sum between two registers."""


def word_of(name: str) -> Word:
    """The word of that name: 27x18, 27, 32, q16.16 and their like; UnsupportedError says what is allowed.

    27x18: one DSP a product. 27: two where both factors are signals. 32: four. q16.16: the papers' format.
    """
    scaled, fixed = SCALED.fullmatch(name), FIXED.fullmatch(name)
    if fixed:
        whole, frac = map(int, fixed.groups())
        data = factor = whole + frac
        word = Word(name, data, factor, frac, data) if whole else None
    elif scaled:
        data, factor = int(scaled[1]), int(scaled[2] or scaled[1])
        word = Word(name, data, factor)
    else:
        word, data, factor = None, 0, 0
    if word is None or not NARROWEST <= data <= WIDEST or not data <= 2 * factor <= 2 * data:
        raise UnsupportedError(f"word {printable(name)!r}: allowed are words such as {WORDS}")
    return word


def part_of(name: str) -> Device:
    """The part of that name; UnsupportedError names all parts."""
    if name not in PARTS:
        raise UnsupportedError(f"part {name!r}: allowed is {', '.join(PARTS)}")
    return PARTS[name]


def product_dsp(a: int, b: int) -> int:
    """DSPs of a product of signed factors of a and b bits, each cut into pieces that fit."""
    wide, narrow = max(a, b), min(a, b)
    if wide <= A and narrow <= B:
        return 1
    return 2 if narrow <= A and (wide <= A or narrow <= B) else 4


class Pipeline(NamedTuple):
    """How many registers an operator has beyond its output register. product: at the factors and in the multiplier.
    clamp: between a sum and its clamp, behind a table, and before and behind the shift of a reciprocal."""

    product: int = 0
    clamp: int = 0

    @property
    def one_hot(self) -> bool:
        """Whether the phase is one-hot, one bit for each cycle of an interval: more registers, fewer levels."""
        return self.clamp > 0

    @property
    def sum_cycles(self) -> int:
        return 1 + self.clamp

    @property
    def sincos_cycles(self) -> int:
        """The two products follow one another. clamp: behind the table, and between the sums and their clamp."""
        return SINCOS_CYCLES + 2 * self.product + 2 * self.clamp

    @property
    def reciprocal_cycles(self) -> int:
        """The two products follow one another. clamp: behind the table, before the shift and behind it."""
        return RECIPROCAL_CYCLES + 2 * self.product + 3 * self.clamp

    def product_cycles(self, a: int, b: int) -> int:
        """The cycles of a product: the product, the sums of partial products if it is cut, the shift with the clamp."""
        pieces = product_dsp(a, b)
        sums = 0 if pieces == 1 else self.has_pieces_held(pieces) + self.clamp
        return 2 + self.product + sums

    def has_pieces_held(self, pieces: int) -> bool:
        """Whether the pieces of a product have a register before they are summed."""
        return pieces == 4 or self.product > 0


STEPS = (
    "none",
    "at the factors of products",
    "at the factors of products and in the multipliers",
    "at the factors of products, in the multipliers, between a sum and its clamp, and around tables and shifts",
)
"""Which registers each level of `PIPELINES` has."""
PIPELINES = tuple(Pipeline(*levels) for levels in ((0, 0), (1, 0), (2, 0), (2, 1)))
"""By `--pipeline`: none; registers at factors; in multipliers too; between a sum and its clamp too."""


def pipeline_of(n: int) -> Pipeline:
    """The registers of `--pipeline`; UnsupportedError names the allowed numbers."""
    if n not in range(len(PIPELINES)):
        raise UnsupportedError(f"pipeline={n!r}: allowed is 0 to {len(PIPELINES) - 1}")
    return PIPELINES[n]


# Fixed-point formats: how many bits a signal has, and how many of them are behind the binary point.
#
# A format holds MARGIN times the largest value of its signal over sampled states.


MARGIN = 2.0
"""The format of a signal holds this many times its largest sampled value."""
TAILS = 4.0
"""The same for products with M^-1: sampling misses their rare large values, so they get two more bits."""

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True)
class Format:
    """A signed integer of `width` bits in units of 2^-frac."""

    width: int
    frac: int

    @property
    def limit(self) -> int:
        """The largest integer."""
        return (1 << (self.width - 1)) - 1

    def __str__(self) -> str:
        return f"s{self.width}.{self.frac}"

    def narrowed(self, width: int) -> Format:
        """The upper `width` bits."""
        return self if width >= self.width else Format(width, self.frac - self.width + width)

    def from_real(self, x: NDArray[np.floating]) -> Integers:
        """Nearest, clamped."""
        nearest = np.rint(np.ldexp(np.asarray(x, np.float64), self.frac))
        return bounded(nearest, -self.limit - 1, self.limit).astype(np.int64)

    def to_real(self, n: Integers) -> NDArray[np.float64]:
        return np.ldexp(n.astype(np.float64), -self.frac)


def bounded(x: NDArray[Number], low: int, high: int) -> NDArray[Number]:
    """x clamped to its bounds."""
    return np.minimum(np.maximum(x, low), high)


def format_for(word: Word, largest: float) -> Format:
    """The format of a signal whose values stay within `largest` after the margin."""
    if word.frac is not None:
        return Format(word.data, word.frac)
    return Format(word.data, word.data - 1 - bits_for(largest * MARGIN))


def bits_for(largest: float) -> int:
    """Least n with largest < 2^n; may be negative. A signal that is always zero gets a small range."""
    return math.frexp(max(largest, 2.0**-24))[1]


def constant_format(width: int, value: float) -> Format:
    """The format of a constant with its own scale, which uses all `width` bits."""
    format = Format(width, width - 1 - bits_for(abs(value)))
    return format if round(math.ldexp(abs(value), format.frac)) <= format.limit else Format(width, format.frac - 1)


def values_of(program: Program, inputs: Mapping[str, Reals]) -> list[Reals]:
    """Each node's value in every sample; inputs (n, size) by name."""
    return [np.asarray(x, np.float64) for x in values(program, [inputs[array.name] for array in program.inputs])]


def largest_of(values: list[Reals]) -> list[float]:
    """The largest finite absolute value of each node."""
    return [float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value))) for value in values]


def outputs_of(program: Program, values: list[Reals]) -> dict[str, Reals]:
    """The output arrays (n, size) by name."""
    n = max(len(value) for value in values if value.ndim)
    result = {array.name: np.zeros((n, array.size)) for array in program.arrays}
    for output in program.outputs:
        result[program.arrays[output.array].name][:, output.index] = values[output.node]
    return result
