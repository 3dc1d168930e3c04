"""What people give, checked: arguments of calls, and options: words, numbers, number types, frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import Parameter, Signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS, function_or_none
from condyle.identity import digest
from condyle.model.actuator import in_numbers
from condyle.model.checks import check_drives
from condyle.model.contact import CONTACT_KINDS, Contact, anchors_of, checked_contacts, gains_of, normals_of
from condyle.model.named import suggest
from condyle.model.robot import Frame, Robot
from condyle.model.tree import Tree, tree_of
from condyle.runtime.native import MOST_PORTS
from condyle.specification import UNBOUND, Bound, Drives, Function, Repeat
from condyle.specification.integrators import (
    FORCE_FRAMES,
    INTEGRATORS,
    JOINT_FORCES,
    POSITIONS,
    REFERENCE_FRAMES,
    REGRESSOR,
)
from condyle.specification.ports import (
    ACTIVE,
    ACTUATOR_GAINS,
    ANCHORS,
    ARMS,
    CONTROLS,
    DRY_FRICTION,
    FRICTION_NUMBERS,
    GAINS,
    GAPS,
    IMPULSE0,
    JOINT_IMPULSE0,
    NORMALS,
    NUMBERS,
)
from condyle.trace.straight import sizes
from condyle.version import __version__


class CompileArguments(NamedTuple):
    """What `Robot.compile` was given, in its order: the pickle of a `Dynamics`."""

    robot: Robot
    target: str
    dtype: str
    threads: int | None
    links: str
    routes: Mapping[str, str] | None
    device: int | None
    kernels: str | Mapping[str, str]
    frames: tuple[str, ...]
    reference_frame: str
    force_frame: str
    integrator: str
    inputs: tuple[str, ...]
    contacts: tuple[Contact, ...]
    check: bool
    joint_forces: tuple[str, ...]
    actuators: bool
    friction_velocity: float
    stops: tuple[float, float, float]
    implicit: bool | str
    joint_rows: bool
    regressor: tuple[str, ...]
    sweeps: int | None


SPEED = ("threads", "device", "check")
"""Options that change no bit of an answer."""


def parts_of_compiled(arguments: CompileArguments) -> dict[str, str]:
    """Hashes of all that an answer depends on: this version of Condyle, each part of the robot, each option."""
    options = {name: value for name, value in arguments._asdict().items() if name not in ("robot", *SPEED)}
    options["routes"] = sorted((arguments.routes or {}).items())
    if isinstance(arguments.kernels, Mapping):
        options["kernels"] = sorted(arguments.kernels.items())
    return robot_parts(arguments.robot) | {name: digest(value) for name, value in options.items()}


def robot_parts(robot: Robot) -> dict[str, str]:
    """Hashes of this version of Condyle and of each part of the robot, named as parts of something larger."""
    return {"condyle": digest(__version__), **{f"robot.{name}": part for name, part in robot.identity_parts.items()}}


MOST = 1 << 30
"""Threads, or GPUs: no machine has as many."""


def bound_of(
    robot: Robot,
    frames: Sequence[str] = (),
    reference_frame: str = UNBOUND.reference_frame,
    force_frame: str = UNBOUND.force_frame,
    integrator: str = UNBOUND.integrator,
    contacts: Sequence[Contact] | None = None,
    joint_forces: Sequence[str] = (),
    actuators: bool = False,
    friction_velocity: float = UNBOUND.drives.friction_velocity,
    stops: Sequence[float] = UNBOUND.drives.stops,
    implicit: bool | str = UNBOUND.drives.implicit,
    joint_rows: bool = UNBOUND.drives.joint_rows,
    regressor: Sequence[str] = (),
    sweeps: int | None = None,
) -> Bound:
    """The options that functions depend on; UnsupportedError for frames that are not there, and for other words."""
    check_choice("reference_frame", reference_frame, REFERENCE_FRAMES)
    check_choice("force_frame", force_frame, FORCE_FRAMES)
    check_choice("integrator", integrator, INTEGRATORS)
    if isinstance(frames, str) or not isinstance(frames, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"frames={frames!r}: give a list of names, such as ({frames!r},)")
    names = tuple(frames)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"frames: {name!r} is no name: give text, a name of robot.frames")
        if name not in robot.frames:
            known = tuple(robot.frames)
            raise UnsupportedError(f"frames: there is no frame {name!r}{suggest(str(name), known)}")
    held = robot.contacts if contacts is None else checked_contacts(robot, contacts)
    drives = drives_of(robot, joint_forces, actuators, friction_velocity, stops, implicit, joint_rows)
    columns = words_of("regressor", regressor, REGRESSOR)
    if implicit == POSITIONS and integrator != UNBOUND.integrator:
        raise UnsupportedError(
            f"implicit={implicit!r}, integrator={integrator!r}: positions at the end of a step need "
            f"integrator={UNBOUND.integrator!r}, whose q moves with the v of the end"
        )
    sweeps = None if sweeps is None else whole("sweeps", sweeps, 1, "None for iterations until it is solved")
    return Bound(names, reference_frame, force_frame, integrator, held, columns, sweeps, drives)


def bound_of_compiled(options: CompileArguments) -> Bound:
    """The options that functions of a compiled robot depend on."""
    return bound_of(options.robot, **{name: getattr(options, name) for name in compile_options(UNBOUND)})


def drives_of(
    robot: Robot,
    joint_forces: Sequence[str],
    actuators: bool,
    friction_velocity: float,
    stops: Sequence[float],
    implicit: bool | str,
    joint_rows: bool,
) -> Drives:
    """What acts beside tau. UnsupportedError for other words and numbers; ModelError for impossible joints."""
    words = words_of("joint_forces", joint_forces, (*JOINT_FORCES, "all"))
    for name, value, more in (
        ("actuators", actuators, ()),
        ("implicit", implicit, (POSITIONS,)),
        ("joint_rows", joint_rows, ()),
    ):
        if not isinstance(value, bool) and value not in more:
            raise UnsupportedError(f"{name}={value!r}: give {', '.join(map(repr, (*more, True)))} or False")
    width = positive("friction_velocity", (friction_velocity,), 1)[0]
    k, t, w = positive("stops", stops, 3)
    laws = JOINT_FORCES if "all" in words else words
    if actuators and not robot.actuators:
        cure = "robot.with_actuators((condyle.Actuator(...),)) gives it some"
        raise UnsupportedError(f"actuators=True: robot {robot.name!r} has no actuators; {cure}")
    if joint_rows and not {"friction", "limits"} & {*laws}:
        cure = "give joint_forces=('friction', 'limits') or one of them, which become rows of contact_solve"
        raise UnsupportedError(f"joint_rows=True: joint_forces={joint_forces!r} has neither; {cure}")
    reference = tuple(robot.spring_reference.tolist()) if robot.spring_reference.any() else ()
    drives = Drives(
        reference=reference, friction_velocity=width, stops=(k, t, w), implicit=implicit, joint_rows=joint_rows
    )
    if not laws and not actuators:
        return drives
    check_drives(robot, laws)
    positions = tree_of(robot).positions
    places = {joint.name: (joint.v_index, joint.q_index) for joint in robot.joints}
    return drives._replace(
        forces=laws,
        damping=tuple(robot.damping.tolist()),
        friction=tuple(robot.friction.tolist()),
        stiffness=tuple(robot.stiffness.tolist()),
        lower=tuple(float(robot.lower[at]) if at >= 0 else -np.inf for at in positions),
        upper=tuple(float(robot.upper[at]) if at >= 0 else np.inf for at in positions),
        actuators=in_numbers(robot.actuators, places) if actuators else (),
        effort=tuple(robot.effort.tolist()) if actuators else (),
    )


DRIVE_OPTIONS = ("joint_forces", "actuators", "friction_velocity", "stops", "implicit", "joint_rows")


def compile_options(bound: Bound) -> dict[str, Any]:
    """The arguments of `Robot.compile` that are bound so."""
    drives = bound.drives
    values = drives.forces, bool(drives.actuators), *drives[-4:]
    return {**dict(zip(Bound._fields[:-1], bound, strict=False)), **dict(zip(DRIVE_OPTIONS, values, strict=True))}


def words_of(name: str, value: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The words of an option, one alone too, in the order of those that are allowed; UnsupportedError for others."""
    listed = isinstance(value, Iterable) and not isinstance(value, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    words: tuple[Any, ...] = tuple(value) if listed else (value,)
    for word in words:
        check_choice(name, word, allowed)
    return tuple(word for word in allowed if word in words)


def positive(name: str, values: Sequence[float], length: int) -> tuple[float, ...]:
    """Numbers above 0; UnsupportedError for others."""
    try:
        numbers = tuple(float(x) for x in values)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != length or not all(0.0 < x < np.inf for x in numbers):
        said = values[0] if length == 1 else tuple(values) if isinstance(values, (tuple, list)) else values
        raise UnsupportedError(f"{name}={said!r}: give {'a number' if length == 1 else f'{length} numbers'} above 0")
    return numbers


def numbers_of(
    robot: Robot, inputs: Sequence[str], dtype: str, contacts: Sequence[Contact] = (), drives: Drives = UNBOUND.drives
) -> dict[str, NDArray[np.floating]]:
    """Numbers of the robot and its contacts that become inputs, and its own; flags of contacts and controls always do.

    UnsupportedError for what is none, or said twice, and for a contact that is drawn back to no anchor.
    """
    listed = isinstance(inputs, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance]
    names = [inputs] if isinstance(inputs, str) else list(inputs) if listed else None
    numbers = [name for name in NUMBERS if name != ACTUATOR_GAINS.name or drives.actuators]
    of_rows = (JOINT_IMPULSE0.name,) if drives.joint_rows else ()
    known = (*numbers, *((GAINS.name, ANCHORS.name, *FRICTION_NUMBERS) if contacts else ()), *of_rows)
    if names is None or any(name not in known or names.count(name) > 1 for name in names):
        raise UnsupportedError(f"inputs={inputs!r}: give some of {', '.join(map(repr, known))}, each once")
    loose = next((one for one in contacts if one.gains[0] and not one.is_loop and one.anchor is None), None)
    if loose is not None and ANCHORS.name not in names:
        raise UnsupportedError(
            f"{loose.title}: kp={loose.gains[0]:g} draws it back to its anchor, which is not known: give anchor=, or "
            f"compile(inputs=({ANCHORS.name!r},)) and one a state"
        )
    own = {name: np.array(number_of(robot, name), dtype) for name in NUMBERS if name in names}
    if drives.actuators:
        own = {CONTROLS.name: np.zeros(len(drives.actuators), dtype), **own}
    flags = {ACTIVE.name: np.ones(len(contacts), dtype)} if contacts else {}
    known_sizes = {"n_contacts": len(contacts), "nv": robot.nv}
    zeros = {port.name: np.zeros(port.shape(known_sizes)) for port in (GAPS, IMPULSE0, ARMS, JOINT_IMPULSE0)}
    more = {GAINS.name: gains_of(contacts), ANCHORS.name: anchors_of(contacts), NORMALS.name: normals_of(contacts)}
    return own | flags | {name: x.astype(dtype) for name, x in (more | zeros).items() if name in names}


def numbers_of_compiled(options: CompileArguments) -> dict[str, NDArray[np.floating]]:
    """What a compiled robot takes as keywords, and its own."""
    bound = bound_of_compiled(options)
    numbers = numbers_of(options.robot, options.inputs, options.dtype, bound.contacts, bound.drives)
    return {name: own for name, own in numbers.items() if name != CONTROLS.name}


def number_of(robot: Robot, name: str) -> NDArray[np.floating]:
    """The robot's own number of this name."""
    if name == ACTUATOR_GAINS.name:
        return np.array([one.gains for one in robot.actuators])
    return getattr(robot, "friction" if name == DRY_FRICTION.name else name)


def tip_frame(frames: Mapping[str, Frame]) -> str:
    """The name of a frame at a tip: the last one of the last body."""
    bodies = {name: (frame.body, k) for k, (name, frame) in enumerate(frames.items())}
    return max(bodies, key=lambda name: bodies[name])


def bound_arguments(
    called: str, signature: Signature, args: Sequence[Any], named: Mapping[str, Any], cure: str = ""
) -> Mapping[str, Any]:
    """The arguments of a call by name. TypeError, which names the call and its arguments, where they do not fit."""
    try:
        return signature.bind(*args, **named).arguments
    except TypeError as error:
        said, unknown = str(error), next((name for name in named if name not in signature.parameters), None)
        if unknown is not None:  # before what is missing, which it may stand for
            close = get_close_matches(unknown, signature.parameters, 1, 0.6)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            said = f"got an unexpected keyword argument {unknown!r}{meant}"
        takes = ", ".join(
            str(one)
            for name, one in signature.parameters.items()
            if name != "self" and one.kind is not Parameter.KEYWORD_ONLY
        )
        raise TypeError(f"{called}: {said}; call {called}({takes}){cure}") from None


def opened_by(number: str | None) -> str:
    """The end of a message about a number of the robot that is no argument."""
    if number == CONTROLS.name:
        return "; compile(actuators=True) takes u in place of tau"
    if number == ACTIVE.name:
        return "; compile(contacts=...) makes active an argument"
    return "" if number is None else f"; compile(inputs=({number!r},)) makes {number} an argument"


def routes_of(routes: Mapping[str, str] | None) -> dict[Function, str]:
    """The routes by their functions; UnsupportedError for what is no mapping, and for what names none."""
    if not isinstance(routes or {}, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"routes={routes!r}: name the function too, such as {{'fd': 'aba'}}")
    by_function: dict[Function, str] = {}
    for name, route in (routes or {}).items():
        function = function_or_none(name)
        if function is None:
            raise UnsupportedError(f"routes: there is no function {name!r}; there are {', '.join(FUNCTIONS)}")
        if function in by_function:
            raise UnsupportedError(f"routes={routes!r}: a function is named twice, give each one route")
        by_function[function] = route
    return by_function


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UnsupportedError(f"{name}={value!r}: allowed is {', '.join(map(repr, allowed))}")


def check_robot(called: str, robot: object) -> None:
    """UnsupportedError for what is no robot, such as its name."""
    if not isinstance(robot, Robot):
        raise UnsupportedError(f"{called}: the robot is {robot!r}, expected what condyle.load(...) returns")


_UNITS = {
    "dsp": "DSPs",
    "clock": "MHz",
    "f_ext": "N and N m",
    "step": "seconds",
    "bus_clock": "MHz",
    "percent": "per cent",
}
"""Of options of accelerators that are numbers."""


def check_numbers(**options: object) -> None:
    """UnsupportedError for the option of an accelerator that is no number."""
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise UnsupportedError(f"{name}={value!r}: give a number, in {_UNITS[name]}, or leave it out")


def whole(name: str, value: int, least: int, instead: str = "") -> int:
    """Any kind of whole number as an int; UnsupportedError for what is none, too small or beyond all machines.

    instead: what else may be given.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= value <= MOST:  # pyright: ignore
        also = f", or {instead}" if instead else ""
        beyond = isinstance(value, Integral) and value > MOST
        numbers = f"from {least} to {MOST}" if beyond else f"from {least} on"
        raise UnsupportedError(f"{name}={value!r}: give a whole number {numbers}{also}")
    return int(value)


# What a robot must have for a function: errors that name the joint, before anything is compiled.


SHOWN = 8
"""Names in a message."""


def unbound(tree: Tree, function: Function) -> str:
    """Which option, or "mass", keeps a robot from having a function; nothing if it has it."""
    if lacks_contacts(function, tree.contacts, tree.drives):
        return "contacts"
    if undriven := _undriven(tree.drives, function):
        return undriven
    if "frames" in function.options and not tree.frames:
        return "frames"
    if function.needs.reference_frames and tree.reference_frame not in function.needs.reference_frames:
        return "reference_frame"
    if any(one not in function.needs.contact_kinds for one in kinds_of(tree) if function.needs.contact_kinds):
        return "contact_kinds"
    if not tree.links and function.root.needs.mass:  # masses as inputs are none too
        return "mass"
    return "mass" if function.needs.mass and not tree.mass > 0.0 else ""


def _undriven(drives: Drives, function: Function) -> str:
    """Which option of joint forces and actuators it lacks."""
    if CONTROLS in function.inputs and not drives.actuators:
        return "actuators"
    if JOINT_IMPULSE0 in function.inputs and not drives.joint_rows:
        return "joint_rows"
    if function.needs.drives == "forces" and function.plain is function and not drives.forces:
        return "joint_forces"
    return ""


def check_driven(called: str, drives: Drives, function: Function, compile_by: str = "compile") -> None:
    """UnsupportedError for forces of joints or actuators that the robot was compiled without."""
    words = ", ".join(map(repr, (*JOINT_FORCES, "all")))
    cures = {
        "actuators": "(actuators=True) takes those of robot.actuators, and u in place of tau",
        "joint_forces": f"(joint_forces=('all',)) has all that the robot has; allowed is {words}",
        "joint_rows": "(joint_forces=('friction', 'limits'), joint_rows=True) has those that joint_impulse0 begins",
    }
    if wanting := _undriven(drives, function):
        lacked = wanting.replace("_", " ")
        raise UnsupportedError(f"{called}: the robot was compiled without {lacked}; {compile_by}{cures[wanting]}")


def lacks_contacts(function: Function, contacts: Sequence[object], drives: Drives) -> bool:
    """Whether a function has no meaning for want of contacts: rows of joints do where it may have these."""
    by_rows = function.root.needs.joint_rows and drives.joint_rows
    return "contacts" in function.options and not contacts and not by_rows


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
    check_driven(function.called, tree.drives, function)
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
    base, known, call = repeat.function, sizes(tree), "iterate" if repeat.until else "rollout"
    inputs = {port.name: port.shape(known) for port in base.inputs}
    for port in base.outputs:
        if port.name in repeat.carried and port.shape(known) != inputs[port.name]:
            raise ShapeError(
                f"{call} of {base.method}: output {port.name} has shape {port.shape(known)}, input {port.name} has "
                f"shape {inputs[port.name]}: the next step takes what a step answers; give both one shape, or the "
                "output another name"
            )


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
