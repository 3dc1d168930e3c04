"""Sums of values of one structure along the tree: the additive group.

In world axes, and about points of the links themselves, every quantity of inverse dynamics but the rotations is such a
sum: angular velocities, accelerations, forces, torques, moments of inertia. Positions relative to the world's origin do
not enter, so accuracy does not depend on the distance to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from condyle.algorithms.values import plus

T = TypeVar("T")


@dataclass(frozen=True)
class Sums(Generic[T]):
    """Addition; zero is the identity."""

    zero: T

    def identity(self) -> T:
        return self.zero

    def combine(self, base: T, tip: T) -> T:
        return plus(base, tip)

    def handed(self, branch: T) -> T:
        return branch
