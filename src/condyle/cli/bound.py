"""Options that say what functions are compiled for: frames and contacts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import condyle


def add_frames(command: argparse.ArgumentParser) -> None:
    """Of functions that answer for frames."""
    command.add_argument(
        "--frames", metavar="A,B", type=_names, default=(), help="frames that frame functions answer for, by name"
    )
    command.add_argument(
        "--contacts", metavar="A,B", type=_names, default=(), help="frames whose origins functions of contacts hold"
    )


def contacts_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[condyle.Contact, ...]:
    """Points that were named; else the file's closures, else the frame at a tip, where it moves."""
    from condyle.model.contact import Contact
    from condyle.options import tip_frame

    if arguments.contacts or robot.contacts:
        return tuple(map(Contact, arguments.contacts)) or robot.contacts
    tip = tip_frame(robot.frames)
    return (Contact(tip),) if robot.frames[tip].body >= 0 else ()


def frames_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[str, ...]:
    """The frames that were named; else one at a tip."""
    from condyle.options import tip_frame

    return arguments.frames or (tip_frame(robot.frames),)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
