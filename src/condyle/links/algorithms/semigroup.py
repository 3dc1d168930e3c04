"""What a prefix scan needs: an associative composition and its identity element.

An element describes a segment of links. In `combine(base, tip)` the first segment is nearer the root and ends where the
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
    """A semigroup that is scanned towards the root, where several segments may begin at one link."""

    def handed(self, branch: T, /) -> T:
        """What a branch passes to the link that it begins at: each entry is the branch's own or the identity's."""
        ...
