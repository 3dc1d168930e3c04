"""Contacts that any robot can have: for tests of every function."""

from __future__ import annotations

from functools import cache

from condyle import Contact, Robot
from condyle.functions import FUNCTIONS
from condyle.functions.constraints import CONTACTS
from condyle.model.placement import Placement

OFF = Placement.from_rpy((0.1, -0.2, 0.15), (0.3, 0.2, -0.4))


@cache
def held(robot: Robot, function: str = "cfd") -> tuple[Contact, ...]:
    """A point beside the frame that most joints move: fewer than three contradict its rows, and their forces are what
    rounding leaves. None where no body moves, and none for functions that know no contacts.

    Steps know them by flags that are open numbers: they are tested in `tests/contacts`.
    """
    tip = max(robot.frames, key=lambda name: (coordinates_before(robot, name), list(robot.frames).index(name)))
    if robot.frames[tip].body < 0 or CONTACTS[0] not in FUNCTIONS[function].options:
        return ()
    return (Contact(tip, placement=OFF, gains=(0.0, 0.5)),)


def coordinates_before(robot: Robot, frame: str) -> int:
    """How many entries of v move a frame, at most."""
    body, count = robot.frames[frame].body, 0
    while body >= 0:
        count, body = count + robot.joints[body].nv, robot.joints[body].parent
    return count
