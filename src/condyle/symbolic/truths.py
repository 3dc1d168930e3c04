"""What holds in some states and not in others: comparisons of symbols, and what is made of them.

Of NaN nothing holds but `!=`, as in NumPy. A comparison looks at the difference, so two infinite numbers of one sign,
whose difference is NaN, are neither equal nor ordered: here NumPy says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from condyle import scalar
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
