"""Which contacts of a compiled robot crocoddyl's contact and impulse models stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.model.contact import Contact, anchors_of, gains_of
from condyle.model.placement import Placement
from condyle.text import quoted

Array = NDArray[np.floating]
CONTACT_MODEL_KINDS = {
    "ContactModel3D": "point",
    "ContactModel6D": "plane",
    "ImpulseModel3D": "point",
    "ImpulseModel6D": "plane",
}
CLOSE = 1e-8
"""Placements that are the same [m, 1]: angles of a file are snapped by up to 1e-9 rad."""
ORIGIN = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
"""An anchor at the world's origin: x y z, then its rotation row by row."""


class Held(NamedTuple):
    """Contacts of one node. active (C,), gains (C, 2), anchors (C, 12): as `condyle.specification.ports` has them.

    is_world: forces are in the world's axes, else in the contact's. picks: where the rows of its forces stand among
    those of all contacts, in crocoddyl's order. Loops that the robot closes hold in every node, as they are compiled.
    """

    active: Array
    gains: Array
    anchors: Array
    is_world: bool
    picks: NDArray[np.intp]


def held(items: Sequence[tuple[str, Any]], model: Any, robot: Any, contacts: Sequence[Contact]) -> Held:
    """Of crocoddyl's models, by name in its order. model: Pinocchio's. contacts: those that are compiled.

    UnsupportedError, which names the model, for a kind that there is not, for one without a contact there, and for
    gains that would mean another error.
    """
    is_loop = np.array([one.is_loop for one in contacts], bool)
    gains = np.where(is_loop[:, None], gains_of(contacts), 0.0)
    anchors = np.where(is_loop[:, None], anchors_of(contacts), ORIGIN)
    ends = list(accumulate(len(one.rows) for one in contacts))
    found, worlds = list[int](), set[bool]()
    for name, one in items:
        kind = _kind(name, one)
        k = _index(name, one, kind, model, robot, contacts)
        found.append(k)
        worlds.add(str(one.type) != "LOCAL")
        gains[k] = getattr(one, "gains", (0.0, 0.0))
        if gains[k, 0] and kind == "plane":
            raise UnsupportedError(
                f"contact {quoted(name)} has gains[0] = {gains[k, 0]:g} in 6-D, where crocoddyl's error is log6 and "
                "ours is not: give 0, or take a contact in 3-D"
            )
        if gains[k, 0]:
            anchors[k, :3] = one.reference
    if len(worlds) > 1:
        names = ", ".join(quoted(name) for name, _ in items)
        raise UnsupportedError(f"contacts {names}: some are LOCAL, some are not; give all of them one type")
    picks = [row for k in found for row in range(ends[k] - len(contacts[k].rows), ends[k])]
    active = (is_loop | np.isin(np.arange(len(contacts)), found)).astype(float)
    return Held(active, gains, anchors, False not in worlds, np.array(picks, np.intp))


def _kind(name: str, item: Any) -> str:
    title = type(item).__name__
    if title not in CONTACT_MODEL_KINDS:
        raise UnsupportedError(f"contact {quoted(name)} is a {title}; expected one of {', '.join(CONTACT_MODEL_KINDS)}")
    return CONTACT_MODEL_KINDS[title]


def _index(name: str, item: Any, kind: str, model: Any, robot: Any, contacts: Sequence[Contact]) -> int:
    """The contact that stands where the model's frame does."""
    frame = model.frames[item.id]
    joint, there = str(model.names[frame.parentJoint]), frame.placement
    for k, contact in enumerate(contacts):
        of = robot.frames[contact.frame]
        is_alike = contact.kind == kind and not contact.is_loop and robot.joints[of.body].name == joint
        if is_alike and _same(of.placement.compose(contact.placed), there):
            return k
    raise UnsupportedError(
        f"contact {quoted(name)} is at frame {quoted(str(frame.name))}, where dyn has no contact of kind {kind!r}: "
        f"compile the robot with contacts=[condyle.Contact({str(frame.name)!r}, {kind!r}), ...]"
    )


def _same(a: Placement, b: Any) -> bool:
    pairs = (a.translation, b.translation), (a.rotation, b.rotation)
    return all(np.allclose(one, other, rtol=0, atol=CLOSE) for one, other in pairs)
