"""cbrt: exp(log |x| / 3), and a step of Newton's method, which leaves about one unit in the last place."""

from __future__ import annotations

from condyle.passes.elementary.values import SIGN, Value, absolute, select


def cbrt(x: Value) -> Value:
    size = absolute(x)
    y = x.code.op("exp", x.code.op("log", size) * (1.0 / 3.0))
    better = y + (size / (y * y) - y) * (1.0 / 3.0)  # nothing here overflows or becomes subnormal
    return select(better, better, y) | (x & SIGN)  # of 0 and infinity the step is NaN
