"""Closures that a robot has of its own: named where links stand, and settled once links are merged into bodies."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from condyle.errors import Finding, ModelWarning, UnsupportedError, listed
from condyle.model.array import Array, transpose
from condyle.model.change import lock, reroot, suggest
from condyle.model.contact import Contact
from condyle.model.description import Link
from condyle.model.parts import Frame, RobotData
from condyle.model.placement import IDENTITY, Placement
from condyle.model.topology import assemble

CLOSED = 1e-6
"""A loop that is open by less, in metres and radians, is closed."""


class Gap(NamedTuple):
    """How far a loop is open [m, rad]; no angle for a contact that holds none."""

    distance: float
    angle: float

    @property
    def is_open(self) -> bool:
        return self.distance > CLOSED or self.angle > CLOSED

    def __str__(self) -> str:
        angle = f" and {self.angle:.3g} rad" if self.angle > CLOSED else ""
        return f"{self.distance:.3g} m{angle}"


def gap_of(contact: Contact, placement: Placement, other: Placement) -> Gap:
    """Of a contact whose frame stands at `placement` and whose other frame (or world) at `other`, both in one frame."""
    here, there = placement.compose(contact.placed), other.compose(contact.anchored)
    turn = transpose(there.rotation) @ here.rotation
    if contact.kind == "line":  # its own x axis is the one that it turns about
        angle = float(np.arctan2(np.linalg.norm(turn[1:, 0]), turn[0, 0]))
    else:
        sine = np.linalg.norm((turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]))
        angle = 0.0 if contact.kind == "point" else float(np.arctan2(sine, np.trace(turn) - 1.0))
    return Gap(float(np.linalg.norm(here.translation - there.translation)), angle)


def turned(contact: Contact, placement: Placement) -> Contact:
    """The contact held from its other side, for a frame that is fixed to the world and stands there at `placement`."""
    if contact.other is None:
        raise ValueError("a contact with the world has no other side")
    return Contact(
        contact.other, contact.kind, None, contact.anchored, contact.gains, placement.compose(contact.placed)
    )


def unknown_ends(contacts: Iterable[Contact], links: Sequence[Link], file: str | None) -> list[Finding]:
    """An error for every contact that names a link which is not there."""
    names = tuple(link.name for link in links)
    known = set(names)
    return [
        Finding("error", f"there is no frame {name!r}{suggest(name, names)}", file, element=one.title)
        for one in contacts
        for name in (one.frame, *(() if one.other is None else (one.other,)))
        if name not in known
    ]


def settled(robot: RobotData, file: str | None = None) -> tuple[RobotData, list[Finding]]:
    """The robot whose contacts have moving frames: what is fixed to the world is the world, what cannot move is out."""
    findings: list[Finding] = []
    kept: list[Contact] = []
    for one in robot.contacts:
        found = _settled(robot.frames, one)
        if isinstance(found, Contact):
            kept.append(found)
        else:
            findings.append(Finding("physics", found, file, element=one.title))
    same = len(kept) == len(robot.contacts) and all(a is b for a, b in zip(kept, robot.contacts, strict=True))
    return (robot if same else replace(robot, contacts=tuple(kept))), findings


def _settled(frames: Mapping[str, Frame], contact: Contact) -> Contact | str:
    """The contact, or why it holds nothing."""
    own, at = frames[contact.frame]
    other, there = (-1, None) if contact.other is None else frames[contact.other]
    if own == other:
        where = "fixed to the world" if own < 0 else "on one body"
        open_by = Gap(0.0, 0.0)
        if there is not None or contact.anchor is not None:
            open_by = gap_of(contact, at, there or IDENTITY)
        torn = f", {open_by} apart" if open_by.is_open else ""
        ends = "it is" if contact.other is None else "both of its frames are"
        return f"holds nothing and is left out: {ends} {where}{torn}"
    if own < 0:
        return turned(contact, at)
    if there is not None and other < 0:
        return replace(contact, other=None, anchor=there.compose(contact.anchored))
    return contact


def locked(robot: RobotData, values: Mapping[str, float | Sequence[float] | Array]) -> RobotData:
    """See `Robot.lock`."""
    return _aloud(assemble(lock(robot, values)))


def rerooted(robot: RobotData, link: str) -> RobotData:
    """See `Robot.reroot`: where a fixed base starts to move, what the world held is held by the old root."""
    description = reroot(robot, link)
    if robot.base is not None:
        there = robot.frames[robot.base.name].placement
        description = replace(description, contacts=_hung(robot.contacts, robot.base.name, there))
    return _aloud(assemble(description))


def _hung(contacts: Iterable[Contact], base: str, place: Placement) -> tuple[Contact, ...]:
    """Contacts with the world as contacts with `base`, which stands there at `place`."""
    back, found = place.inverse(), list[Contact]()
    for one in contacts:
        if one.other is None:
            if one.anchor is None:
                raise UnsupportedError(f"{one.title}: the world that holds it would move; give the contact an anchor")
            one = replace(one, other=base, anchor=back.compose(one.anchor))
        found.append(one)
    return tuple(found)


def _aloud(robot: RobotData) -> RobotData:
    """The robot, settled; a ModelWarning names what is left out."""
    changed, findings = settled(robot)
    if findings:
        warnings.warn(ModelWarning(listed(findings), findings), stacklevel=4)
    return changed
