"""What a function parallel in the links is made of: phases, each a launch on a GPU, or at once by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from condyle.algorithms.parallel.derivatives import MASS_RECORD, RECORD, mass_pair, pair
from condyle.model.tree import Tree
from condyle.scalar import Scalar

Quantity: TypeAlias = Any
"""What a phase leaves for the next: the runner's own."""


@dataclass(frozen=True)
class PairRule:
    """Matrices of pairs of records, by what a record looks like.

    entries(ancestor, of): an entry of each matrix at (of, ancestor), then at (ancestor, of). symmetric: one for both,
    and the last number of a record comes to the diagonal.
    """

    name: str
    record: tuple[object, ...]
    entries: Callable[..., tuple[Scalar, ...]]
    matrices: int
    symmetric: bool = False


DERIVATIVES = PairRule("derivatives", RECORD, pair, 2)
MASS = PairRule("mass", MASS_RECORD, mass_pair, 1, symmetric=True)


class Phases(Protocol):
    """The phases; matrices are joint-space matrices."""

    tree: Tree

    def given(self, port: str) -> Quantity:
        """An input of the function that has a number for each degree of freedom."""
        ...

    def matrix(self, port: str) -> Quantity:
        """An input that is a joint-space matrix."""
        ...

    def links(self, run: Callable[..., object], *given: Quantity) -> Quantity:
        """run(links, *given) for all links: its answer, a number or more for each degree of freedom."""
        ...

    def eliminated(self, run: Callable[..., tuple[object, ...]], *given: Quantity) -> Sequence[Quantity]:
        """The same where run gives the eliminations of all degrees of freedom, and perhaps answers."""
        ...

    def pairs(self, rule: PairRule, records: Quantity) -> Sequence[Quantity]:
        """Matrices of records."""
        ...

    def own_added(self, matrix: Quantity, step: Callable[..., object], *given: Quantity) -> Quantity:
        """A matrix, and step(joint, *given) more for the rows and columns of each joint's own degrees of freedom."""
        ...

    def minus_solved(self, eliminated: Quantity, matrix: Quantity) -> Quantity:
        """-M^-1 times a matrix, which is used up."""
        ...

    def inverse(self, eliminated: Quantity) -> Quantity:
        """M^-1."""
        ...

    def minus_products(self, left: Quantity, matrices: Sequence[Quantity]) -> Sequence[Quantity]:
        """-left times matrices."""
        ...
