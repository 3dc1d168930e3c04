"""Fixed-point formats: how many bits a signal has, and how many of them are behind the binary point.

A format holds MARGIN times the largest value of its signal over sampled states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.fpga.rtl.target import Word
from condyle.ir.interp import values
from condyle.ir.program import Program

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
