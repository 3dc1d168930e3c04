"""Contacts, loop closures and feet as they are drawn: two frames each, fixed on bodies, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array, transpose
from condyle.model.contact import Contact, checked_contacts
from condyle.model.named import suggest
from condyle.model.parts import RobotData
from condyle.model.placement import Placement
from condyle.view.robot_parts import WORLD, Mark, Point

CLOSED = 1e-6
"""A contact whose errors [m, rad] are no larger counts as closed."""
FOOT = "foot"
"""The kind of a mark that shows a foot of a smooth ground."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactMark:
    """One contact, closure or foot.

    frame: the frame of the contact, on its body. anchor: the frame where it is held; None where the contact names none.
    turns: the entries of the rotation that are held as well, of 0, 1, 2. has_normal: whether it is with the ground.
    """

    name: str
    kind: str
    frame: Mark
    anchor: Mark | None
    turns: tuple[int, ...]
    has_normal: bool


def contact_marks(robot: RobotData, contacts: Sequence[Contact], feet: Sequence[object] = ()) -> list[ContactMark]:
    """The marks of contacts, then of feet (`condyle.ground.Foot`). UnsupportedError for one that cannot be."""
    found: list[ContactMark] = []
    taken = set[str]()
    for one in checked_contacts(robot, contacts):
        name = _fresh(one.title, taken)
        own = _mark(robot, name, one.frame, one.placed)
        anchor = None
        if one.other is not None:
            anchor = _mark(robot, name, one.other, one.anchored)
        elif one.anchor is not None:
            anchor = Mark(name, Point(WORLD, one.anchor.translation), one.anchor.rotation)
        turns = tuple(row - 3 for row in one.rows if row >= 3)
        found.append(ContactMark(name, one.kind, own, anchor, turns, not one.is_loop))
    for foot in feet:
        frame, point = str(getattr(foot, "frame", foot)), getattr(foot, "point", (0.0, 0.0, 0.0))
        if frame not in robot.frames:
            known = suggest(frame, tuple(robot.frames))
            raise UnsupportedError(f"ground: foot {frame!r}: there is no such frame{known}")
        name = _fresh(f"foot {frame!r}", taken)
        own = _mark(robot, name, frame, Placement.from_rpy(point))
        found.append(ContactMark(name, FOOT, own, None, (), True))
    return found


def _fresh(name: str, taken: set[str]) -> str:
    """The name, or the first of `name (2)`, `name (3)` that is not taken."""
    tried, count = name, 1
    while tried in taken:
        count += 1
        tried = f"{name} ({count})"
    taken.add(tried)
    return tried


def _mark(robot: RobotData, name: str, frame: str, inner: Placement) -> Mark:
    body, placement = robot.frames[frame]
    place = placement.compose(inner)
    return Mark(name, Point(body, place.translation), place.rotation)


def openings(mark: ContactMark, frame: tuple[Array, Array], anchor: tuple[Array, Array]) -> tuple[float, float]:
    """How far a contact is from its anchor: [m], and [rad] of what is held of the rotation.

    frame, anchor: rotation (3, 3) and origin (3,) of each frame in the world. The numbers are the lengths of the two
    parts of `constraint_errors`.
    """
    (turn, at), (held_turn, held_at) = frame, anchor
    kept = rotation_vector(transpose(held_turn) @ turn)[list(mark.turns)]
    return float(np.linalg.norm(at - held_at)), float(np.linalg.norm(kept))


def rotation_vector(turn: Array) -> Array:
    """The logarithm (3,) [rad] of a rotation matrix (3, 3); of half a turn one of the two, which are opposite.

    `algorithms.contacts.logarithm`, which is compiled, is for angles below half a turn only.
    """
    twice = np.array((turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]))
    sine, cosine = 0.5 * float(np.linalg.norm(twice)), 0.5 * (float(np.trace(turn)) - 1.0)
    if sine < 1e-12:
        if cosine > 0.0:
            return np.zeros(3)
        column = (turn + np.eye(3))[:, int(turn.diagonal().argmax())]  # turn + 1 is 2 n n^T, n the axis
        return column * (math.pi / float(np.linalg.norm(column)))
    return twice * (math.atan2(sine, cosine) / (2.0 * sine))


def said(mark: ContactMark, opening: tuple[float, float]) -> str:
    """How far a contact is open, in words; "" where it is closed."""
    metres, radians = opening
    if max(metres, radians) <= CLOSED:
        return ""
    return f"{metres:.3g} m" + (f", {radians:.3g} rad" if mark.turns else "")
