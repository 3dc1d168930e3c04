"""What is to be said of a robot's file when the robot is compiled."""

from __future__ import annotations

from typing import NamedTuple


class FileNotes(NamedTuple):
    """What a file says that no function applies, and what is read otherwise than by other programs, in words.

    Numbers that joints have (damping, friction, limits) are not repeated here: see `unapplied`.
    """

    ignored: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
