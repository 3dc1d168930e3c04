"""Affine maps x -> A x + b of 6-vectors: accelerations towards the tips, bias forces towards the base.

They are composed as functions are, so composition is associative. It has no inverse: A of a joint is a projection, the
part of the parent's acceleration that the joint's own motion does not take up.
"""

from __future__ import annotations

from typing import NamedTuple

from condyle.spatial import six
from condyle.spatial.six import Rows, Six


class Map(NamedTuple):
    """x -> A x + b."""

    A: Rows
    b: Six

    def __call__(self, x: Six) -> Six:
        return six.add(six.times(self.A, x), self.b)


class Outward:
    """Maps from a segment's base to its tip: the base's map first."""

    def identity(self) -> Map:
        return Map(six.IDENTITY_MATRIX, six.ZERO)

    def combine(self, base: Map, tip: Map) -> Map:
        return Map(six.product(tip.A, base.A), tip(base.b))


class Inward(Outward):
    """Maps from a segment's tip to its base: the tip's map first."""

    def combine(self, base: Map, tip: Map) -> Map:
        return super().combine(tip, base)

    def handed(self, branch: Map) -> Map:
        return Map(six.IDENTITY_MATRIX, branch.b)
