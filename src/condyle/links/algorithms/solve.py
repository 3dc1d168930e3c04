"""M^-1 times several columns by two affine scans: forces inward, accelerations outward.

The linear part of the maps is the same for all columns. The joints' placements and eliminations are given: see
`forward_dynamics.eliminated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.algorithms import aba
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.links.algorithms.affine import Inward, Map, Outward
from condyle.links.algorithms.articulated import passes
from condyle.links.algorithms.links import Links, OfJoints
from condyle.scalar import Scalar
from condyle.spatial import six, twist
from condyle.spatial.six import Rows, Six

Columns: TypeAlias = Sequence[Sequence[Scalar]]
"""Of one joint: for every column one number for each degree of freedom."""
Eliminations: TypeAlias = Sequence[Elimination]


class Maps(NamedTuple):
    """x -> A x + b_c for several columns c."""

    A: Rows
    b: tuple[Six, ...]


@dataclass(frozen=True)
class Together:
    """The composition of maps for all columns; the product of the matrices is the same for all."""

    semigroup: Inward | Outward
    count: int

    def identity(self) -> Maps:
        return Maps(six.IDENTITY_MATRIX, (six.ZERO,) * self.count)

    def combine(self, base: Maps, tip: Maps) -> Maps:
        maps = [self.semigroup.combine(Map(base.A, b), Map(tip.A, c)) for b, c in zip(base.b, tip.b, strict=True)]
        return Maps(maps[0].A, tuple(one.b for one in maps))

    def handed(self, branch: Maps) -> Maps:
        return Maps(six.IDENTITY_MATRIX, branch.b)


def solve(links: Links, eliminated: OfJoints, tau: OfJoints, count: int, force: Wrench = NO_FORCE) -> OfJoints:
    """x = M^-1 (tau - sum Jᵀ force) for `count` columns of tau. force: on every body, the same in all columns."""
    none = (six.ZERO,) * count
    inner = links.inward(Together(Inward(), count), links.each(_gather, eliminated, tau, force))
    received = links.of_children(inner.b)
    outer = links.each(_respond, eliminated, tau, force, received)
    at = links.of_parent(links.outward(Together(Outward(), count), outer).b, none)
    return links.answer("x", _answer, eliminated, tau, force, received, at)


def _gather(joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench) -> Maps:
    """The map of a joint from the force of its children to the force on its parent."""
    up = [aba.load(joint, force, eliminated, one)[1] for one in tau]
    return Maps(six.transpose(passes(joint, eliminated)), tuple(six.joined(one) for one in up))


def _left(
    joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench, received: tuple[Six, ...]
) -> list[tuple[Scalar, ...]]:
    """u / D of each column, given the sum of the children's forces (`received`)."""
    totals = (Wrench(*twist.add(force, six.halves(b))) for b in received)
    return [aba.load(joint, total, eliminated, one)[0] for total, one in zip(totals, tau, strict=True)]


def _respond(joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench, received: tuple[Six, ...]) -> Maps:
    left = _left(joint, eliminated, tau, force, received)
    reached = [aba.respond(joint, twist.ZERO, u, eliminated)[1] for u in left]
    return Maps(passes(joint, eliminated), tuple(six.joined(one) for one in reached))


def _answer(
    joint: Joint,
    eliminated: Eliminations,
    tau: Columns,
    force: Wrench,
    received: tuple[Six, ...],
    parents: tuple[Six, ...],
) -> tuple[tuple[Scalar, ...], ...]:
    """For every degree of freedom one number for each column."""
    left = _left(joint, eliminated, tau, force, received)
    before = (joint.transform.motion_to_child(six.halves(b)) for b in parents)
    rates = [aba.respond(joint, a, u, eliminated)[0] for a, u in zip(before, left, strict=True)]
    return tuple(zip(*rates, strict=True))
