"""Transmissions of a URDF file: the armature of rotors as Drake has it, and motors behind gears as ROS has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from condyle.model.actuator import Actuator
from condyle.model.array import moderate
from condyle.model.description import FIXED, JointSpec
from condyle.model.joints import JOINT_TYPES
from condyle.model.orders import fresh
from condyle.readers.xml import Element, Report, is_number, shown
from condyle.text import few

_ROTOR_CURE = "expected 0 or more, and no number beyond 1e30 with the square of the gear ratio"
_ROTOR, _GEAR = "drake:rotor_inertia", "drake:gear_ratio"
_SIMPLE, _REDUCTION, _INTERFACE = "SimpleTransmission", "mechanicalReduction", "hardwareInterface"

Read = tuple[tuple[JointSpec, ...], tuple[Actuator, ...], tuple[str, ...]]


def read_transmissions(root: Element, joints: tuple[JointSpec, ...], report: Report) -> Read:
    """The joints with armature of their rotors, the motors, and in words the transmissions that are none.

    A rotor gives gear squared times its inertia, read as Drake does: a joint without effort has no motor. A simple
    transmission of effort is a motor, and its mechanical reduction the gear.
    """
    by_name = {joint.name: joint for joint in joints}
    armature: dict[str, float] = {}
    motors: list[Actuator] = []
    without: dict[str, list[str]] = {}
    taken: set[str] = set()
    for transmission in root.all("transmission"):
        ends = [joint.get("name") or "" for joint in transmission.all("joint")]
        driven = by_name.get(ends[0]) if len(ends) == 1 else None
        _add_rotors(transmission, driven, armature, report)
        gear = _gear(transmission, driven)
        name = next(
            (word for node in (*transmission.all("actuator"), transmission) if (word := node.get("name"))), "actuator"
        )
        if driven is None or isinstance(gear, str):
            without.setdefault(str(gear), []).append(f"{name!r} (line {transmission.line})")
        else:
            motors.append(Actuator(fresh(name, taken), {driven.name: gear}))
    ignored = tuple(f"transmissions that are no motor: {why} ({few(names, 3)})" for why, names in without.items())
    return tuple(_with_armature(joint, armature) for joint in joints), tuple(motors), ignored


def _gear(transmission: Element, driven: JointSpec | None) -> float | str:
    """The gear of a simple transmission of effort, or why it is none."""
    kind = transmission.get("type") or "".join(node.text for node in transmission.all("type"))
    parts = (*transmission.all("joint"), *transmission.all("actuator"))
    interfaces = [node.text.strip() for part in parts for node in part.all(_INTERFACE)]
    if not kind.strip().endswith(_SIMPLE):
        return f"type {shown(kind.strip())}"
    if interfaces and not any("effort" in interface.lower() for interface in interfaces):
        return f"hardware interface {shown(interfaces[0])}"
    if why := _undriven(driven):
        return why
    if len(transmission.all("actuator")) > 1:
        return f"{len(transmission.all('actuator'))} actuators"
    return _reduction([node.text.strip() for part in (*reversed(parts), transmission) for node in part.all(_REDUCTION)])


def _reduction(texts: Sequence[str]) -> float | str:
    text = texts[0] if texts else "1"
    gear = float(text) if is_number(text) else 0.0
    return gear if gear != 0.0 and moderate(gear) else f"{_REDUCTION} {shown(text)}"


def _add_rotors(transmission: Element, driven: JointSpec | None, armature: dict[str, float], report: Report) -> None:
    for actuator in transmission.all("actuator"):
        for rotor in actuator.all(_ROTOR):
            value, why = _reflected(actuator, rotor, report), _undriven(driven)
            if driven is None or why:
                report.note(rotor, "robot", f"<{_ROTOR}> is ignored: {why}")
            else:
                armature[driven.name] = armature.get(driven.name, 0.0) + value


def _reflected(actuator: Element, rotor: Element, report: Report) -> float:
    """The inertia of a rotor as its joint has it [kg m^2 or kg]."""
    element = f"actuator {actuator.get('name') or ''!r}"
    inertia = report.number(rotor, element, "value", None)
    gears = actuator.all(_GEAR)
    gear = report.number(gears[0], element, "value", None) if gears else 1.0
    if inertia < 0.0 or not moderate(gear * gear * inertia):
        report.error(rotor, element, f"rotor inertia {inertia:.9g} at gear ratio {gear:.9g}", _ROTOR_CURE)
        return 0.0
    return gear * gear * inertia


def _undriven(joint: JointSpec | None) -> str:
    """Why a joint has no motor; "" for one that may have one."""
    if joint is None:
        return "its transmission does not name one joint of this file"
    effort = joint.numbers.effort
    if joint.type == FIXED or JOINT_TYPES[joint.type].nv != 1:
        return f"joint {joint.name!r} is {joint.type}"
    return "" if effort is None or effort[0] > 0.0 else f"joint {joint.name!r} has an effort limit of 0"


def _with_armature(joint: JointSpec, armature: dict[str, float]) -> JointSpec:
    if joint.name not in armature:
        return joint
    return replace(joint, numbers=replace(joint.numbers, armature=np.array((armature[joint.name],))))
