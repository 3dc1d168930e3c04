"""What a prefix scan needs: an associative composition, and what composes to nothing.

Elements belong to segments of the tree. In `combine(base, tip)` the first segment is nearer the root and ends where the
second begins. combine(a, combine(b, c)) = combine(combine(a, b), c) up to rounding; combine(identity, a) = a.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")


class Semigroup(Protocol[T]):
    """A composition of elements, values of scalars in nested tuples."""

    def identity(self) -> T: ...

    def combine(self, base: T, tip: T, /) -> T: ...


class Branching(Semigroup[T], Protocol[T]):
    """A semigroup that is scanned towards the root, where some segments may hang on one link."""

    def handed(self, branch: T, /) -> T:
        """What a branch hands to the link that it hangs on: entries, or the identity's in their place."""
        ...
