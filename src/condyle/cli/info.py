"""`condyle info`: the tree, drives, closures, sizes, masses, warnings; with --counts the operations and the route of
each function, with --target, --links or --batch what runs for a batch; with --functions what there is to compute; with
--graph the tree of joints.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import condyle
from condyle.cli import machine
from condyle.cli.bound import add_bound, bound, contacts_of, controlled, driving, frames_of
from condyle.cli.common import (
    Json,
    Loaded,
    add_robot,
    load,
    positive,
    show,
    show_json,
    show_snapped,
    snapped_json,
    table,
    titled,
)
from condyle.cli.export import functions
from condyle.errors import UnsupportedError
from condyle.fpga.functions import tasks
from condyle.functions import FUNCTIONS
from condyle.links.routes import routes_of as parallel_routes
from condyle.specification import Function, Port
from condyle.specification.integrators import LINKS, TARGETS
from condyle.text import printable

if TYPE_CHECKING:
    from condyle.model.actuator import Actuator


DEEPEST = 12
"""How many joints above one indent it in the tree."""
DRIVES = ("armature", "damping", "friction", "stiffness", "spring_reference")
LIMITS = ("lower", "upper", "effort", "velocity")
COUNTS = ("function", "route", "mul", "add", "div", "sincos", "instructions")


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print what a robot is: its joints in the order of q, its bodies, masses and drives, and warnings on the file. "
        "With --counts: the operations of each function. With --target, --batch or --links: what runs for a batch of "
        "states."
    )
    command.epilog = "example: condyle info arm.urdf --lock finger_joint=0 --counts"
    add_robot(command, optional=True)
    add_bound(command)
    command.add_argument(
        "--functions",
        action="store_true",
        help="list all functions with their inputs and outputs, and what can run them; give no ROBOT",
    )
    command.add_argument(
        "--graph",
        nargs="?",
        const="",
        metavar="FILE.svg",
        help="print the tree of joints only, or draw it into an .svg file",
    )
    command.add_argument(
        "--counts", action="store_true", help="print the operations and the algorithm (route) of each function"
    )
    command.add_argument(
        "--also",
        metavar="vjp_fd,..",
        type=functions,
        default=(),
        help="derivatives that --counts and --target list too",
    )
    command.add_argument("--target", choices=TARGETS, help="print what runs on this target (default cpu)")
    command.add_argument("--batch", type=positive, metavar="N", help="print what runs for N states (default 256)")
    command.add_argument(
        "--links",
        choices=LINKS,
        help="print what runs with --batch 1; serial: one link after the other (default); scan: links in parallel; "
        "auto: the faster of both, as measured",
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.functions:
        return _functions(arguments)
    _check_named(arguments)
    loaded = load(arguments)
    bound(loaded.robot, arguments)
    return _graph(loaded, arguments) if arguments.graph is not None else _tell(loaded, arguments)


def _check_named(arguments: argparse.Namespace) -> None:
    """There is a robot: `info --graph ROBOT` means it too."""
    if arguments.robot is None and arguments.graph and not arguments.graph.endswith(".svg"):
        arguments.robot, arguments.graph = arguments.graph, ""
    if arguments.robot is None:
        raise UnsupportedError("info: name a ROBOT; without a robot, --functions lists what can be computed")


def _tell(loaded: Loaded, arguments: argparse.Namespace) -> int:
    """All but the graph."""
    asked = bool(arguments.target or arguments.links or arguments.batch)
    counts, compared = _counted(loaded.robot, arguments) if arguments.counts else (None, {})
    if arguments.json:
        found: dict[str, Json] = {**_summary(loaded)}
        if counts is not None:
            found["counts"], found["compared"] = counts, compared
        if asked:
            found["explained"] = [*_explained(loaded, arguments)]
        show_json(found)
        return 0
    _print(loaded)
    if counts is not None:
        show("\n" + table(COUNTS, [[str(row[head]) for head in COUNTS] for row in counts]))
        show("mul, add: before a multiplication and an addition are fused into one instruction; instructions: after")
        show("\nroutes of each function by mul + add, the fewest first:")
        for function, routes in compared.items():
            show(
                f"{function:12} "
                + (", ".join(f"{route} {n}" for route, n in routes.items()) or "loops, by an estimate")
            )
    if asked:
        show("\n" + "\n".join(_explained(loaded, arguments)))
    return 0


def _graph(loaded: Loaded, arguments: argparse.Namespace) -> int:
    """The tree of joints alone."""
    from condyle.cli import explain

    if arguments.graph:
        explain.write_svg(loaded.robot, Path(arguments.graph))
    lines = [f"wrote {arguments.graph}"] if arguments.graph else explain.text(loaded.robot)
    if arguments.json:
        show_json({"graph": lines})
    else:
        show("\n".join(lines))
    return 0


def _functions(arguments: argparse.Namespace) -> int:
    """What can be computed, of any robot."""

    if arguments.robot is not None:
        raise UnsupportedError("info --functions lists the functions of every robot: leave ROBOT out")
    if arguments.json:
        show_json({"functions": listed()})
    else:
        show("\n".join(lines()))
    return 0


def _counted(
    robot: condyle.Robot, arguments: argparse.Namespace
) -> tuple[list[dict[str, str | int]], dict[str, dict[str, int]]]:
    """Operations of each function, and the routes that were compared."""
    from condyle.api import compiler_of

    compiler = compiler_of(robot, bound=bound(robot, arguments))
    named = dict.fromkeys(controlled((*compiler.functions, *arguments.also), arguments))
    counts = [compiler.counts(function) for function in named]
    return counts, {function.name: compiler.compared(function) for function in named}


def _explained(loaded: Loaded, arguments: argparse.Namespace) -> list[str]:
    """What runs for a batch, line by line."""
    frames, contacts = frames_of(loaded.robot, arguments), contacts_of(loaded.robot, arguments)
    dyn = loaded.robot.compile(
        arguments.target or "cpu",
        links=arguments.links or "serial",
        frames=frames,
        contacts=contacts,
        **driving(arguments),
    )
    return dyn.explain(arguments.batch or 256, [*dict.fromkeys([*dyn.signature, *arguments.also])]).splitlines()


def _summary(loaded: Loaded) -> dict[str, Json]:
    robot = loaded.robot
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": sum(body.mass for body in robot.bodies),
        "gravity": [float(g) for g in robot.gravity],
        "fingerprint": robot.fingerprint,
        "snapped": snapped_json(robot),
        "joints": [
            {
                "name": joint.name,
                "type": joint.type,
                "nq": joint.nq,
                "nv": joint.nv,
                "q_index": joint.q_index,
                "v_index": joint.v_index,
                "parent": joint.parent,
                "body": body.name,
                "mass": body.mass,
                "drive": {name: _finite(getattr(joint, name).tolist()) for name in (*DRIVES, *LIMITS)},
            }
            for joint, body in zip(robot.joints, robot.bodies, strict=True)
        ],
        "contacts": [
            {"frame": one.frame, "kind": one.kind, "other": one.other, "gains": [*one.gains]} for one in robot.contacts
        ],
        "actuators": [
            {
                "name": one.name,
                "transmission": {**one.transmission},
                "kind": one.kind,
                "gain": one.gain,
                "bias": [*(one.bias or ())],
                "control": _finite(one.control),
                "force": _finite(one.force),
            }
            for one in robot.actuators
        ],
        "warnings": list(loaded.warnings),
        "cpu": machine.instructions(),
    }


def _print(loaded: Loaded) -> None:
    robot = loaded.robot
    mass = sum(body.mass for body in robot.bodies)
    gravity = " ".join(f"{float(g):g}" for g in robot.gravity)
    show(
        f"{printable(robot.name)}: nq {robot.nq}, nv {robot.nv}, {len(robot.bodies)} bodies, moving mass {mass:.6g} kg"
    )
    show(f"gravity {gravity} m/s^2, fingerprint {robot.fingerprint[:16]}\n")
    rows = [
        [
            _branch(robot.parents, k) + joint.name,
            joint.type,
            _span(joint.q_index, joint.nq),
            body.name,
            f"{body.mass:.5g}",
        ]
        for k, (joint, body) in enumerate(zip(robot.joints, robot.bodies, strict=True))
    ]
    show(table(("joint", "type", "q", "body", "mass / kg"), rows))
    if any(_depth(robot.parents, k) > DEEPEST for k in range(len(robot.joints))):
        show(
            f"joints are indented by the number of joints above them; above {DEEPEST} it is a number in brackets: "
            f"[{DEEPEST + 1}] has {DEEPEST + 1} joints between it and the root"
        )
    driven = [joint for joint in robot.joints if any(getattr(joint, name).any() for name in DRIVES[:-1])]
    if driven:
        numbers = [[joint.name, *(_numbers(getattr(joint, name).tolist()) for name in DRIVES)] for joint in driven]
        show("\n" + table(("drive of", *DRIVES[:-1], "at rest at"), numbers))
    if robot.actuators:
        motors = [
            [one.name, one.kind, _gears(one), *map(_interval, (one.control, one.force))] for one in robot.actuators
        ]
        show("\n" + table(("actuator", "kind", "gear", "control", "force"), motors))
    if robot.contacts:
        held = [[one.frame, one.kind, one.other or "the world"] for one in robot.contacts]
        show("\n" + table(("held frame", "kind", "held on"), held))
    show(f"\ntarget cpu: {machine.instructions()}, {machine.compiler()}")
    show_snapped(robot)
    for line in loaded.warnings:
        show(titled(line))


def _finite(numbers: Sequence[float]) -> list[Json]:
    """None for what is infinite: JSON has no word for it."""
    return [x if isfinite(x) else None for x in numbers]


def _numbers(numbers: Sequence[float]) -> str:
    """One where all are equal; nothing where all are 0."""
    return " ".join(f"{x:.5g}" for x in (numbers if len({*numbers}) > 1 else numbers[:1])) if any(numbers) else ""


def _gears(actuator: Actuator) -> str:
    return " + ".join(f"{gear:.5g} {joint}" for joint, gear in actuator.transmission.items())


def _interval(limits: tuple[float, float]) -> str:
    return "" if not any(map(isfinite, limits)) else f"{limits[0]:.5g}..{limits[1]:.5g}"


def _depth(parents: tuple[int, ...], k: int) -> int:
    """How many joints stand between joint k and the root."""
    depth = 0
    while parents[k] >= 0:
        k, depth = parents[k], depth + 1
    return depth


def _branch(parents: tuple[int, ...], k: int) -> str:
    """Indentation by depth; its number where that would be too wide."""
    depth = _depth(parents, k)
    return "  " * depth if depth <= DEEPEST else f"[{depth}] "


def _span(start: int, size: int) -> str:
    """The entries of q: 3, or 0..6; nothing for a joint that follows another."""
    if size == 0:
        return ""
    return str(start) if size == 1 else f"{start}..{start + size - 1}"


# What functions there are, and what can run each: `condyle info --functions`.


HEAD = ("function", "method", "inputs -> outputs", "unit", "runners")
HARDWARE = "hardware"


def listed() -> list[dict[str, Json]]:
    """Every function as data."""
    return [
        {
            "function": function.name,
            "method": function.method,
            "equation": function.equation,
            "inputs": [_port(port) for port in function.inputs],
            "outputs": [_port(port) for port in function.outputs],
            "f_ext": function.takes_f_ext,
            "options": list(function.options),
            "runners": runners(function),
            "targets": targets(function),
        }
        for function in FUNCTIONS.values()
    ]


def lines() -> list[str]:
    """The same for people."""
    planned = ", ".join(name for name, function in FUNCTIONS.items() if HARDWARE in runners(function))
    alone = ", ".join(name for name in tasks() if name not in FUNCTIONS)
    return [
        table(HEAD, [_row(function) for function in FUNCTIONS.values()]),
        f"targets {', '.join(TARGETS)} have every function; [f_ext]: external forces can be given",
        f"target verilog ({HARDWARE}) has {planned}; only there are {alone}",
        "straight: straight-line code",
        "loops: loops over joints, for robots with many joints; there a function without loops runs in NumPy",
        "link-parallel: links in parallel, see --links",
    ]


def runners(function: Function) -> list[str]:
    """What can run it, of any robot."""
    found = {
        "straight": True,
        "loops": any(route.loops for route in function.routes.values()),
        "link-parallel": bool(parallel_routes(function)),
        HARDWARE: any(function == task.function for task in tasks().values()),
    }
    return [name for name, there in found.items() if there]


def targets(function: Function) -> list[str]:
    """What it can be compiled for or exported to."""
    return [*TARGETS, *(["verilog"] if HARDWARE in runners(function) else [])]


def _row(function: Function) -> list[str]:
    given = ", ".join(port.name for port in function.inputs) + (" [f_ext]" if function.takes_f_ext else "")
    gives = ", ".join(f"{port.name} ({', '.join(port.dims)})" for port in function.outputs)
    units = dict.fromkeys(port.unit for port in function.outputs)
    told = "; ".join(units).replace(" | ", " or ")
    return [function.name, function.method, f"{given} -> {gives}", told, ", ".join(runners(function))]


def _port(port: Port) -> Json:
    return {"name": port.name, "shape": list(port.dims), "unit": port.unit, "frame": port.frame, "meaning": port.doc}
