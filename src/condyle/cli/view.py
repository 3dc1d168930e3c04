"""`condyle view`: a robot in the browser, standing still or along a trajectory, or its picture in a file."""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from condyle.cli.common import Loaded, add_robot, load_aloud, say, show, show_json, titled, words
from condyle.errors import ModelWarning, UnsupportedError
from condyle.specification.integrators import LAYERS, THEMES, VIEWS

PORT = 8080


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Show a robot: bodies as ellipsoids of their inertia, links, joint axes, frames, the centre of mass, contacts "
        "and loop closures. It is shown in the browser until Ctrl-C, which needs pip install 'condyle[view]'. With "
        "--out it is drawn into a file; an .svg file needs no further package. docs/how-to/viewer.md says what each "
        "mark is."
    )
    command.epilog = "example: condyle view hyq --floating-base --out hyq.svg"
    add_robot(command)
    command.add_argument(
        "--q",
        metavar="X,Y,..",
        type=_numbers,
        help="the configuration, nq numbers in rad and m (default: the neutral one)",
    )
    command.add_argument(
        "--trajectory",
        metavar="FILE",
        type=Path,
        help="a trajectory: an .npy file with q of shape (T, nq) or (N, T, nq), or an .npz file with it as 'q'. An "
        ".npz file may also hold 'dt', the seconds between states, and 'contact_forces' of shape (T, C, 6) or "
        "(N, T, C, 6)",
    )
    command.add_argument(
        "--dt",
        metavar="S",
        type=float,
        help="seconds between two states of the trajectory, more than 0 (default: those of the file, else 0.01)",
    )
    command.add_argument(
        "--layers",
        metavar="NAME,NAME",
        type=_layers,
        help=f"what is drawn, some of {','.join(LAYERS)} (default: all but limits; on a page few names only)",
    )
    command.add_argument(
        "--spacing",
        metavar="M",
        type=float,
        help="distance between two robots of a batch, in m (default: by their size; 0: at the same place)",
    )
    command.add_argument(
        "--contacts",
        metavar="NAME,NAME",
        type=_names,
        help="mark point contacts at the origins of these frames (default: the loop closures of the model)",
    )
    command.add_argument(
        "--ground",
        metavar="X,Y,Z,D",
        type=_ground,
        help="draw a plane: its normal X,Y,Z in world axes, of any length, and its distance D in m from the origin "
        "along the normal; 0,0,1,0 is the level ground",
    )
    command.add_argument(
        "--meshes",
        action="store_true",
        help="show the meshes and the boxes, balls and cylinders of the model's file on the page; files of meshes are "
        "read from its folder and from --assets only",
    )
    command.add_argument("--out", metavar="FILE", type=Path, help="draw into this file, .svg, or .png with matplotlib")
    command.add_argument(
        "--view", choices=VIEWS, default="iso", help="direction from which a picture is drawn (default iso)"
    )
    command.add_argument(
        "--theme",
        choices=THEMES,
        default="auto",
        help="colours; auto: those that the reader's system prefers (default)",
    )
    command.add_argument(
        "--port",
        type=_port,
        default=PORT,
        help=f"port of the page on this machine, 1 to 65535 (default {PORT}; if it is taken, the next free one)",
    )
    command.add_argument("--no-browser", action="store_true", help="print the address of the page and open no browser")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.trajectory is not None and arguments.q is not None:
        raise UnsupportedError("--q and --trajectory: give one of them")
    if arguments.meshes and arguments.out is not None:
        raise UnsupportedError(
            "--meshes and --out: meshes are shown on a page, not in a picture; leave out one of them"
        )
    given = _states(arguments)
    loaded = load_aloud(arguments)
    chosen: dict[str, Any] = {**given, "spacing": arguments.spacing, "layers": arguments.layers}
    chosen |= _marks(arguments)
    if arguments.meshes:
        chosen |= {"meshes": arguments.robot, "assets": arguments.assets}
    if arguments.out is not None:
        return _draw(loaded, arguments, chosen)
    quiet = arguments.no_browser or not _has_display()
    with _aloud():
        page = loaded.robot.show(arguments.q, port=arguments.port, browser=not quiet, **chosen)
    if page is None:
        raise AssertionError("a page was asked for")
    with page:
        if arguments.json:
            show_json({"address": page.address})
        else:
            show(f"{page.address} shows {loaded.robot.name}; Ctrl-C ends it")
        page.wait()
    return 0


def _states(arguments: argparse.Namespace) -> dict[str, Any]:
    """The trajectory of the file that is named, and dt: the arguments of `Robot.show`."""
    from condyle.view.states import checked_dt, read_trajectory

    given: dict[str, Any] = {} if arguments.dt is None else {"dt": checked_dt(arguments.dt, "--dt")}
    if arguments.trajectory is not None:
        found = read_trajectory(arguments.trajectory)
        given["trajectory"] = found.q
        if found.dt is not None:
            given.setdefault("dt", found.dt)
        if found.contact_forces is not None:
            given["contact_forces"] = found.contact_forces
    return given


def _marks(arguments: argparse.Namespace) -> dict[str, Any]:
    """Contacts and ground: the arguments of `Robot.show`."""
    from condyle import Contact
    from condyle.ground import Plane

    given: dict[str, Any] = {}
    if arguments.contacts is not None:
        given["contacts"] = [Contact(name) for name in arguments.contacts]
    if arguments.ground is not None:
        given["ground"] = Plane(arguments.ground[:3], arguments.ground[3])
    return given


@contextmanager
def _aloud() -> Generator[None]:
    """What is odd in the files of meshes is said as the warnings of the model are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield
    for one in caught:
        for line in str(one.message).split("\n"):
            say(titled(line))


def _draw(loaded: Loaded, arguments: argparse.Namespace, chosen: dict[str, Any]) -> int:
    out: Path = arguments.out
    loaded.robot.show(arguments.q, file=out, view=arguments.view, theme=arguments.theme, **chosen)
    if arguments.json:
        show_json({"file": str(out)})
    else:
        show(f"wrote {out}")
    return 0


def _has_display() -> bool:
    """Whether a browser can be expected: without one, text browsers would take the terminal."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _layers(text: str) -> tuple[str, ...]:
    return words(text, LAYERS)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(word.strip() for word in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names of frames such as lf_foot,rf_foot")
    return names


def _ground(text: str) -> tuple[float, ...]:
    numbers = tuple(_numbers(text))
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)) or not any(numbers[:3]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a plane: four numbers, not 0,0,0,D, such as 0,0,1,0")
    return numbers


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 1 to 65535")
    return int(text)


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 0,1.5,-0.2") from None
