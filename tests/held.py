"""Contacts that any robot can have: for tests of every function."""

from __future__ import annotations

from functools import cache

from condyle import Contact, Robot
from condyle.functions import FUNCTIONS
from condyle.functions.contacts import CONTACTS
from condyle.model.placement import Placement
from condyle.options import tip_frame

OFF = Placement.from_rpy((0.1, -0.2, 0.15), (0.3, 0.2, -0.4))


@cache
def held(robot: Robot, function: str = "cfd") -> tuple[Contact, ...]:
    """A point beside the frame at a tip; none where no body moves, and none for functions that know no contacts.

    Steps know them by flags that are open numbers: they are tested in `tests/contacts`.
    """
    tip = tip_frame(robot.frames)
    if robot.frames[tip].body < 0 or CONTACTS[0] not in FUNCTIONS[function].options:
        return ()
    return (Contact(tip, placement=OFF, gains=(0.0, 0.5)),)
