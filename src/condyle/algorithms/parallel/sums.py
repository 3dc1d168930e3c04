"""Sums of values of one structure: the group of everything that merely adds up along the tree.

In world axes, about points of the links themselves, all of inverse dynamics but the rotations is such sums: angular
velocities, accelerations, forces, torques, moments of inertia. No coordinate of the world's origin enters, so that
nothing is lost far away from it.
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
