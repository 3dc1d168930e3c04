"""The phases of a function parallel in the links: on a GPU each is one launch, with NumPy one call on all links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from condyle.links.algorithms.derivatives import MASS_RECORD, RECORD, mass_pair, pair
from condyle.model.tree import Tree
from condyle.scalar import Scalar

Quantity: TypeAlias = Any
"""What a phase passes to the next one; each runner has its own type."""


@dataclass(frozen=True)
class PairRule:
    """How matrices are computed from pairs of records.

    entries(ancestor, record): of two records the entry of each matrix at (record, ancestor), then that of each at
    (ancestor, record). symmetric: one entry for both, and the last number of a record is added on the diagonal.
    """

    name: str
    record: tuple[object, ...]
    entries: Callable[..., tuple[Scalar, ...]]
    matrices: int
    symmetric: bool = False


DERIVATIVES = PairRule("derivatives", RECORD, pair, 2)
MASS = PairRule("mass", MASS_RECORD, mass_pair, 1, symmetric=True)


class Phases(Protocol):
    """The phases that a runner implements; matrices are (nv, nv)."""

    tree: Tree

    def input(self, port: str) -> Quantity:
        """An input of the function that has a number for each degree of freedom."""
        ...

    def matrix(self, port: str) -> Quantity:
        """An input that is a joint-space matrix."""
        ...

    def links(self, run: Callable[..., object], *quantities: Quantity) -> Quantity:
        """run(links, *quantities) for all links: its result, one or more numbers for each degree of freedom."""
        ...

    def eliminated(self, run: Callable[..., tuple[object, ...]], *quantities: Quantity) -> Sequence[Quantity]:
        """The same where run gives the eliminations of all degrees of freedom, and then possibly outputs."""
        ...

    def pairs(self, rule: PairRule, records: Quantity) -> Sequence[Quantity]:
        """Matrices of records."""
        ...

    def own_added(self, matrix: Quantity, step: Callable[..., object], *quantities: Quantity) -> Quantity:
        """The matrix with step(joint, *quantities) added at the rows and columns of each joint's degrees of freedom."""
        ...

    def minus_solved(self, eliminated: Quantity, matrix: Quantity) -> Quantity:
        """-M^-1 times a matrix, which may be overwritten."""
        ...

    def inverse(self, eliminated: Quantity) -> Quantity:
        """M^-1."""
        ...

    def minus_products(self, left: Quantity, matrices: Sequence[Quantity]) -> Sequence[Quantity]:
        """-left times matrices."""
        ...
