"""NumPy's functions of single numbers, on symbols, and comparisons: each by operations of `condyle.operations`.

One operand at least is a symbol, the others may be floats. Where a function is put together from two, the argument of
the one that is not taken is kept where it is finite, so that a derivative is finite too.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.operations import OPERATIONS
from condyle.scalar import Scalar

# What holds in some states and not in others: comparisons of symbols, and what is made of them.
#
# Of NaN nothing holds but `!=`, as in NumPy. A comparison looks at the difference, so two infinite numbers of one sign,
# whose difference is NaN, are neither equal nor ordered: here NumPy says otherwise.


Value: TypeAlias = "Scalar | float"


class Truth(Protocol):
    """What a comparison answers."""

    def chosen(self, a: Value, b: Value) -> Value:
        """`a` where it holds, else `b`."""
        ...


AnyTruth: TypeAlias = "Truth | bool"
"""A truth, or a plain one, the same in every state."""


@dataclass(frozen=True, slots=True)
class NotNegative:
    """x >= 0."""

    x: Scalar

    def chosen(self, a: Value, b: Value) -> Value:
        return scalar.select(self.x, a, b)


@dataclass(frozen=True, slots=True)
class Not:
    operand: Truth

    def chosen(self, a: Value, b: Value) -> Value:
        return self.operand.chosen(b, a)


@dataclass(frozen=True, slots=True)
class Both:
    first: Truth
    second: Truth

    def chosen(self, a: Value, b: Value) -> Value:
        """By one `select`, so that a derivative can tell which branch is taken."""
        holds = self.first.chosen(self.second.chosen(1.0, -1.0), -1.0)
        return scalar.select(holds, a, b)


def chosen(truth: AnyTruth, a: Value, b: Value) -> Value:
    """`a` where the truth holds, else `b`."""
    return (a if truth else b) if isinstance(truth, bool) else truth.chosen(a, b)


def negation(truth: AnyTruth) -> AnyTruth:
    if isinstance(truth, bool):
        return not truth
    return truth.operand if isinstance(truth, Not) else Not(truth)


def both(first: AnyTruth, second: AnyTruth) -> AnyTruth:
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    return Both(first, second)


def either(first: AnyTruth, second: AnyTruth) -> AnyTruth:
    return negation(both(negation(first), negation(second)))


def differ(first: AnyTruth, second: AnyTruth) -> AnyTruth:
    """Whether one of them holds and the other does not."""
    return both(either(first, second), negation(both(first, second)))


def at_least(x: Value, y: Value) -> AnyTruth:
    """x >= y, one of them a symbol."""
    difference = x - y
    return NotNegative(scalar.absolute(_symbol(x))) if isinstance(difference, float) else NotNegative(difference)


def greater(x: Value, y: Value) -> AnyTruth:
    """x > y."""
    difference = x - y
    if isinstance(difference, float):  # x and y are one symbol
        return False
    return Both(NotNegative(difference), Not(NotNegative(-difference)))


def equal(x: Value, y: Value) -> AnyTruth:
    """x == y."""
    difference = x - y
    if isinstance(difference, float):
        return NotNegative(scalar.absolute(_symbol(x)))
    return NotNegative(-scalar.absolute(difference))


def not_equal(x: Value, y: Value) -> AnyTruth:
    return negation(equal(x, y))


def is_nan(x: Scalar) -> AnyTruth:
    return negation(NotNegative(scalar.absolute(x)))


def _symbol(x: Value) -> Scalar:
    assert not isinstance(x, (float, int))
    return x


# Entries of arrays: symbols, truths, and numbers as floats.


Entries: TypeAlias = Any
"""An array of objects: NumPy's types know nothing of its entries."""

numpy: Any = np
"""NumPy, called with symbols, which its types do not expect."""


def as_objects(entries: object) -> Entries:
    """The same as an array of objects; a lone one as an array without dimensions."""
    if isinstance(entries, np.ndarray):
        return cast(Entries, entries).astype(object, copy=False)
    made: Entries = np.empty((), object)
    made[()] = entries
    return made


def each(function: Callable[..., object], *arrays: Entries) -> Entries:
    """A function of every entry, as an array of objects."""
    return as_objects(np.frompyfunc(function, len(arrays), 1)(*arrays))


def entry(x: Any) -> object:
    """One entry of an array of objects: a symbol or a truth as it is, a real number as a float; UnsupportedError."""
    if type(x) is float:
        return x
    if isinstance(x, (bool, np.bool_)):
        return bool(cast(Any, x))
    if isinstance(x, Real):
        try:
            return float(x)
        except OverflowError as error:
            raise UnsupportedError(
                f"a number among symbols is beyond {np.finfo(np.float64).max:.1e}, the largest float64"
            ) from error
    if hasattr(x, "function") or hasattr(x, "chosen"):
        return x
    raise UnsupportedError(
        f"{type(x).__name__} among symbols; give real numbers and arrays of them: float(x) of what has such a value"
    )


def number(x: Any) -> object:
    """The same, a plain truth as 1 or 0."""
    return float(x) if isinstance(x, bool) else x


def truth(x: Any) -> object:
    if isinstance(x, (bool, float)):
        return bool(x)
    return x if hasattr(x, "chosen") else not_equal(x, 0.0)


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
    return chosen(equal(y, 0.0), 1.0, scalar.exp(y * scalar.log(x)))


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
        missing = math.isnan(one) if isinstance(one, float) else is_nan(one)
        both = chosen(missing, other, both)
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
    np.greater_equal: at_least,
    np.less_equal: lambda x, y: at_least(y, x),
    np.greater: greater,
    np.less: lambda x, y: greater(y, x),
    np.equal: equal,
    np.not_equal: not_equal,
}
COMPARISONS: Mapping[Any, Callable[..., AnyTruth]] = {**ORDER, np.isnan: is_nan}
"""Truths of numbers."""

LOGIC: Mapping[Any, Callable[..., AnyTruth]] = {
    np.logical_and: both,
    np.logical_or: either,
    np.logical_xor: differ,
    np.logical_not: negation,
    np.bitwise_and: both,
    np.bitwise_or: either,
    np.bitwise_xor: differ,
    np.invert: negation,
}
"""Truths of truths."""
