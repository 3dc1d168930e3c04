"""The operators on integers: the definition of the hardware, for any arithmetic that is exact.

A result that does not fit its format is clamped and reported. Shifts to the right drop bits (towards minus infinity).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, ldexp
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.fpga.rtl.target import ADDER, A, B, Format, Integers, bounded, product_dsp

Flags = NDArray[np.bool_]
Number = TypeVar("Number")
SEED_BITS = 10
PHASE = 24
"""Bits of an angle in turns."""
TWO_PI_INVERSE = round(2.0**36 / (2.0 * np.pi))
"""34 bits: 17 above and 17 below."""


class Arithmetic(Protocol[Number]):
    """Integers, and whether one was clamped: `Arrays`, or `evaluate.Doubles`.

    shifted: x 2^left, rounded down. low: the lowest bits, without a sign. clamped: to a format, remembered. silent:
    to +-limit, not remembered. sector: the entries of `sincos_table`. reciprocal: 1 / x for x > 0, to 5e-7 of itself,
    by a seed and one Newton step; else the largest number, remembered as a clamp.
    """

    def constant(self, value: int, /) -> Number: ...
    def shifted(self, x: Number, left: int, /) -> Number: ...
    def sum(self, x: Number, y: Number, sign: int = 1, /) -> Number: ...
    def times(self, x: Number, y: Number, /) -> Number: ...
    def low(self, x: Number, bits: int, /) -> Number: ...
    def clamped(self, x: Number, format: Format, /) -> Number: ...
    def silent(self, x: Number, limit: int, /) -> Number: ...
    def sector(self, index: Number, /) -> tuple[Number, Number, Number, Number]: ...
    def reciprocal(self, x: Number, format: Format, out: Format, /) -> Number: ...


class Arrays:
    """int64, many tasks (n,) at once; over: which of them had a clamp."""

    def __init__(self, over: Flags | None = None) -> None:
        self.over = np.zeros((), np.bool_) if over is None else over

    def constant(self, value: int) -> Integers:
        return np.asarray(value, np.int64)

    def shifted(self, x: Integers, left: int) -> Integers:
        return x << left if left >= 0 else x >> -left

    def sum(self, x: Integers, y: Integers, sign: int = 1) -> Integers:
        return x + y if sign > 0 else x - y

    def times(self, x: Integers, y: Integers) -> Integers:
        return x * y

    def low(self, x: Integers, bits: int) -> Integers:
        return x & ((1 << bits) - 1)

    def clamped(self, x: Integers, format: Format) -> Integers:
        low, high = -format.limit - 1, format.limit
        self.over = self.over | (x < low) | (x > high)
        return bounded(x, low, high)

    def silent(self, x: Integers, limit: int) -> Integers:
        return bounded(x, -limit, limit)

    def sector(self, index: Integers) -> tuple[Integers, Integers, Integers, Integers]:
        sine, cosine, slope, fall = sincos_table()
        return sine[index], cosine[index], slope[index], fall[index]

    def reciprocal(self, x: Integers, format: Format, out: Format) -> Integers:
        x, format = cut(self, x, format)
        bad = x <= 0
        self.over = self.over | bad
        safe = np.where(bad, 1, x)
        place = np.frexp(safe.astype(np.float64))[1].astype(np.int64) - 1
        m = safe << (A - 2 - place)  # 25 bits behind the point, in [1, 2)
        y = reciprocal_table()[(m >> (A - 2 - SEED_BITS)) & ((1 << SEED_BITS) - 1)]
        refined = (y << 9) + ((((1 << 36) - ((m * y) >> 6)) * y) >> 27)
        right = 26 - format.frac - out.frac + place
        value = np.where(right >= 0, refined >> bounded(right, 0, 62), refined << bounded(-right, 0, 32))
        return np.where(bad, out.limit, self.clamped(value, out))


def add(
    ints: Arithmetic[Number], args: Sequence[Number], formats: Sequence[Format], sign: int, out: Format, drop: int = 0
) -> Number:
    """x + y or x - y, both brought to the result's unit first, or to 2^-drop of it."""
    x, y = (ints.shifted(v, out.frac + drop - f.frac) for v, f in zip(args, formats, strict=True))
    return ints.clamped(ints.shifted(ints.sum(x, y, sign), -drop), out)


def multiply(
    ints: Arithmetic[Number], args: Sequence[Number], formats: Sequence[Format], factor: int, out: Format
) -> Number:
    """x y with y cut to its upper `factor` bits.

    The product of the upper pieces and that of the lower pieces are joined without a sum. The two cross products are
    summed, then added. Each sum is a word, clamped and flagged, so that nothing is wider than ADDER bits.
    """
    x, y = args[0], ints.shifted(args[1], min(factor, formats[1].width) - formats[1].width)
    right = formats[0].frac + formats[1].narrowed(factor).frac - out.frac
    sums = [ints.constant(0), ints.constant(0)]
    first, second = splits(formats[0].width, factor)
    for i, (left, p) in enumerate(pieces(ints, x, first)):
        for j, (above, r) in enumerate(pieces(ints, y, second)):
            sums[(i + j) % 2] = ints.sum(sums[(i + j) % 2], ints.shifted(ints.times(p, r), left + above - right))
    straight, across = ints.clamped(sums[0], out), ints.clamped(sums[1], Format(ADDER, 0))
    return ints.clamped(ints.sum(straight, across), out)


def cut(ints: Arithmetic[Number], x: Number, format: Format) -> tuple[Number, Format]:
    """The upper bits that fit a DSP."""
    return ints.shifted(x, min(A, format.width) - format.width), format.narrowed(A)


def least_shift(a: int, b: int) -> int:
    """How far a product of a and b bits must be shifted to the right so that each cross product fits a sum."""
    first, second = splits(a, b)
    return max(0, (first and first + b) - ADDER, (second and a + second) - ADDER)


def pieces(ints: Arithmetic[Number], x: Number, place: int) -> list[tuple[int, Number]]:
    """(place, piece), the upper first: the factor, cut in two at `place`; whole at 0."""
    return [(0, x)] if place == 0 else [(place, ints.shifted(x, -place)), (0, ints.low(x, place))]


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


def sincos(ints: Arithmetic[Number], x: Number, format: Format) -> tuple[Number, Number]:
    """Sine and cosine, 17 bits behind the point; at most 1e-5 from the true ones of the angle as given.

    The angle in units of 2^-24 turn, whole turns dropped: two products, one sum. Then the tables and their slopes.
    """
    dropped, half = angle_cut(format), ints.constant(1 << (A - 1))
    x = ints.shifted(x, -dropped)
    if format.width - dropped > A:
        x = ints.sum(ints.low(ints.sum(x, half), A), half, -1)
    high, low = ints.constant(TWO_PI_INVERSE >> 17), ints.constant(TWO_PI_INVERSE & 0x1FFFF)
    right, step = format.frac - dropped + 36 - PHASE, PHASE - SEED_BITS
    turns = ints.sum(ints.shifted(ints.times(x, high), 17 - right), ints.shifted(ints.times(x, low), -right))
    phase = ints.low(turns, PHASE)
    delta = ints.sum(ints.low(phase, step), ints.constant(1 << (step - 1)), -1)
    sine, cosine, slope, fall = ints.sector(ints.shifted(phase, -step))
    s = ints.sum(sine, ints.shifted(ints.times(delta, slope), -19))
    c = ints.sum(cosine, ints.shifted(ints.times(delta, fall), -19), -1)
    limit = (1 << (B - 1)) - 1
    return ints.silent(ints.shifted(s, -2), limit), ints.silent(ints.shifted(c, -2), limit)


@cache
def reciprocal_table() -> Integers:
    """1 / m at the middle of 1024 parts of [1, 2), 17 bits behind the point."""
    n = 1 << SEED_BITS
    return np.minimum(np.rint(2.0**17 / (1.0 + (np.arange(n) + 0.5) / n)), 2.0**17 - 1).astype(np.int64)
