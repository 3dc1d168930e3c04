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


Known: TypeAlias = "Truth | bool"
"""A truth, or a plain one, the same in every state."""


@dataclass(frozen=True, slots=True)
class NotNegative:
    """x >= 0."""

    x: Scalar

    def chosen(self, a: Value, b: Value) -> Value:
        return scalar.select(self.x, a, b)


@dataclass(frozen=True, slots=True)
class Not:
    of: Truth

    def chosen(self, a: Value, b: Value) -> Value:
        return self.of.chosen(b, a)


@dataclass(frozen=True, slots=True)
class Both:
    first: Truth
    second: Truth

    def chosen(self, a: Value, b: Value) -> Value:
        """By one `select`, so that a derivative can tell which branch is taken."""
        holds = self.first.chosen(self.second.chosen(1.0, -1.0), -1.0)
        return scalar.select(holds, a, b)


def chosen(truth: Known, a: Value, b: Value) -> Value:
    """`a` where the truth holds, else `b`."""
    return (a if truth else b) if isinstance(truth, bool) else truth.chosen(a, b)


def negation(truth: Known) -> Known:
    if isinstance(truth, bool):
        return not truth
    return truth.of if isinstance(truth, Not) else Not(truth)


def both(one: Known, other: Known) -> Known:
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return Both(one, other)


def either(one: Known, other: Known) -> Known:
    return negation(both(negation(one), negation(other)))


def differ(one: Known, other: Known) -> Known:
    """Whether one of them holds and the other does not."""
    return both(either(one, other), negation(both(one, other)))


def at_least(x: Value, y: Value) -> Known:
    """x >= y, one of them a symbol."""
    difference = x - y
    return NotNegative(scalar.absolute(_symbol(x))) if isinstance(difference, float) else NotNegative(difference)


def greater(x: Value, y: Value) -> Known:
    """x > y."""
    difference = x - y
    if isinstance(difference, float):  # x and y are one symbol
        return False
    return Both(NotNegative(difference), Not(NotNegative(-difference)))


def equal(x: Value, y: Value) -> Known:
    """x == y."""
    difference = x - y
    if isinstance(difference, float):
        return NotNegative(scalar.absolute(_symbol(x)))
    return NotNegative(-scalar.absolute(difference))


def not_equal(x: Value, y: Value) -> Known:
    return negation(equal(x, y))


def is_nan(x: Scalar) -> Known:
    return negation(NotNegative(scalar.absolute(x)))


def _symbol(x: Value) -> Scalar:
    assert not isinstance(x, (float, int))
    return x
