"""atan2: with t <= 1 the smaller of |x| and |y| by the larger, atan t = atan c + atan((t - c) / (1 + c t)), c = 0, 1/2
or 1.

Within 1.5 units in the last place. Numerator and denominator are computed first, so that there is one division. The
multiple of pi/2 of the octant is the sum of two numbers, the smaller one added before the last rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

from condyle.passes.elementary.values import SIGN, Value, absolute, fma, maximum, minimum, numbers, polynomial, select


@dataclass(frozen=True, slots=True)
class _Numbers:
    """tiny, most: the smallest and the largest number. small, large: outside of them |x| and |y| are scaled by a power
    of two. lift: the factor for small ones. half, pi: atan(1/2) and pi, each as a sum of two numbers. series: (atan r -
    r) / r^3 in r^2, for |r| <= 7/16.
    """

    tiny: float
    most: float
    small: float
    large: float
    lift: float
    half: tuple[float, ...]
    pi: tuple[float, ...]
    series: tuple[float, ...]


NUMBERS = {
    64: _Numbers(
        float.fromhex("0x1p-1074"),
        float.fromhex("0x1.fffffffffffffp+1023"),
        float.fromhex("0x1p-900"),
        float.fromhex("0x1p+500"),
        float.fromhex("0x1p+200"),
        numbers("0x1.dac670561bb4fp-2 0x1.a2b7f222f65e2p-56"),
        numbers("0x1.921fb54442d18p+1 0x1.1a62633145c07p-53"),
        numbers(
            "-0x1.0a90a4f180b55p-6 0x1.2b229aa928d0bp-5 -0x1.97a62351e0623p-5 0x1.dddf48a06fd3bp-5",
            "-0x1.10d6257f6e190p-4 0x1.3b0f245812c80p-4 -0x1.745cdbec0b480p-4 0x1.c71c6fde2ed99p-4",
            "-0x1.2492491ffce20p-3 0x1.999999998e9bdp-3 -0x1.555555555550cp-2",
        ),
    ),
    32: _Numbers(
        float.fromhex("0x1p-149"),
        float.fromhex("0x1.fffffep+127"),
        float.fromhex("0x1p-90"),
        float.fromhex("0x1p+60"),
        float.fromhex("0x1p+40"),
        numbers("0x1.dac67p-2 0x1.586ed4p-28"),
        numbers("0x1.921fb6p+1 -0x1.777a5cp-24"),
        numbers("-0x1.dd0574p-5 0x1.adc8ecp-4 -0x1.236ddp-3 0x1.998ddep-3 -0x1.555542p-2"),
    ),
}


def atan2(y: Value, x: Value) -> Value:
    """The angle of (x, y), with all of NumPy's values at zeros and infinities; NaN if either is."""
    known = NUMBERS[x.bits]
    pi, rest = known.pi
    small, large = _sizes(x, y)
    angle_high, angle_low, r = _around(small, large, known.half, (0.25 * pi, 0.25 * rest))
    side, steep = (x & SIGN) | 1.0, absolute(x) - absolute(y)  # 1 or -1; below 0 where |y| > |x|
    sign = select(steep, side, -side)
    base, base_low = (select(steep, select(side, 0.0, part), 0.5 * part) for part in known.pi)
    z = r * r
    tail = fma(r, z * polynomial(z, known.series), angle_low + sign * base_low)
    return fma(sign, angle_high + (tail + r), base) | (y & SIGN)


def _sizes(x: Value, y: Value) -> tuple[Value, Value]:
    """The smaller and the larger of |x| and |y|, scaled away from overflow and underflow; 0 / 0 and infinity / infinity
    are replaced by quotients that exist."""
    known = NUMBERS[x.bits]
    small = minimum(absolute(x), absolute(y))
    large = maximum(maximum(absolute(x), absolute(y)), known.tiny)
    both = fma(small, 0.5, -known.most)  # 0 and more only where both are infinite
    scale = select(large - known.large, 0.25, select(large - known.small, 1.0, known.lift))
    return select(both, 1.0, small * scale), select(both, 1.0, large * scale)


def _around(
    small: Value, large: Value, half: tuple[float, ...], quarter: tuple[float, ...]
) -> tuple[Value, Value, Value]:
    """The nearest of atan 0, atan 1/2 and atan 1, as a sum of two numbers, and the tangent of the rest."""
    far, middle = small - large * 0.6875, small - large * 0.4375
    above = select(far, small - large, select(middle, small + small - large, small))
    below = select(far, small + large, select(middle, large + large + small, large))
    high, low = (select(far, q, select(middle, h, 0.0)) for q, h in zip(quarter, half, strict=True))
    return high, low, above / below
