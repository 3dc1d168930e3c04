"""log: x = 2^e m with sqrt(1/2) < m <= sqrt(2), f = m - 1, s = f / (2 + f), log m = 2 s + s R(s^2) = f - s (f - R).

Within 0.9 units in the last place. The terms are gathered around f, which is exact (Ng's fdlibm, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass

from condyle.passes.elementary.exp import LOG2
from condyle.passes.elementary.values import Value, fma, numbers, polynomial, select


@dataclass(frozen=True, slots=True)
class _Numbers:
    """least: the smallest normal number. most: the largest number. lift: a subnormal number times 2^lift is normal.

    bias: that of exponents. whole: 2^52 (float32: 2^23), whose lowest bit has the value 1. mantissa: all bits of the
    mantissa. series: R(z) / z.
    """

    least: float
    most: float
    lift: int
    bias: float
    whole: float
    mantissa: float
    series: tuple[float, ...]


NUMBERS = {
    64: _Numbers(
        float.fromhex("0x1p-1022"),
        float.fromhex("0x1.fffffffffffffp+1023"),
        54,
        1023.0,
        float.fromhex("0x1p+52"),
        float.fromhex("0x0.fffffffffffffp-1022"),
        numbers(
            "0x1.2f0d8c2de3e11p-3 0x1.39a0f5325ecc1p-3 0x1.7466462b72cb5p-3 0x1.c71c51e7f74f6p-3",
            "0x1.2492494217ab9p-2 0x1.999999997fb30p-2 0x1.5555555555593p-1",
        ),
    ),
    32: _Numbers(
        float.fromhex("0x1p-126"),
        float.fromhex("0x1.fffffep+127"),
        25,
        127.0,
        float.fromhex("0x1p+23"),
        float.fromhex("0x0.fffffep-126"),
        numbers("0x1.31e68ap-2 0x1.995e9cp-2 0x1.55557ap-1"),
    ),
}
SQRT2 = {64: float.fromhex("0x1.6a09e667f3bcdp+0"), 32: float.fromhex("0x1.6a09e6p+0")}


def log(x: Value) -> Value:
    """log x: minus infinity of 0 and -0, NaN below."""
    known = NUMBERS[x.bits]
    normal = x - known.least
    lifted = select(normal, x, x * 2.0**known.lift)
    e = (lifted.down() | known.whole) - select(normal, known.whole + known.bias, known.whole + known.bias + known.lift)
    m = (lifted & known.mantissa) | 1.0
    large = m - SQRT2[x.bits]
    m, e = select(large, m * 0.5, m), e + select(large, 1.0, 0.0)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    high, low = LOG2[x.bits]
    h = f * 0.5 * f
    inner = fma(s, fma(z, polynomial(z, known.series), h), e * low)
    found = select(known.most - x, fma(e, high, f - (h - inner)), x)  # of infinity and NaN itself
    below = (x - known.most) * known.most  # minus infinity
    return select(-x, select(x, below, below * 0.0), found)
