"""How much the rows of a contact move where they are more than rounding: what their damping is measured by.

A loop written with few digits has rows of J that are zero but for those digits, and so can all rows of one contact: the
second hinge of a door, a hinge that closes a plane linkage. Their own diagonal of G = J M^-1 Jᵀ says nothing. With G_6
the same matrix of all six rows of a contact, whether they are held or not, in the neutral configuration, S the mean of
its diagonal for translations [1/kg] and T that for rotations [1/(kg m²)], the scales are

    S + reach² T for rows of translations,    T + S / reach² for those of rotations,

`reach` being a length of the smaller body, see `TreeContact`: a body that turns moves its own mass by as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from condyle.algorithms.contacts import Contacts
from condyle.algorithms.ltl import half_solved
from condyle.algorithms.solvers import factors
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number

LINEAR = 3
"""Rows of the linear motion, of six."""


@lru_cache(maxsize=64)
def scales(tree: Tree) -> tuple[float, ...]:
    """The scale of each row of all contacts, a power of two, so that no rounding of this machine is in it; 0 where a
    contact moves nothing or M is singular. The tree's own inertias count, also where they are inputs."""
    still = Unrolled(tree, {"q": _neutral(tree)})
    eliminated = factors(still)
    found: list[float] = []
    for one, columns in zip(tree.contacts, Contacts(still).relative, strict=True):
        moves = [0.0] * 6
        for row in range(6):
            half = half_solved(eliminated, {k: (*x[0], *x[1])[row] for k, x in columns.items()})
            moves[row] = sum(float(y * y * eliminated.inverse_D[k]) for k, y in half.items())  # type: ignore[arg-type]
        slides, turns = sum(moves[:LINEAR]) / 3.0, sum(moves[LINEAR:]) / 3.0
        square = one.reach * one.reach
        if 0.0 < square < math.inf:
            slides, turns = slides + square * turns, turns + slides / square
        found += [_power_of_two(slides if row < LINEAR else turns) for row in one.rows]
    return tuple(found)


def _neutral(tree: Tree) -> Sequence[Scalar]:
    q = [number(0.0)] * tree.nq
    for kind, at, _ in tree.configurations:
        for k, x in zip(at, kind.neutral(), strict=True):
            q[k] = number(float(x))
    return q


def _power_of_two(x: float) -> float:
    return math.ldexp(1.0, min(round(math.log2(x)), 1000)) if math.isfinite(x) and x > 0.0 else 0.0
