"""NumPy's functions of single numbers, on symbols: each by operations of the table in `condyle.operations`.

One operand at least is a symbol, the others may be floats. Where a function is put together from two, the argument of
the one that is not taken is kept where it is finite, so that a derivative is finite too.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.operations import OPERATIONS
from condyle.scalar import Scalar
from condyle.symbolic import comparisons
from condyle.symbolic.comparisons import AnyTruth, Value

LARGEST_HALF_POWER = 32
"""x**2.5, x**3.5, ... up to here are products and a root. Whole powers always are products: x may be negative."""


def _power(x: Value, y: Value) -> Value:
    if isinstance(y, float) and math.isnan(y):
        return y
    if isinstance(y, float):
        return _numbered_power(cast(Scalar, x), y)
    if isinstance(x, float):
        if x <= 0.0:
            raise UnsupportedError(f"np.power: {x} to the power of a symbol; the base must be positive")
        return scalar.exp(y * math.log(x))
    return comparisons.chosen(comparisons.equal(y, 0.0), 1.0, scalar.exp(y * scalar.log(x)))


def _numbered_power(x: Scalar, y: float) -> Value:
    if y == 0.0:
        return 1.0
    if y < 0.0:
        return 1.0 / _numbered_power(x, -y)
    if y.is_integer():
        return _whole_power(x, int(y))
    if y > LARGEST_HALF_POWER or not (2.0 * y).is_integer():
        return scalar.exp(y * scalar.log(x))
    return scalar.sqrt(x) if y < 1.0 else _whole_power(x, int(y)) * scalar.sqrt(x)


def _whole_power(x: Scalar, n: int) -> Scalar:
    """x to the power of n >= 1, by squares: the digits of n after the first, in binary."""
    power = x
    for digit in f"{n:b}"[1:]:
        power = power * power * x if digit == "1" else power * power
    return power


def _sign(x: Scalar) -> Value:
    return _by_sign(x, -1.0, 0.0, 1.0)


def _by_sign(x: Scalar, below: Value, at_zero: Value, above: Value) -> Value:
    """A value for x < 0, x = 0 and x > 0; NaN of NaN."""
    return scalar.select(x, scalar.select(-x, at_zero, above), scalar.select(-x, below, x))


def _heaviside(x: Value, at_zero: Value) -> Value:
    if isinstance(x, float):
        return at_zero if x == 0.0 else float(np.heaviside(x, 0.0))
    return _by_sign(x, 0.0, at_zero, 1.0)


def _clipped(x: Scalar, limit: float) -> Scalar:
    return scalar.minimum(scalar.maximum(x, -limit), limit)


def _within(x: Scalar, limit: float) -> Scalar:
    """Not negative where |x| <= limit."""
    return limit - scalar.absolute(x)


def _expm1(x: Scalar) -> Value:
    half = scalar.tanh(_clipped(x, 1.0) * 0.5)
    return scalar.select(_within(x, 1.0), 2.0 * half / (1.0 - half), scalar.exp(x) - 1.0)


def _log1p(x: Scalar) -> Value:
    """Near zero by Kahan's correction: log(u) x / (u - 1), u = 1 + x rounded."""
    near = _clipped(x, 0.5)
    u = 1.0 + near
    rest = u - 1.0
    none = -scalar.absolute(rest)
    corrected = scalar.log(u) * (near / scalar.select(none, 1.0, rest))
    return scalar.select(_within(x, 0.5), scalar.select(none, near, corrected), scalar.log(1.0 + x))


def _sinh(x: Scalar) -> Value:
    less = cast(Scalar, _expm1(_clipped(x, 1.0)))
    near = 0.5 * (less + less / (1.0 + less))
    return scalar.select(_within(x, 1.0), near, 0.5 * (scalar.exp(x) - scalar.exp(-x)))


def _cosh(x: Scalar) -> Value:
    return 0.5 * (scalar.exp(x) + scalar.exp(-x))


def _logaddexp(x: Value, y: Value) -> Value:
    apart = x - y
    if isinstance(apart, float):  # one symbol twice
        return x + math.log(2.0)
    return scalar.maximum(x, y) + _log1p(scalar.exp(-scalar.absolute(apart)))


def _complement(x: Scalar) -> Scalar:
    """The cosine of an angle whose sine is x, and the other way round."""
    return scalar.sqrt((1.0 - x) * (1.0 + x))


def _fmin(x: Value, y: Value) -> Value:
    return _one_that_is(x, y, scalar.minimum(x, y))


def _fmax(x: Value, y: Value) -> Value:
    return _one_that_is(x, y, scalar.maximum(x, y))


def _one_that_is(x: Value, y: Value, both: Value) -> Value:
    """`both`, but the other one where x or y is NaN."""
    for one, other in ((x, y), (y, x)):
        missing = math.isnan(one) if isinstance(one, float) else comparisons.is_nan(one)
        both = comparisons.chosen(missing, other, both)
    return both


OF_ONE: Mapping[Any, Callable[[Scalar], Value]] = {
    np.negative: lambda x: -x,
    np.positive: lambda x: x,
    np.conjugate: lambda x: x,
    np.reciprocal: lambda x: 1.0 / x,
    np.square: lambda x: x * x,
    np.fabs: scalar.absolute,
    np.sign: _sign,
    np.ceil: lambda x: -scalar.floor(-x),
    np.exp2: lambda x: scalar.exp(x * math.log(2.0)),
    np.expm1: _expm1,
    np.log2: lambda x: scalar.log(x) * (1.0 / math.log(2.0)),
    np.log10: lambda x: scalar.log(x) * (1.0 / math.log(10.0)),
    np.log1p: _log1p,
    np.tan: lambda x: scalar.sin(x) / scalar.cos(x),
    np.arcsin: lambda x: scalar.atan2(x, _complement(x)),
    np.arccos: lambda x: scalar.atan2(_complement(x), x),
    np.arctan: lambda x: scalar.atan2(x, 1.0),
    np.sinh: _sinh,
    np.cosh: _cosh,
    np.degrees: lambda x: x * (180.0 / math.pi),
    np.rad2deg: lambda x: x * (180.0 / math.pi),
    np.radians: lambda x: x * (math.pi / 180.0),
    np.deg2rad: lambda x: x * (math.pi / 180.0),
}
OF_TWO: Mapping[Any, Callable[[Any, Any], Value]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: lambda x, y: x / y,
    np.power: _power,
    np.float_power: _power,
    np.heaviside: _heaviside,
    np.fmin: _fmin,
    np.fmax: _fmax,
    np.logaddexp: _logaddexp,
    np.hypot: lambda x, y: scalar.sqrt(x * x + y * y),
}


def _of_row(op: str) -> Callable[..., Value]:
    return lambda *operands: scalar.operation(op, operands)


OF_ROWS = {row.ufunc: _of_row(row.name) for row in OPERATIONS.values() if row.ufunc}
"""Those that are an operation, by module and name."""
NUMBERS: Mapping[Any, Callable[..., Value]] = {
    **OF_ONE,
    **OF_TWO,
    **{getattr(np, path.removeprefix("numpy.")): of for path, of in OF_ROWS.items() if path.startswith("numpy.")},
}
"""Numbers of numbers, of NumPy."""


def of_numbers(ufunc: Any) -> Callable[..., Value] | None:
    """What a universal function of numbers is on symbols, also one of SciPy's; None for one that takes no symbols."""
    if ufunc in NUMBERS:
        return NUMBERS[ufunc]
    for path, of_symbols in OF_ROWS.items():
        module, _, name = path.rpartition(".")
        if getattr(sys.modules.get(module), name, None) is ufunc:  # nothing is imported to find out
            return of_symbols
    return None


ORDER: Mapping[Any, Callable[[Any, Any], AnyTruth]] = {
    np.greater_equal: comparisons.at_least,
    np.less_equal: lambda x, y: comparisons.at_least(y, x),
    np.greater: comparisons.greater,
    np.less: lambda x, y: comparisons.greater(y, x),
    np.equal: comparisons.equal,
    np.not_equal: comparisons.not_equal,
}
COMPARISONS: Mapping[Any, Callable[..., AnyTruth]] = {**ORDER, np.isnan: comparisons.is_nan}
"""Truths of numbers."""

LOGIC: Mapping[Any, Callable[..., AnyTruth]] = {
    np.logical_and: comparisons.both,
    np.logical_or: comparisons.either,
    np.logical_xor: comparisons.differ,
    np.logical_not: comparisons.negation,
    np.bitwise_and: comparisons.both,
    np.bitwise_or: comparisons.either,
    np.bitwise_xor: comparisons.differ,
    np.invert: comparisons.negation,
}
"""Truths of truths."""
