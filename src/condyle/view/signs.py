"""Contacts, loop closures and the ground in a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condyle.model.array import Array, transpose
from condyle.text import printable
from condyle.view.contacts import ContactMark, said
from condyle.view.picture import Sheet
from condyle.view.scene import Scene

NORMAL, SMALL = 0.09, 0.035
"""Lengths as a share of the robot's size: of a normal, and of the axes of a contact's frame."""
OWN, HELD = 3.0, 5.5
"""Radii [px]: of the dot at a contact, and of the ring where it is held."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One robot at one time, and how opaque it is drawn."""

    time: int
    robot: int
    opacity: float


def draw_surface(sheet: Sheet, scene: Scene) -> None:
    """The net of the ground under each robot."""
    for net in scene.nets():
        for lines in (net, np.swapaxes(net, 0, 1)):
            for line in lines:
                sheet.line(list(line), "ground", 0.6)


def draw_contacts(sheet: Sheet, scene: Scene, shot: Shot, aloud: bool) -> None:
    """Each contact: its two frames, a line between them, the normal; aloud: with the error in words."""
    for contact in scene.contacts:
        turn, at = scene.pose_at(shot.time, shot.robot, contact.frame)
        _held(sheet, scene, shot, contact, at, aloud)
        _axes(sheet, scene, shot, turn, at)
        title = f"{printable(contact.name)}: {contact.kind}"
        sheet.dot(at, OWN, "contact solid", shot.opacity, title)
        normal = scene.normal(shot.time, shot.robot, contact)
        if normal is not None:
            tip = at + NORMAL * scene.size * normal
            sheet.arrow(at, tip, "contact", shot.opacity, f"normal at {printable(contact.name)}")


def _held(sheet: Sheet, scene: Scene, shot: Shot, contact: ContactMark, point: Array, aloud: bool) -> None:
    """The frame where a contact is held, the line to it, and how far they are apart."""
    opening = scene.opening(shot.time, shot.robot, contact)
    if contact.anchor is None or opening is None:
        return
    turn, end = scene.pose_at(shot.time, shot.robot, contact.anchor)
    words = said(contact, opening)
    title = f"{printable(contact.name)}: {'open by ' + words if words else 'closed'}"
    _axes(sheet, scene, shot, turn, end)
    sheet.dot(end, HELD, "contact", shot.opacity, title)
    if words:
        sheet.line([point, end], "contact", shot.opacity, title)
    if words and aloud:
        x, y = sheet.pixel(0.5 * (point + end))
        _ = sheet.words((x + 9.0, y + 14.0), words, "name") or sheet.words((x - 9.0, y + 14.0), words, "name", "end")


def _axes(sheet: Sheet, scene: Scene, shot: Shot, turn: Array, origin: Array) -> None:
    for letter, axis in zip("xyz", transpose(turn), strict=True):
        sheet.line([origin, origin + SMALL * scene.size * axis], letter, shot.opacity)
