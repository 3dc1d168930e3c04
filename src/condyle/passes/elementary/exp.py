"""exp: x = n log 2 + r with |r| <= log(2) / 2, a minimax polynomial of r, and 2^n from its bits.

Within 1.1 units in the last place. 2^n is multiplied as two factors, so that subnormal results are rounded once and too
large ones become infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

from condyle.passes.elementary.values import ROUND, Value, fma, maximum, minimum, numbers, polynomial

LOG2 = {64: numbers("0x1.62e42feep-1 0x1.a39ef35793c76p-33"), 32: numbers("0x1.62e4p-1 0x1.7f7d1cp-20")}
"""log 2 as a sum of two numbers; an integer up to 1100 (float32: 160) times the first one is exact."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """least, most: below and above them exp is 0 and infinite. power: (exp r - 1 - r) / r^2 in r. bias: that of
    exponents."""

    least: float
    most: float
    by_log2: float
    bias: float
    power: tuple[float, ...]


NUMBERS = {
    64: _Numbers(
        -746.0,
        710.0,
        float.fromhex("0x1.71547652b82fep+0"),
        1023.0,
        numbers(
            "0x1.ad7f393e88573p-26 0x1.28ad9b3ef2749p-22 0x1.71df25b66c101p-19 0x1.a01999e2b7996p-16",
            "0x1.a01a012a0e024p-13 0x1.6c16c184388eap-10 0x1.1111111127d10p-7 0x1.555555555083fp-5",
            "0x1.55555555554f9p-3 0x1.000000000000ap-1",
        ),
    ),
    32: _Numbers(
        -105.0,
        89.0,
        float.fromhex("0x1.715476p+0"),
        127.0,
        numbers("0x1.6a23d6p-10 0x1.123a1ep-7 0x1.5558f2p-5 0x1.555492p-3 0x1.fffffcp-2"),
    ),
}


def exp(x: Value) -> Value:
    """exp x; NaN stays."""
    known = NUMBERS[x.bits]
    n, near = reduced(minimum(maximum(x, known.least), known.most))
    half, two_half = power_of_two(n * 0.5)
    _, two_rest = power_of_two(n - half)
    return near * two_half * two_rest


def reduced(x: Value) -> tuple[Value, Value]:
    """The integer n of the range reduction, and exp(x - n log 2)."""
    known, shift = NUMBERS[x.bits], ROUND[x.bits]
    n = fma(x, known.by_log2, shift) - shift
    high, low = LOG2[x.bits]
    r = x.code.op("fnma", n, low, x.code.op("fnma", n, high, x))
    return n, fma(r * r, polynomial(r, known.power), r) + 1.0


def power_of_two(x: Value) -> tuple[Value, Value]:
    """The integer n nearest x, and 2^n: n plus the bias, shifted from the lowest bits to the exponent's."""
    shift = ROUND[x.bits] + NUMBERS[x.bits].bias
    shifted = x + shift
    return shifted - shift, shifted.up()
