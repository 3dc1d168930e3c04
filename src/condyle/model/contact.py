"""Contacts and loop closures as data: which frame is held, in which directions, against what."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from condyle.errors import Finding, ModelWarning, UnsupportedError, listed
from condyle.model.actuator import left_out
from condyle.model.array import Array, transpose
from condyle.model.change import assemble, lock, reroot
from condyle.model.description import Link
from condyle.model.named import suggest
from condyle.model.parts import Frame, RobotData
from condyle.model.placement import IDENTITY, Placement
from condyle.model.shapes import Shape
from condyle.text import few

CONTACT_KINDS: Mapping[str, tuple[int, ...]] = {
    "point": (0, 1, 2),
    "line": (0, 1, 2, 4, 5),
    "plane": (0, 1, 2, 3, 4, 5),
}
"""Which entries of the relative motion [linear; angular] each kind holds, in the contact's axes."""

HERE = Placement(np.eye(3), np.zeros(3))


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """A frame that does not move against the world, or against a frame of another body.

    frame: a name of `robot.frames`, on a body that moves. kind: "point" holds the origin; "line" holds the origin and
    all rotations but the one about the contact's x axis; "plane" holds the whole frame. other: a frame of another body;
    None is the world. placement: of the contact in `frame`; None is the origin of `frame`. gains: (kp [1/s^2], kd
    [1/s]) of Baumgarte's stabilisation, J a + gamma + kd J v + kp e = 0. anchor: placement in `other`, or in the world,
    where the contact is held; None is the origin of `other`; in the world it is needed if kp is not zero. shape, point:
    of a contact that `Robot.shape_contacts` makes, at the centre of its shape: grounds say where it touches.
    Errors: UnsupportedError for an unknown kind, a name that is no text, and for gains that are negative or not finite.
    """

    frame: str
    kind: str = "point"
    other: str | None = None
    placement: Placement | None = None
    gains: tuple[float, float] = (0.0, 0.0)
    anchor: Placement | None = None
    shape: Shape | None = None
    point: int = 0

    def __post_init__(self) -> None:
        for name, value in (("frame", self.frame), ("other", self.other)):
            if not isinstance(value, str) and (name, value) != ("other", None):
                raise UnsupportedError(f"Contact: {name}={value!r}: give a name of robot.frames")
        if self.kind not in CONTACT_KINDS:
            raise UnsupportedError(
                f"{self.title}: kind={self.kind!r}; allowed is {', '.join(map(repr, CONTACT_KINDS))}"
            )
        for name, value in (("placement", self.placement), ("anchor", self.anchor)):
            if value is not None and not isinstance(value, Placement):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UnsupportedError(f"{self.title}: {name}={value!r}: give a Placement of condyle.model.placement")
            if value is not None and not value.is_rigid:
                raise UnsupportedError(
                    f"{self.title}: {name}={value!r}: its matrix is no rotation, or it is not finite"
                )
        try:
            gains = np.asarray(self.gains, np.float64)
        except (TypeError, ValueError):
            gains = np.zeros(0)
        if gains.shape != (2,) or not np.all(np.isfinite(gains)) or np.any(gains < 0.0):
            raise UnsupportedError(
                f"{self.title}: gains={self.gains!r}; give (kp, kd), two finite numbers from 0 on [1/s^2, 1/s]"
            )
        object.__setattr__(self, "gains", (float(gains[0]), float(gains[1])))
        if self.shape is not None and not (
            isinstance(self.shape, Shape)  # pyright: ignore[reportUnnecessaryIsInstance]
            and (self.kind, self.frame, self.placement) == ("point", self.shape.frame, self.shape.placement)
            and self.point in range(self.shape.points)
        ):
            raise UnsupportedError(f"{self.title}: shape={self.shape!r}: take contacts of robot.shape_contacts()")

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"contact {self.frame!r}" + ("" if self.other is None else f" on {self.other!r}")

    @property
    def is_loop(self) -> bool:
        """Whether it ties two bodies, and not one to the world."""
        return self.other is not None

    @property
    def rows(self) -> tuple[int, ...]:
        """The entries of the relative motion that are held."""
        return CONTACT_KINDS[self.kind]

    @property
    def placed(self) -> Placement:
        """The contact in its frame."""
        return self.placement or HERE

    @property
    def anchored(self) -> Placement:
        """Where it is held, in the other frame or in the world."""
        return self.anchor or HERE


def checked_contacts(robot: RobotData, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """These contacts; UnsupportedError, which names the contact, for one that this robot cannot have."""
    listed = isinstance(contacts, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not listed or not all(isinstance(one, Contact) for one in contacts):  # pyright: ignore
        raise UnsupportedError(f"contacts={contacts!r}: give a list of condyle.Contact")
    seen = set[tuple[object, ...]]()
    for one in contacts:
        _check(robot.frames, one)
        solid = None if one.shape is None else (one.shape.kind, one.shape.size, one.point)
        key = one.frame, one.other, one.placed.translation.tobytes(), solid
        if key in seen:
            raise UnsupportedError(f"{one.title} is there twice; leave one out")
        seen.add(key)
    return tuple(contacts)


def _check(frames: Mapping[str, Frame], contact: Contact) -> None:
    for name in (contact.frame, *(() if contact.other is None else (contact.other,))):
        if name not in frames:
            raise UnsupportedError(f"{contact.title}: there is no frame {name!r}{suggest(str(name), tuple(frames))}")
    own, other = frames[contact.frame].body, -1 if contact.other is None else frames[contact.other].body
    if own < 0:
        raise UnsupportedError(
            f"{contact.title}: frame {contact.frame!r} is fixed to the world; name a frame that moves"
        )
    if contact.other is not None and other < 0:
        raise UnsupportedError(f"{contact.title}: frame {contact.other!r} is fixed to the world; leave `other` out")
    if own == other:
        raise UnsupportedError(f"{contact.title}: both frames are on the same body, so that they never move")


def shape_contacts(robot: RobotData, which: Sequence[str | Shape] | None) -> tuple[Contact, ...]:
    """See `Robot.shape_contacts`."""
    left_out = () if robot.file_notes is None else robot.file_notes.shapes
    said = f"; left out of the file: {few(left_out, 5)}" if left_out else ""
    if which is None:
        if said and robot.shapes:
            warnings.warn(ModelWarning(f"shape_contacts of robot {robot.name!r}{said}"), stacklevel=3)
        which = [shape for shape in robot.shapes if shape.frame in robot.frames and robot.frames[shape.frame].body >= 0]
    if isinstance(which, str) or not all(isinstance(one, str | Shape) for one in which):  # pyright: ignore
        raise UnsupportedError(
            f"shape_contacts: {which!r}: give a list of names of shapes or frames, or of condyle.Shape"
        )
    shapes = list[Shape]()
    for one in which:
        own = [one] if isinstance(one, Shape) else [shape for shape in robot.shapes if one in (shape.frame, shape.name)]
        if not own:
            names = tuple(dict.fromkeys(x for shape in robot.shapes for x in (shape.frame, shape.name) if x))
            raise UnsupportedError(
                f"shape_contacts: there is no shape {one!r}, and none of a frame {one!r}"
                f"{suggest(str(one), names) if names else ''}{said}; name it: condyle.Shape('sphere', 0.02, {one!r})"
            )
        shapes += own
    if not shapes:
        raise UnsupportedError(f"shape_contacts: the robot has no shapes{said}; name some, as condyle.Shape")
    points = [(shape, k) for shape in shapes for k in range(shape.points)]
    contacts = [Contact(shape.frame, placement=shape.placement, shape=shape, point=k) for shape, k in points]
    return checked_contacts(robot, contacts)


def gains_of(contacts: Sequence[Contact]) -> Array:
    """(C, 2): kp, kd of each contact."""
    return np.reshape(np.array([one.gains for one in contacts], np.float64), (-1, 2))


def normals_of(contacts: Sequence[Contact]) -> Array:
    """(C, 3): upwards in the world."""
    return np.tile((0.0, 0.0, 1.0), (len(contacts), 1))


def anchors_of(contacts: Sequence[Contact]) -> Array:
    """(C, 12): of each anchor x y z, then its rotation row by row."""
    rows = [[*one.anchored.translation, *np.ravel(one.anchored.rotation)] for one in contacts]
    return np.reshape(np.array(rows, np.float64), (-1, 12))


# Closures that a robot has of its own: named where links stand, and settled once links are merged into bodies.


CLOSED = 1e-6
"""A loop that is open by less, in metres and radians, is closed."""


class Gap(NamedTuple):
    """How far a loop is open [m, rad], in the directions that its contact holds."""

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
    apart = transpose(here.rotation) @ (here.translation - there.translation)
    turn = transpose(there.rotation) @ here.rotation
    linear, angular = ([k for k in range(3) if first + k in contact.rows] for first in (0, 3))
    if len(angular) == 2:  # how far the free axis is tilted
        (free,) = {0, 1, 2} - {*angular}
        angle = np.arctan2(np.linalg.norm(turn[angular, free]), turn[free, free])
    else:  # of the whole turn, of its part about one axis, or of nothing
        sine = np.array((turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]))[angular]
        cosine = np.trace(turn) - (turn[angular[0], angular[0]] if len(angular) == 1 else 1.0)
        angle = np.arctan2(np.linalg.norm(sine), cosine) if angular else 0.0
    return Gap(float(np.linalg.norm(apart[linear])), float(angle))


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
    changed = assemble(lock(robot, values))
    return _aloud(changed, left_out(robot.actuators, changed.actuators))


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


def _aloud(robot: RobotData, notes: Sequence[Finding] = ()) -> RobotData:
    """The robot, settled; a ModelWarning names what is left out."""
    changed, findings = settled(robot)
    findings = [*findings, *notes]
    if findings:
        warnings.warn(ModelWarning(listed(findings), findings), stacklevel=4)
    return changed
