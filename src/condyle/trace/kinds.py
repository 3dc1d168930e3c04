"""Kinds of joints for loops: links with the same steps, and their constants as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.algorithms.matrix import numbers, refilled
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers, Tree
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import IDENTITY, Transform


class Constants(NamedTuple):
    """All constants of a link, in the order of a row of the table."""

    numbers: Numbers
    body_frame: Transform


@dataclass(frozen=True)
class JointGroup:
    """Joints that share their steps: of one joint type, and alike in the properties below.

    carries_body: the link is a body of the robot. tilts: its placement is a rotation about x, then one about z.
    is_root: the parent is the world. is_leaf: it has no children. is_first: a backward sweep reaches it before its
    siblings, so it stores its value at the parent where the others add. fixed: constants that are equal for all its
    links, None for the others.
    """

    type: JointType
    carries_body: bool
    tilts: bool
    is_root: bool
    is_leaf: bool
    is_first: bool
    fixed: tuple[float | None, ...]

    @property
    def nv(self) -> int:
        return self.type.nv

    def bound(self, symbols: Sequence[Scalar]) -> Constants:
        """The constants as steps take them: numbers where all links agree, else symbols for the table's entries."""
        known = zip(symbols, self.fixed, strict=True)
        values = [symbol if value is None else number(value) for symbol, value in known]
        return refilled(Constants(blank(self.nv), IDENTITY), values)


def tilts(link: Link) -> bool:
    """Whether a link's placement is a rotation about x, then one about z."""
    return is_zero(link.numbers.rotation[2][0])


def kinds_of(tree: Tree) -> tuple[list[JointGroup], list[int]]:
    """All kinds, and the number of the kind of each link."""
    last_child = {link.parent: i for i, link in enumerate(tree.links)}
    keys = [
        (
            link.kind.name,
            link.body >= 0,
            tilts(link),
            link.parent < 0,
            i not in last_child,
            last_child[link.parent] == i,
        )
        for i, link in enumerate(tree.links)
    ]
    order = list(dict.fromkeys(keys))
    kinds: list[JointGroup] = []
    for key in order:
        links = [link for link, own in zip(tree.links, keys, strict=True) if own == key]
        rows = [constants(link) for link in links]
        fixed = tuple(column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True))
        kinds.append(JointGroup(links[0].kind, *key[1:], fixed))
    return kinds, [order.index(key) for key in keys]


def constants(link: Link) -> tuple[float, ...]:
    """All numbers of a link in one row."""
    return numbers(Constants(link.numbers, link.body_frame))


def blank(nv: int) -> Numbers:
    """Numbers with the structure of those of a link with nv degrees of freedom."""
    none = number(0.0)
    return Numbers(vec.IDENTITY_MATRIX, vec.ZERO, none, none, vec.ZERO, vec.ZERO_SYMMETRIC, (none,) * nv)
