"""What the subcommands share: the robot's arguments, printing, progress."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import condyle
from condyle.errors import Finding, ModelWarning, UnsupportedError, listed
from condyle.specification.integrators import BUNDLED, DTYPES, MIMICS, TARGETS, UNMODELLED
from condyle.text import printable, printable_lines

# Values of options, from the text that was typed; argparse says which option a message is about.


def gravity(text: str) -> tuple[float, ...]:
    """Three numbers X,Y,Z [m/s^2]."""
    numbers = tuple(_number(word) for word in text.split(","))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise argparse.ArgumentTypeError(f"{text!r} is not X,Y,Z, three numbers such as 0,0,-9.81")
    return numbers


def snap(text: str) -> float:
    """An angle [rad]."""
    angle = _number(text)
    if not 0.0 <= angle < 0.1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an angle of 0 to 0.1 rad")
    return angle


def seconds(text: str) -> float:
    """A number of seconds, more than 0."""
    found = _number(text)
    if not 0.0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds such as 60")
    return found


def size(text: str) -> int:
    """A number of bytes, with K, M or G."""
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    number = text[:-1] if scale else text
    if not number.isdecimal() or not 0 < int(number) << scale < 1 << 50:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 512M or 4G")
    return int(number) << scale


def _number(text: str) -> float:
    """NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def lock(text: str) -> tuple[str, float]:
    """A joint and the value that it is fixed at: JOINT=VALUE."""
    name, separator, value = text.rpartition("=")
    try:
        if not separator or not name:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not JOINT=VALUE such as finger_joint=0.0") from None


BAR = 20
Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


@dataclass(frozen=True)
class Loaded:
    """A robot, the word that named it and the warnings of its loading."""

    robot: condyle.Robot
    source: str
    warnings: tuple[str, ...]
    """Lines, each with its severity in front."""
    findings: tuple[Finding, ...] = ()
    """What they say, as data."""


def add_robot(command: argparse.ArgumentParser, optional: bool = False) -> None:
    """The arguments that say which robot, and --json."""
    command.add_argument(
        "robot",
        metavar="ROBOT",
        nargs="?" if optional else None,
        help=f"a URDF or MJCF file, or the name of a bundled robot: {', '.join(BUNDLED)}",
    )
    add_json(command)
    robot = command.add_argument_group("how the robot is loaded")
    robot.add_argument(
        "--floating-base",
        action="store_true",
        help="add a free joint between the world and the root link (default: the root link is fixed to the world)",
    )
    robot.add_argument(
        "--lock",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        type=lock,
        help="fix this joint at VALUE, in rad or m; give the option once for each joint",
    )
    robot.add_argument(
        "--mimic",
        choices=MIMICS,
        default="exact",
        help="exact: a mimic joint follows the joint that it names (default); independent: it moves on its own",
    )
    robot.add_argument(
        "--gravity",
        metavar="X,Y,Z",
        type=gravity,
        help="acceleration of gravity in world axes, m/s^2 (default: the file's, else 0,0,-9.81); if X is negative, "
        "write --gravity=-1,0,0",
    )
    robot.add_argument(
        "--snap",
        metavar="RAD",
        type=snap,
        default=1e-9,
        help="an angle of the file that is within RAD of a multiple of pi/2 is taken as that multiple; 0 to 0.1 rad "
        "(default 1e-9; 0 changes no angle)",
    )
    robot.add_argument(
        "--strict",
        action="store_true",
        help="doubtful masses and inertias of the file are errors (default: warnings)",
    )
    robot.add_argument(
        "--unmodelled",
        choices=UNMODELLED,
        default="refuse",
        help="tendons that act, flexes, plugins and some equalities of an MJCF file; refuse: they are an error "
        "(default); ignore: they are left out",
    )
    robot.add_argument(
        "--assets",
        metavar="DIR",
        action="append",
        default=[],
        help="one more folder from which includes and meshes of the file may be read (default: only the folder of the "
        "file); give the option once for each folder",
    )
    robot.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=60.0,
        help="an MJCF file is compiled in at most S seconds (default 60)",
    )
    robot.add_argument(
        "--memory",
        metavar="BYTES",
        type=size,
        default=2 << 30,
        help="an MJCF file is compiled in at most this much memory, such as 512M or 4G (default 2G)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of text")


def load(arguments: argparse.Namespace) -> Loaded:
    """The robot that the arguments name; its warnings are kept, not printed."""
    from condyle.compile.options import bound_of  # not for --help, which needs no NumPy
    from condyle.model.parts import unapplied, without_notes

    source: str = arguments.robot
    locks: list[tuple[str, float]] = arguments.lock
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        robot = condyle.load(
            source,
            floating_base=bool(arguments.floating_base),
            gravity=arguments.gravity,
            strict=bool(arguments.strict),
            snap=arguments.snap,
            mimic=arguments.mimic,
            unmodelled=arguments.unmodelled,
            assets=arguments.assets,
            timeout=arguments.timeout,
            memory=arguments.memory,
        )
        if locks:
            robot = robot.lock(dict(locks))
    heard = [w.message for w in caught if isinstance(w.message, ModelWarning)]
    drives = {name: value for name, value in vars(arguments).items() if name in ("joint_forces", "actuators")}
    if line := unapplied(robot, drives=bound_of(robot, contacts=(), **drives).drives):
        notes = (Finding("note", line),)
        heard.append(ModelWarning(listed(notes), notes))
    lines = tuple(line for warning in heard for line in str(warning).split("\n"))
    findings = tuple(finding for warning in heard for finding in warning.findings)
    return Loaded(without_notes(robot), source, lines, findings)


def load_aloud(arguments: argparse.Namespace) -> Loaded:
    """The same; its warnings go to stderr."""
    loaded = load(arguments)
    for line in loaded.warnings:
        say(titled(line))
    return loaded


def titled(line: str) -> str:
    """A line of a warning, with what it is in front; a note says so itself."""
    return line if line.startswith("note: ") else f"warning: {line}"


def show_snapped(robot: condyle.Robot) -> None:
    """How many angles of the file were taken as multiples of pi/2, if any were."""
    n, largest = robot.snapped.count, robot.snapped.largest
    what = "1 angle of the file was" if n == 1 else f"{n} angles of the file were"
    if n:
        show(
            f"note: {what} within {robot.snap:g} rad of a multiple of pi/2 and taken as that multiple; the largest "
            f"change is {largest:.1e} rad. --snap 0 keeps the angles as the file has them"
        )


def snapped_json(robot: condyle.Robot) -> dict[str, Json]:
    """The same, none included, as numbers."""
    return {"count": robot.snapped.count, "largest": robot.snapped.largest}


def add_machine(command: argparse.ArgumentParser) -> None:
    """The arguments that say what is compiled for."""
    command.add_argument(
        "--dtype", choices=DTYPES, default="float64", help="number type of all inputs and outputs (default float64)"
    )
    command.add_argument(
        "--target",
        choices=TARGETS,
        default="cpu",
        help="cpu: machine code, or C or NumPy if this processor cannot run it (default); c: by the C compiler; numpy: "
        "the reference; cuda: an NVIDIA GPU",
    )


def integers(text: str) -> tuple[int, ...]:
    """A list such as 16,64,256, of positive numbers."""
    try:
        numbers = tuple(int(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of positive numbers such as 16,64,256")
    return numbers


def words(text: str, allowed: Iterable[str]) -> tuple[str, ...]:
    """A list such as id,dfd of words that are allowed."""
    found, known = tuple(text.split(",")), tuple(dict.fromkeys(allowed))
    if wrong := [word for word in found if word not in known]:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is not one of {', '.join(known)}")
    return found


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def check_page(path: Path | None) -> None:
    """What --html names can be written: said before minutes have passed."""
    if path is not None and not path.parent.is_dir():
        raise UnsupportedError(f"--html: there is no folder {str(path.parent)!r}: make it, or name another")
    if path is not None and path.is_dir():
        raise UnsupportedError(f"--html: {str(path)!r} is a folder: name a file")


def show(text: str) -> None:
    print(printable_lines(text))


def show_json(value: Json) -> None:
    print(json.dumps(value, indent=2))


def say(text: str) -> None:
    """A message on stderr."""
    print(printable_lines(text), file=sys.stderr)


def progress(text: str, done: int = 0, total: int = 0) -> None:
    """What is being done now, and a bar where there is a count; on a terminal only. An empty text clears the line."""
    if sys.stderr.isatty():
        filled = BAR * done // total if total else 0
        bar = f"[{'#' * filled}{'.' * (BAR - filled)}] {done}/{total} " if total else ""
        sys.stderr.write("\r\x1b[2K" + bar + printable(text))
        sys.stderr.flush()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text: the first flush left, numbers flush right."""
    lines = [list(heads), *([str(cell) for cell in row] for row in rows)]
    lines = [[printable(cell) for cell in line] for line in lines]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    right = [k > 0 and all(_is_number(row[k]) for row in rows) for k in range(len(heads))]

    def line_of(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(cells, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line_of(lines[0]), line_of(["-" * width for width in widths]), *map(line_of, lines[1:])])


def _is_number(cell: str) -> bool:
    return bool(cell) and (cell[0].isdigit() or cell[0] in "-+.")
