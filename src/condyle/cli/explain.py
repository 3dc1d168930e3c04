"""`condyle explain`: how a function is computed: routes, steps of the algorithm, operations; also as a page."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli.bound import add_bound, bound, controlled
from condyle.cli.common import Json, add_machine, add_robot, check_page, load_aloud, positive, show, show_json, table
from condyle.errors import UnsupportedError
from condyle.ir.count import Counts
from condyle.text import printable, write_whole

if TYPE_CHECKING:
    from condyle import Robot
    from condyle.cli.explanation import Explained


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
    add_bound(command)
    add_machine(command)
    command.add_argument(
        "--route", metavar="NAME", help="explain this route, in place of the one with the fewest operations"
    )
    command.add_argument("--batch", type=positive, default=256, metavar="N", help="states a call (default 256)")
    command.add_argument("--html", metavar="FILE", type=Path, help="write the page there")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from condyle.api import compiler_of
    from condyle.cli.explanation import explained, page
    from condyle.compile.targets import TARGETS
    from condyle.functions import function_of
    from condyle.trace.straight import sizes

    check_page(arguments.html)
    loaded = load_aloud(arguments)
    robot, (function,) = loaded.robot, controlled([function_of(arguments.function)], arguments)
    routes = {function.plain: arguments.route} if arguments.route else {}
    compiler = compiler_of(robot, routes, bound=bound(robot, arguments))
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


# The tree of joints, as text and as SVG: a branch is indented, joints of one chain stand below each other.


LEGEND = "|-- begins a branch; joints below each other are one chain, each carried by the one above it"
ROW, INDENT, TOP = 22.0, 22.0, 40.0
LIGHT = "--paper:#ffffff;--ink:#23282d;--quiet:#5d666e;--line:#1f6f8b"
DARK = "--paper:#15181b;--ink:#e6e9ec;--quiet:#a3adb5;--line:#8fcbe3"
STYLE = (
    f"svg{{{LIGHT};background:var(--paper);font:13px system-ui,sans-serif}}"
    f"@media(prefers-color-scheme:dark){{svg{{{DARK}}}}}"
    "text{fill:var(--ink)}.said{fill:var(--quiet)}path{stroke:var(--line);fill:none;stroke-width:1.5}"
    "circle{fill:var(--line)}rect{fill:var(--paper)}.head{font-weight:600;font-size:15px}"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One joint: how many branches it is inside, whether it begins one, the row of its parent, what is said of it."""

    depth: int
    begins: bool
    parent: int
    joint: str
    said: str
    open: tuple[int, ...]
    """The depths at which a branch goes on below this row."""


def rows(robot: Robot) -> list[Row]:
    """The world, then every joint, parents first, siblings together with what they carry."""
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(robot.parents):
        children.setdefault(parent, []).append(index)
    found = [Row(0, False, -1, "world", _welded(robot), ())]
    row_of = {-1: 0}
    todo: list[tuple[int, int, bool, tuple[int, ...]]] = []  # joint, depth, begins a branch, open depths

    def push(parent: int, depth: int, opened: tuple[int, ...]) -> None:
        below = children.get(parent, [])
        for index in reversed(below):
            if len(below) == 1:
                todo.append((index, depth, False, opened))
            else:
                goes_on = () if index == below[-1] else (depth + 1,)
                todo.append((index, depth + 1, True, (*opened, *goes_on)))

    push(-1, 0, ())
    while todo:
        index, depth, begins, opened = todo.pop()
        row_of[index] = len(found)
        joint = robot.joints[index]
        found.append(Row(depth, begins, row_of[joint.parent], printable(joint.name), _said(robot, index), opened))
        push(index, depth, opened)
    return found


def _welded(robot: Robot) -> str:
    return "" if robot.base is None else f"welded to it: {printable(robot.base.name)} {robot.base.mass:.4g} kg"


def _said(robot: Robot, index: int) -> str:
    """Type, place in q, body and mass."""
    joint, body = robot.joints[index], robot.bodies[index]
    if joint.mimic is not None:
        place = f"follows {printable(robot.joints[joint.mimic.joint].name)}"
    else:
        last = joint.q_index + joint.nq
        place = f"q[{joint.q_index}]" if joint.nq == 1 else f"q[{joint.q_index}:{last}]"
    return f"{joint.type} {place} -> {printable(body.name)} {body.mass:.4g} kg"


def text(robot: Robot) -> list[str]:
    """The tree, a line a joint, and a legend where there are branches."""
    found = rows(robot)
    heads = [_stem(row) + row.joint for row in found]
    wide = max(map(len, heads))
    lines = [f"{head.ljust(wide)}  {row.said}".rstrip() for head, row in zip(heads, found, strict=True)]
    return [*lines, "", LEGEND] if any(row.begins for row in found) else lines


def _stem(row: Row) -> str:
    cells = ["|   " if depth in row.open else "    " for depth in range(1, row.depth + 1)]
    if row.begins:
        cells[-1] = "|-- " if row.depth in row.open else "`-- "
    return "".join(cells)


def write_svg(robot: Robot, path: Path) -> None:
    """The same as a picture. UnsupportedError for another file than .svg, or a folder that is not there."""
    if path.suffix != ".svg" or not path.parent.is_dir():
        raise UnsupportedError(f"--graph: {str(path)!r}, expected a .svg file in a folder that exists")
    write_whole(path, svg(robot))


def svg(robot: Robot) -> str:
    """The tree as SVG text, dark where the reader's system is."""
    found = rows(robot)
    names = [14.0 + INDENT * row.depth + 12.0 for row in found]
    column = max(x + 8.0 * len(row.joint) for x, row in zip(names, found, strict=True)) + 16.0
    width = column + max(7.0 * len(row.said) for row in found) + 16.0
    height = TOP + ROW * len(found) + 12.0
    title = escape(printable(robot.name))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>joints of {title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}"/>',
        f'<text class="head" x="14" y="24">{title}</text>',
    ]
    for k, (x, row) in enumerate(zip(names, found, strict=True)):
        y = TOP + ROW * (k + 0.5)
        if row.parent >= 0:
            above = TOP + ROW * (row.parent + 0.5)
            lines.append(f'<path d="M{names[row.parent] - 12.0:.0f} {above:.0f}V{y:.0f}H{x - 12.0:.0f}"/>')
        lines.append(f'<circle cx="{x - 12.0:.0f}" cy="{y:.0f}" r="3.5"/>')
        lines.append(f'<text x="{x:.0f}" y="{y + 4.5:.1f}">{escape(row.joint)}</text>')
        lines.append(f'<text class="said" x="{column:.0f}" y="{y + 4.5:.1f}">{escape(row.said)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
