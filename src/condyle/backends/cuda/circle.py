"""pi to any number of bits, and the constants of the range reduction of sine and cosine."""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import cache

WORDS = 20
"""Words of 64 bits: one of zeros, then as many bits of 1 / 2 pi as the largest float64 needs."""


@cache
def pi(bits: int) -> Fraction:
    """pi with an error below 2^-bits, by Machin's formula."""
    one = 1 << (bits + 16)
    return Fraction(16 * _arctan(5, one) - 4 * _arctan(239, one), one)


def _arctan(n: int, unit: int) -> int:
    """one * arctan(1 / n)."""
    term = total = unit // n
    k = 1
    while term:
        term //= -n * n
        k += 2
        total += term // k
    return total


def quarter_turn(bits: int) -> tuple[float, float, float]:
    """pi/2 as a sum of three numbers of this format, each nearest to the rest after the ones before it."""
    rest, parts = pi(256) / 2, list[float]()
    for _ in range(3):
        parts.append(nearest(rest, bits))
        rest -= Fraction(parts[-1])
    first, second, third = parts
    return first, second, third


def nearest(x: Fraction, bits: int) -> float:
    """x in float32 or float64."""
    value = float(x)
    return value if bits == 64 else float(struct.unpack("<f", struct.pack("<f", value))[0])


def turns() -> tuple[int, ...]:
    """64 zero bits, then the bits of 1 / 2 pi after the binary point, in words."""
    bits = 64 * (WORDS - 1)
    value = int((1 << bits) / (2 * pi(bits + 64)))
    return (0, *((value >> shift) & 0xFFFF_FFFF_FFFF_FFFF for shift in range(bits - 64, -1, -64)))
