"""Options that say what functions are compiled for: frames and contacts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import condyle


AT_A_TIP = "the last frame of the last body"


def add_frames(command: argparse.ArgumentParser, frames: str = AT_A_TIP, contacts: str = AT_A_TIP) -> None:
    """The frames and contacts that functions are compiled for; frames, contacts: what stands for them by default."""
    command.add_argument(
        "--frames",
        metavar="A,B",
        type=_names,
        default=(),
        help=f"names of the frames that functions of frames compute (default: {frames})",
    )
    command.add_argument(
        "--contacts",
        metavar="A,B",
        type=_names,
        default=(),
        help="names of the frames whose origins functions of contacts hold fixed (default: the loops that the file "
        f"closes, else {contacts})",
    )


def contacts_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[condyle.Contact, ...]:
    """Points that were named; else the file's closures, else the frame at a tip, where it moves."""
    from condyle.compile.options import tip_frame
    from condyle.model.contact import Contact

    if arguments.contacts or robot.contacts:
        return tuple(map(Contact, arguments.contacts)) or robot.contacts
    tip = tip_frame(robot.frames)
    return (Contact(tip),) if robot.frames[tip].body >= 0 else ()


def frames_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[str, ...]:
    """The frames that were named; else one at a tip."""
    from condyle.compile.options import tip_frame

    return arguments.frames or (tip_frame(robot.frames),)


def check_bound(robot: condyle.Robot, arguments: argparse.Namespace) -> None:
    """UnsupportedError for frames and contacts that the robot does not have."""
    from condyle.compile.options import bound_of

    bound_of(robot, frames_of(robot, arguments), contacts=contacts_of(robot, arguments))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
