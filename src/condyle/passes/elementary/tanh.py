"""tanh: a polynomial up to 0.625, and 1 - 2 / (exp(2 x) + 1) above it. Within 1.6 units in the last place."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.passes.elementary.exp import power_of_two, reduced
from condyle.passes.elementary.values import SIGN, Value, absolute, fma, minimum, numbers, polynomial, select


@dataclass(frozen=True, slots=True)
class _Numbers:
    """saturation: tanh x rounds to 1 where 2 x is larger. tangent: (tanh x - x) / x^3 in x^2, up to 0.625."""

    saturation: float
    tangent: tuple[float, ...]


NUMBERS = {
    64: _Numbers(
        44.0,
        numbers(
            "-0x1.0d6cb4de51775p-16 0x1.4373446a01c5dp-14 -0x1.df48574249213p-13 0x1.336472a461dddp-11",
            "-0x1.7d68637efa04dp-10 0x1.d6cf21d5c6867p-9 -0x1.226e15fa6483dp-7 0x1.664f4778f41e1p-6",
            "-0x1.ba1ba1b4fb9dfp-5 0x1.111111110abe1p-3 -0x1.55555555554fep-2",
        ),
    ),
    32: _Numbers(
        20.0,
        numbers("-0x1.75bd5cp-8 0x1.521f34p-6 -0x1.b83b5cp-5 0x1.11072p-3 -0x1.555532p-2"),
    ),
}


def tanh(x: Value) -> Value:
    known, size = NUMBERS[x.bits], absolute(x)
    n, near = reduced(minimum(size + size, known.saturation))
    large = 1.0 - 2.0 / (near * power_of_two(n)[1] + 1.0)
    z = size * size
    small = fma(size, z * polynomial(z, known.tangent), size)
    return select(size - 0.625, large, small) | (x & SIGN)
