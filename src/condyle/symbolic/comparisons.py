"""What holds in some states and not in others: comparisons of symbols, and what is made of them.

Of NaN nothing holds but `!=`, as in NumPy. A comparison looks at the difference, so two infinite numbers of one sign,
whose difference is NaN, are neither equal nor ordered: here NumPy says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.scalar import Scalar

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
