"""exp and tanh: x = n log 2 + r with |r| <= log(2) / 2, a minimax polynomial of r, and 2^n from its bits.

exp: within 1.1 units in the last place. 2^n is multiplied as two factors, so that subnormal results are rounded once
and too large ones become infinite. tanh: within 1.6 units; a polynomial up to 0.625, and 1 - 2 / (exp(2 x) + 1) above
it.
"""

from __future__ import annotations

from dataclasses import dataclass

from condyle.passes.elementary.circle import ROUND
from condyle.passes.elementary.values import (
    SIGN,
    Value,
    absolute,
    fma,
    maximum,
    minimum,
    numbers,
    polynomial,
    select,
)

LOG2 = {64: numbers("0x1.62e42feep-1 0x1.a39ef35793c76p-33"), 32: numbers("0x1.62e4p-1 0x1.7f7d1cp-20")}
"""log 2 as a sum of two numbers; an integer up to 1100 (float32: 160) times the first one is exact."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """least, most: below and above them exp is 0 and infinite. power: (exp r - 1 - r) / r^2 in r. bias: that of
    exponents.

    one: tanh x rounds to 1 where 2 x is larger. tangent: (tanh x - x) / x^3 in x^2, up to 0.625.
    """

    least: float
    most: float
    by_log2: float
    bias: float
    power: tuple[float, ...]
    one: float
    tangent: tuple[float, ...]


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
        44.0,
        numbers(
            "-0x1.0d6cb4de51775p-16 0x1.4373446a01c5dp-14 -0x1.df48574249213p-13 0x1.336472a461dddp-11",
            "-0x1.7d68637efa04dp-10 0x1.d6cf21d5c6867p-9 -0x1.226e15fa6483dp-7 0x1.664f4778f41e1p-6",
            "-0x1.ba1ba1b4fb9dfp-5 0x1.111111110abe1p-3 -0x1.55555555554fep-2",
        ),
    ),
    32: _Numbers(
        -105.0,
        89.0,
        float.fromhex("0x1.715476p+0"),
        127.0,
        numbers("0x1.6a23d6p-10 0x1.123a1ep-7 0x1.5558f2p-5 0x1.555492p-3 0x1.fffffcp-2"),
        20.0,
        numbers("-0x1.75bd5cp-8 0x1.521f34p-6 -0x1.b83b5cp-5 0x1.11072p-3 -0x1.555532p-2"),
    ),
}


def exp(x: Value) -> Value:
    """exp x; NaN stays."""
    known = NUMBERS[x.bits]
    n, near = _reduced(minimum(maximum(x, known.least), known.most))
    half, two_half = _power_of_two(n * 0.5)
    _, two_rest = _power_of_two(n - half)
    return near * two_half * two_rest


def tanh(x: Value) -> Value:
    known, size = NUMBERS[x.bits], absolute(x)
    n, near = _reduced(minimum(size + size, known.one))
    large = 1.0 - 2.0 / (near * _power_of_two(n)[1] + 1.0)
    z = size * size
    small = fma(size, z * polynomial(z, known.tangent), size)
    return select(size - 0.625, large, small) | (x & SIGN)


def _reduced(x: Value) -> tuple[Value, Value]:
    """The integer n of the range reduction, and exp(x - n log 2)."""
    known, shift = NUMBERS[x.bits], ROUND[x.bits]
    n = fma(x, known.by_log2, shift) - shift
    high, low = LOG2[x.bits]
    r = x.code.op("fnma", n, low, x.code.op("fnma", n, high, x))
    return n, fma(r * r, polynomial(r, known.power), r) + 1.0


def _power_of_two(x: Value) -> tuple[Value, Value]:
    """The integer n nearest x, and 2^n: n plus the bias, shifted from the lowest bits to the exponent's."""
    shift = ROUND[x.bits] + NUMBERS[x.bits].bias
    shifted = x + shift
    return shifted - shift, shifted.up()
