"""`condyle explain`: how a function is computed: routes, steps of the algorithm, operations; also as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli.bound import add_frames, contacts_of, frames_of
from condyle.cli.common import Json, add_machine, add_robot, check_page, load_aloud, positive, show, show_json, table
from condyle.ir.count import Counts
from condyle.text import printable, write_whole

if TYPE_CHECKING:
    from condyle.explained import Explained

HEADS = (*Counts._fields,)


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print how one function of a robot is computed: the routes that were compared, the steps of the algorithm with "
        "the operations of each step, and the machine code. --html writes a page, which also shows the program."
    )
    command.epilog = "example: condyle explain iiwa14 fd --html fd.html"
    add_robot(command)
    command.add_argument(
        "function",
        metavar="FUNCTION",
        help="a short name or a method: fd, forward_dynamics, vjp_fd (condyle info --functions lists them)",
    )
    add_frames(command)
    add_machine(command)
    command.add_argument(
        "--route", metavar="NAME", help="explain this route, in place of the one with the fewest operations"
    )
    command.add_argument("--batch", type=positive, default=256, metavar="N", help="states a call (default 256)")
    command.add_argument("--html", metavar="FILE", type=Path, help="write the page there")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from condyle.api import compiler_of
    from condyle.compile.options import bound_of
    from condyle.compile.targets import TARGETS
    from condyle.explained import explained, page
    from condyle.functions import function_of
    from condyle.trace.structure import sizes

    check_page(arguments.html)
    loaded = load_aloud(arguments)
    robot, function = loaded.robot, function_of(arguments.function)
    bound = bound_of(robot, frames_of(robot, arguments), contacts=contacts_of(robot, arguments))
    compiler = compiler_of(robot, bound=bound, routes={function: arguments.route} if arguments.route else {})
    found = explained(compiler, function, TARGETS[arguments.target], arguments.dtype, arguments.batch)
    if arguments.html is not None:
        write_whole(arguments.html, page(found, robot.name, sizes(compiler.tree)))
    if arguments.json:
        show_json(_json(found))
    else:
        show("\n".join(_lines(found, robot.name)))
        if arguments.html is not None:
            show(f"\nwrote {arguments.html}")
    return 0


def _json(explained: Explained) -> dict[str, Json]:
    return {
        "function": explained.function.name,
        "equation": explained.function.equation,
        "runs": explained.line,
        "form": explained.form,
        "counts": None if explained.counts is None else explained.counts._asdict(),
        "instructions": explained.instructions,
        "routes": [
            {"route": one.name, "counts": None if one.counts is None else one.counts._asdict(), "why": one.note}
            for one in explained.routes
        ],
        "steps": [
            {"step": one.step.name, "file": one.step.file, "computes": one.step.says, "counts": one.counts._asdict()}
            for one in explained.steps
        ],
        "without_steps": explained.missing,
        "machine_code": dict(explained.code),
    }


def _lines(explained: Explained, robot: str) -> list[str]:
    of = explained.function
    lines = [f"{printable(robot)}: {of.name}, {of.method}", of.equation, "", explained.line]
    if explained.routes:
        rows = [[one.name, *_numbers(one.counts), one.note] for one in explained.routes]
        lines += ["", table(("route", *HEADS, "why"), rows)]
    if explained.steps:
        rows = [[one.step.name or "the route itself", *_numbers(one.counts), one.step.says] for one in explained.steps]
        lines += ["", table(("step", *HEADS, "what it computes"), rows)]
    else:
        lines += ["", explained.missing]
    return lines + [""] * bool(explained.code) + [f"{name}: {what}" for name, what in explained.code.items()]


def _numbers(counts: Counts | None) -> list[str]:
    return ["-"] * len(HEADS) if counts is None else [str(n) for n in counts]
