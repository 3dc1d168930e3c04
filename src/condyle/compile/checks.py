"""What a robot must have for a function: errors that name the joint, before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from condyle.compile.options import tip_frame
from condyle.errors import ShapeError, SingularError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.model.contact import CONTACT_KINDS
from condyle.model.idle import idle_coordinates
from condyle.model.robot import Frame, Robot
from condyle.model.tree import Tree
from condyle.runtime.native import MOST_PORTS
from condyle.specification import Function, Repeat
from condyle.text import few
from condyle.trace.structure import sizes

SHOWN = 8
"""Names in a message."""


def unbound(tree: Tree, function: Function) -> str:
    """Which option, or "mass", keeps a robot from having a function; nothing if it has it."""
    if "contacts" in function.options and not tree.contacts:
        return "contacts"
    if "frames" in function.options and not tree.frames:
        return "frames"
    if function.needs.reference_frames and tree.reference_frame not in function.needs.reference_frames:
        return "reference_frame"
    if any(one not in function.needs.contact_kinds for one in kinds_of(tree) if function.needs.contact_kinds):
        return "contact_kinds"
    if not tree.links and function.root.needs.mass:  # masses as inputs are none too
        return "mass"
    return "mass" if function.needs.mass and not tree.mass > 0.0 else ""


def kinds_of(tree: Tree) -> list[str]:
    """The kind of each contact."""
    return [next(kind for kind, rows in CONTACT_KINDS.items() if rows == one.rows) for one in tree.contacts]


def check_ports(function: Function) -> None:
    """UnsupportedError if a function has more arrays than native calls take."""
    for what, ports in (("inputs", function.inputs), ("outputs", function.outputs)):
        count = len(ports) + (function.takes_f_ext and ports is function.inputs)
        if count > MOST_PORTS:
            raise UnsupportedError(
                f"{function.called}: {count} {what}, and native calls take {MOST_PORTS}. Every jvp has twice the "
                "inputs of its function: name fewer in compile(inputs=), take vjp, jacobian or hessian in place of one "
                "jvp, or compile('numpy')"
            )


def check_bound(tree: Tree, function: Function, frames: Mapping[str, Frame]) -> None:
    """UnsupportedError if the robot as it was compiled has no such function; frames: all that it has.

    ShapeError for a rollout that carries an output of another shape than the input's.
    """
    if function.repeat is not None:
        _check_carried(tree, function.repeat)
    wanting = unbound(tree, function)
    if wanting == "frames":
        some = ", ".join(map(repr, list(frames)[:SHOWN])) + (" and more" if len(frames) > SHOWN else "")
        raise UnsupportedError(
            f"{function.called}: no frames were named when the robot was compiled; "
            f"compile(frames=({tip_frame(frames)!r},)) names one, as does --frames {tip_frame(frames)} of a command. "
            f"This robot has {some}"
        )
    if wanting == "contacts":
        tip = tip_frame(frames) if frames else "foot"
        raise UnsupportedError(
            f"{function.called}: the robot has no contacts; compile(contacts=(condyle.Contact({tip!r}, 'point'),)) "
            "gives it one"
        )
    if wanting == "reference_frame":
        known = " or ".join(map(repr, function.needs.reference_frames))
        raise UnsupportedError(
            f"{function.called} has no meaning with reference_frame={tree.reference_frame!r}; compile with {known}"
        )
    if wanting == "contact_kinds":
        k, kind = next((k, kind) for k, kind in enumerate(kinds_of(tree)) if kind not in function.needs.contact_kinds)
        known = " or ".join(map(repr, function.needs.contact_kinds))
        raise UnsupportedError(
            f"{function.called}: contact {k} is of kind {kind!r}, which has no friction cone; give contacts of kind "
            f"{known}, such as the corners of a foot"
        )
    if wanting == "mass":
        why = "the moving bodies have no mass; give some of them mass" if tree.links else "no body of the robot moves"
        raise UnsupportedError(f"{function.called}: {why}")


def _check_carried(tree: Tree, repeat: Repeat) -> None:
    base, known = repeat.function, sizes(tree)
    inputs = {port.name: port.shape(known) for port in base.inputs}
    for port in base.outputs:
        if port.name in repeat.carried and port.shape(known) != inputs[port.name]:
            raise ShapeError(
                f"rollout of {base.method}: output {port.name} has shape {port.shape(known)}, input {port.name} has "
                f"shape {inputs[port.name]}: the next step takes what a step answers; give both one shape, or the "
                "output another name"
            )


def check_invertible(robot: Robot) -> None:
    """SingularError if M(q) has no inverse for any q."""
    idle = idle_coordinates(robot, robot.random_state(4, 0).q)
    if not idle:
        return
    still = [joint for joint in robot.joints if any(joint.v_index <= k < joint.v_index + joint.nv for k in idle)]
    names = [repr(joint.name) for joint in still]
    lone = f"joint {names[0]} moves no inertia of its own"
    which = lone if len(names) == 1 else f"joints {few(names, SHOWN)} move no inertia of their own"
    behind = robot.bodies[robot.joints.index(still[-1])].name
    raise SingularError(
        f"{which}, so the mass matrix has no inverse. Lock what moves none, robot.lock({{{names[-1]}: q}}), or give it "
        f"armature, or give mass to the bodies that it carries (from {behind!r} on); functions that need no inverse, "
        "such as inverse_dynamics, work as it is"
    )


def check_solvable(robot: Robot, functions: Iterable[Function]) -> None:
    """SingularError if one of the functions has to do with an inverse of the mass matrix that there is for no q."""
    if any(function.solves_own for function in functions):
        check_invertible(robot)


def checked_route(tree: Tree, function: Function, route: str) -> str:
    """The route by its own name; UnsupportedError for a function or route that is not there, or not for this robot."""
    if function not in FUNCTIONS.values():
        raise UnsupportedError(f"routes: there is no function {function.name!r}; there are {', '.join(FUNCTIONS)}")
    names = function.route_names(tree.has_shared_coordinates)
    known = {function.routes[name].alias or name: name for name in names} | {name: name for name in names}
    if not isinstance(route, str) or route not in known:  # pyright: ignore[reportUnnecessaryIsInstance]
        shared = " with mimic joints" if tree.has_shared_coordinates else ""
        raise UnsupportedError(
            f"routes: {function.name!r} has no route {route!r} for a robot{shared}; it has {', '.join(names)}"
        )
    return known[route]
