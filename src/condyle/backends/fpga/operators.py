"""The operators on integers: the definition of the hardware, vectorised over tasks.

A result that does not fit its format is clamped and reported. Shifts to the right drop bits (towards minus infinity).
"""

from __future__ import annotations

from functools import cache
from math import inf, ldexp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.backends.fpga.formats import Format, Integers, bounded
from condyle.backends.fpga.target import ADDER, A, B, product_dsp

Flags = NDArray[np.bool_]
SEED_BITS = 10
PHASE = 24
"""Bits of an angle in turns."""
TWO_PI_INVERSE = round(2.0**36 / (2.0 * np.pi))
"""34 bits: 17 above and 17 below."""


class Result(NamedTuple):
    """Integers, and which of them were clamped."""

    value: Integers
    over: Flags


def shifted(x: Integers, left: int) -> Integers:
    """x 2^left."""
    return x << left if left >= 0 else x >> -left


def clamped(x: Integers, format: Format) -> Result:
    low, high = -format.limit - 1, format.limit
    return Result(bounded(x, low, high), (x < low) | (x > high))


def add(x: Integers, y: Integers, formats: tuple[Format, Format], out: Format, sign: int, drop: int = 0) -> Result:
    """x + y or x - y, both brought to the result's unit first, or to 2^-drop of it."""
    a, b = (shifted(v, out.frac + drop - f.frac) for v, f in zip((x, y), formats, strict=True))
    return clamped((a + sign * b) >> drop, out)


def multiply(x: Integers, y: Integers, formats: tuple[Format, Format], factor: int, out: Format) -> Result:
    """x y with y cut to its upper `factor` bits.

    The product of the upper pieces and that of the lower pieces are joined without a sum. The two cross products are
    summed, then added. Each sum is a word, clamped and flagged, so that nothing is wider than ADDER bits.
    """
    y = y >> (formats[1].width - min(factor, formats[1].width))
    right = formats[0].frac + formats[1].narrowed(factor).frac - out.frac
    sums: list[Integers] = [np.zeros(np.broadcast(x, y).shape, np.int64) for _ in range(2)]
    first, second = splits(formats[0].width, factor)
    for i, (left, p) in enumerate(pieces(x, first)):
        for j, (above, r) in enumerate(pieces(y, second)):
            sums[(i + j) % 2] = sums[(i + j) % 2] + shifted(p * r, left + above - right)
    straight, across = clamped(sums[0], out), clamped(sums[1], Format(ADDER, 0))
    total = clamped(straight.value + across.value, out)
    return Result(total.value, straight.over | across.over | total.over)


def least_shift(a: int, b: int) -> int:
    """How far a product of a and b bits must be shifted to the right so that each cross product fits a sum."""
    first, second = splits(a, b)
    return max(0, (first and first + b) - ADDER, (second and a + second) - ADDER)


def pieces(x: Integers, place: int) -> list[tuple[int, Integers]]:
    """(place, piece), the upper first: the factor, cut in two at `place`; whole at 0."""
    return [(0, x)] if place == 0 else [(place, x >> place), (0, x & ((1 << place) - 1))]


def splits(a: int, b: int) -> tuple[int, int]:
    """Where factors of a and b bits are cut so that each piece fits a DSP; 0 is not at all."""
    dsp = product_dsp(a, b)
    if dsp == 1:
        return 0, 0
    if dsp == 4:
        return a // 2, b // 2
    if max(a, b) > A:
        return (a // 2, 0) if a > b else (0, b // 2)
    return 0, b - B


@cache
def sincos_table() -> tuple[Integers, Integers, Integers, Integers]:
    """sin, cos (19 bits behind the point, rounding included) and 2 pi cos, 2 pi sin (14 bits) mid 1024 sectors.

    Sine and cosine are reduced by half of the largest second-order error, which halves it.
    """
    n = 1 << SEED_BITS
    angle = 2.0 * np.pi * (np.arange(n) + 0.5) / n
    shrink = 1.0 - (np.pi / n) ** 2 / 4.0
    tables = (
        np.rint(np.sin(angle) * shrink * 2.0**19) + 2,
        np.rint(np.cos(angle) * shrink * 2.0**19) + 2,
        np.rint(2.0 * np.pi * np.cos(angle) * 2.0**14),
        np.rint(2.0 * np.pi * np.sin(angle) * 2.0**14),
    )
    sine, cosine, slope, fall = (table.astype(np.int64) for table in tables)
    return sine, cosine, slope, fall


def angle_cut(format: Format) -> int:
    """How many of its lowest bits an angle loses, so that what is left fits a DSP with 6 bits before the point.

    A word with a fixed point has more of them than an angle needs: there the upper bits are lost, not the lower.
    """
    return max(0, min(format.width - A, format.frac - (A - 6)))


def largest_angle(format: Format) -> float:
    """Below this [rad] the sine and cosine of an angle are right; infinite if all its upper bits stay."""
    cut = angle_cut(format)
    return inf if format.width - cut <= A else ldexp(1.0, A - 1 - format.frac + cut)


def turns(x: Integers, format: Format) -> Integers:
    """The angle in units of 2^-24 turn, whole turns dropped: two products, one sum."""
    cut, half = angle_cut(format), 1 << (A - 1)
    x = (((x >> cut) + half) & ((1 << A) - 1)) - half
    high, low = TWO_PI_INVERSE >> 17, TWO_PI_INVERSE & 0x1FFFF
    right = format.frac - cut + 36 - PHASE
    return (shifted(x * high, 17 - right) + shifted(x * low, -right)) & ((1 << PHASE) - 1)


def sincos(x: Integers, format: Format) -> tuple[Integers, Integers]:
    """Sine and cosine, 17 bits behind the point; at most 1e-5 from the true ones of the angle as given."""
    phase = turns(x, format)
    step = PHASE - SEED_BITS
    index, delta = phase >> step, (phase & ((1 << step) - 1)) - (1 << (step - 1))
    sine, cosine, slope, fall = sincos_table()
    limit = (1 << (B - 1)) - 1
    s = (sine[index] + ((delta * slope[index]) >> 19)) >> 2
    c = (cosine[index] - ((delta * fall[index]) >> 19)) >> 2
    return bounded(s, -limit, limit), bounded(c, -limit, limit)


@cache
def reciprocal_table() -> Integers:
    """1 / m at the middle of 1024 parts of [1, 2), 17 bits behind the point."""
    n = 1 << SEED_BITS
    return np.minimum(np.rint(2.0**17 / (1.0 + (np.arange(n) + 0.5) / n)), 2.0**17 - 1).astype(np.int64)


def reciprocal(x: Integers, format: Format, out: Format) -> Result:
    """1 / x for x > 0, to 5e-7 of itself; else the largest number, reported. Seed and one Newton step."""
    if format.width > A:
        x, format = x >> (format.width - A), format.narrowed(A)
    bad = x <= 0
    safe = np.where(bad, 1, x)
    place = np.frexp(safe.astype(np.float64))[1].astype(np.int64) - 1
    m = safe << (A - 2 - place)  # 25 bits behind the point, in [1, 2)
    y = reciprocal_table()[(m >> (A - 2 - SEED_BITS)) & ((1 << SEED_BITS) - 1)]
    error = (1 << 36) - ((m * y) >> 6)
    refined = (y << 9) + ((error * y) >> 27)
    right = 26 - format.frac - out.frac + place
    value = np.where(right >= 0, refined >> bounded(right, 0, 62), refined << bounded(-right, 0, 32))
    result = clamped(value, out)
    return Result(np.where(bad, out.limit, result.value), bad | result.over)
