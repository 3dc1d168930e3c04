"""What a scan needs: an associative composition, and what composes to nothing.

Elements belong to segments of the tree. In `combine(base, tip)` the first segment is nearer the root and ends where the
second begins. combine(a, combine(b, c)) = combine(combine(a, b), c) up to rounding; combine(identity, a) = a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Semigroup(Protocol[T]):
    """A composition of elements, values of scalars in nested tuples."""

    def identity(self) -> T: ...

    def combine(self, base: T, tip: T, /) -> T: ...


class Group(Semigroup[T], Protocol[T]):
    """A semigroup in which every element can be undone: combine(a, inverse(a)) = identity."""

    def inverse(self, a: T, /) -> T: ...


@dataclass(frozen=True)
class Flipped(Generic[T]):
    """The same composition read from the other end: for scans that run from the tip to the base."""

    semigroup: Semigroup[T]

    def identity(self) -> T:
        return self.semigroup.identity()

    def combine(self, base: T, tip: T) -> T:
        return self.semigroup.combine(tip, base)
