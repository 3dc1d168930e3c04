"""Regrouping of inertial parameters: the part of a body's inertia that its joint does not move goes to the parent.

As for base inertial parameters (Gautier, Khalil 1990). Exact for every q, v and a: mass on the axis of a revolute joint
is at rest in both bodies. The inertias that are left need not be those of a body, but all joint-space quantities are
unchanged and need fewer operations.
"""

from __future__ import annotations

from dataclasses import replace

from condyle.algorithms.joint import Inertia, inertia_to_parent
from condyle.algorithms.values import plus
from condyle.model.tree import Link, Tree
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity
from condyle.spatial.transform import Transform

NOTHING = number(0.0)


def movable(link: Link, inertia: Inertia) -> Inertia:
    """The part of a body's mass and moments that is constant in the parent's frame, by the motion subspace of its
    joint.

    Second moments: all of them where nothing rotates, zz where all rotations are about z. Where nothing translates: the
    mass, and the first moment along z unless there are rotations about other axes.
    """
    subspace = link.kind.subspace(link.numbers.pitch)
    slides = any(not is_zero(x) for linear, _ in subspace for x in linear)
    turns = any(not is_zero(x) for _, angular in subspace for x in angular)
    tumbles = any(not is_zero(x) for _, angular in subspace for x in angular[:2])
    xx, xy, xz, yy, yz, zz = inertia.second
    if tumbles:
        second = vec.ZERO_SYMMETRIC
    else:
        second = (NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, zz) if turns else (xx, xy, xz, yy, yz, zz)
    first = vec.ZERO if slides or tumbles else (NOTHING, NOTHING, inertia.first[2])
    return Inertia(NOTHING if slides else inertia.mass, first, second)


def regrouped(tree: Tree) -> Tree:
    """The same dynamics with all such parts moved to the parents, leaves to root; those that reach the world are
    dropped."""
    inertias = [Inertia(link.numbers.mass, link.numbers.first, link.numbers.second) for link in tree.links]
    for i in reversed(range(len(inertias))):
        link = tree.links[i]
        moved = movable(link, inertias[i])
        inertias[i] = _minus(inertias[i], moved)
        if link.parent >= 0:
            placed = Identity() if link.numbers.rotation == vec.IDENTITY_MATRIX else Full(link.numbers.rotation)
            inertias[link.parent] = plus(
                inertias[link.parent], inertia_to_parent(Transform(placed, link.numbers.origin), moved)
            )
    return replace(tree, links=tuple(_with(link, inertia) for link, inertia in zip(tree.links, inertias, strict=True)))


def _minus(whole: Inertia, part: Inertia) -> Inertia:
    """whole - part, where each entry of part is either the whole entry or zero."""

    def left(x: Scalar, y: Scalar) -> Scalar:
        return NOTHING if x is y else x

    xx, xy, xz, yy, yz, zz = (left(x, y) for x, y in zip(whole.second, part.second, strict=True))
    return Inertia(
        left(whole.mass, part.mass),
        (left(whole.first[0], part.first[0]), left(whole.first[1], part.first[1]), left(whole.first[2], part.first[2])),
        (xx, xy, xz, yy, yz, zz),
    )


def _with(link: Link, inertia: Inertia) -> Link:
    numbers = link.numbers._replace(mass=inertia.mass, first=inertia.first, second=inertia.second)
    return replace(link, numbers=numbers)
