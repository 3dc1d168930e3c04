"""The tree that a function is computed on, by the normal form of its specification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from condyle.algorithms.joint import Inertia, inertia_to_parent
from condyle.algorithms.matrix import plus
from condyle.model.tree import Link, Tree, TreeContact, TreeFrame, carried
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import AboutZ, Axes, Full, Identity, Transform
from condyle.specification import NormalForm

# Reframing: link frames turned about their joints' axes, so that placements rotate about two axes only.
#
# The frame of a joint that moves about or along z can be turned about z without changing the joint. The rotation of any
# placement is one about z, then about x, then about z (Euler angles). The first is put into the parent's frame, as in
# Denavit and Hartenberg's convention. The product with a vector then takes four multiplications in place of nine. Exact
# for every q, v and a.


def reframed(tree: Tree) -> Tree:
    """The same dynamics; the frame of each joint about or along z is turned for the child that carries the most links.

    Only if the rotation of that child's placement has no zero: with zeros, turning costs more operations than it saves.
    """
    links = list(tree.links)
    children: dict[int, list[int]] = {}
    weights = carried(tree.parents, [1] * len(links))
    turns: dict[int, AboutZ] = {}
    for i in reversed(range(len(links))):
        children.setdefault(links[i].parent, []).append(i)
    for i, link in enumerate(links):
        if i not in children or not link.kind.is_axial:
            continue
        heaviest = max(children[i], key=lambda child: (weights[child], -child))
        if not any(is_zero(x) for row in links[heaviest].numbers.rotation for x in row):
            turns[i] = _turn(links, i, children[i], heaviest)
    return replace(tree, links=tuple(links), contacts=tuple(_contact(one, turns) for one in tree.contacts))


def _contact(contact: TreeContact, turns: Mapping[int, AboutZ]) -> TreeContact:
    """A contact of links whose frames were turned."""
    return contact._replace(frame=_frame(contact.frame, turns), other=_frame(contact.other, turns))


def _frame(frame: TreeFrame, turns: Mapping[int, AboutZ]) -> TreeFrame:
    turn = turns.get(frame.link)
    if turn is None:
        return frame
    x, y, z = frame.rotation
    return TreeFrame(frame.link, (turn.into(x), turn.into(y), turn.into(z)), turn.into(frame.origin))


def _turn(links: list[Link], i: int, children: Sequence[int], chosen: int) -> AboutZ:
    """Turns frame i about z so that the chosen child's placement begins with a rotation about x; gives the turn."""
    x, y, _ = (float(cast(float, value)) for value in links[chosen].numbers.rotation[2])
    length = math.hypot(x, y)
    turn = AboutZ(number(-y / length), number(x / length))
    links[i] = _turned(links[i], turn)
    for child in children:
        links[child] = _seen(links[child], turn)
    numbers = links[chosen].numbers
    first, second, (_, below, along) = numbers.rotation
    rotation = (first, second, (number(0.0), below, along))
    links[chosen] = replace(links[chosen], numbers=numbers._replace(rotation=rotation))
    return turn


def _turned(link: Link, turn: AboutZ) -> Link:
    """A link in a frame turned about its z."""
    numbers, back = link.numbers, turn.inverse()
    frame = link.body_frame
    x, y, z = (turn.into(frame.rotation.back(e)) for e in vec.IDENTITY_MATRIX)
    return replace(
        link,
        numbers=numbers._replace(
            rotation=_columns(turn, numbers.rotation),
            first=turn.into(numbers.first),
            second=back.back_symmetric(numbers.second),
        ),
        body_frame=Transform(Axes(vec.transpose((x, y, z))), turn.into(frame.translation)),
    )


def _seen(link: Link, turn: AboutZ) -> Link:
    """A child of a link whose frame was turned."""
    numbers = link.numbers
    x, y, z = numbers.rotation
    rotation = (turn.into(x), turn.into(y), turn.into(z))
    return replace(link, numbers=numbers._replace(rotation=rotation, origin=turn.into(numbers.origin)))


def _columns(turn: AboutZ, matrix: vec.Matrix) -> vec.Matrix:
    x, y, z = vec.transpose(matrix)
    return vec.transpose((turn.into(x), turn.into(y), turn.into(z)))


# Regrouping of inertial parameters: the part of a body's inertia that its joint does not move goes to the parent.
#
# As for base inertial parameters (Gautier, Khalil 1990). Exact for every q, v and a: mass on the axis of a revolute
# joint is at rest in both bodies. The inertias that are left need not be those of a body, but all joint-space
# quantities are unchanged and need fewer operations.


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


def normal_form(tree: Tree, form: NormalForm, own_inertia: bool = False) -> Tree:
    """`joint_space`: inertias regrouped and link frames turned, for fewer operations. Else the tree itself, since
    outputs of bodies or frames need the model's own.

    own_inertia: every link keeps its inertia. What regrouping leaves need not be the inertia of a body, and scans of
    articulated elements lose two digits with it.
    """
    if form != "joint_space":
        return tree
    return _joint_space(tree, own_inertia)


@lru_cache(maxsize=8)  # every trace of a tree asks for it
def _joint_space(tree: Tree, own_inertia: bool) -> Tree:
    return reframed(tree if own_inertia else regrouped(tree))
