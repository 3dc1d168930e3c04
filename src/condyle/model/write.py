"""A robot as URDF text, digit for digit."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.actuator import UNLIMITED, Actuator
from condyle.model.array import LARGEST, Array, moderate
from condyle.model.parts import Body, Joint, RobotData, massless
from condyle.model.placement import Placement, rpy_of
from condyle.model.shapes import Shape
from condyle.text import Emitter

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HUGE = float(np.finfo(np.float64).max)


def to_urdf(robot: RobotData) -> str:
    """Return the robot as URDF text; read back with the same snap and gravity it has the same fingerprint.

    Merged bodies are one link; their other links are massless links that are fixed to it. A floating base is written
    without its free joint: read it back with floating_base=True. An infinite limit is written as the largest number.
    A motor on one joint is a SimpleTransmission, and the joint's armature its <drake:rotor_inertia>; a shape is a
    <collision>. Errors: UnsupportedError names every joint type, armature without a motor, spring, body frame off its
    joint, contact, other actuator, mass or name that URDF cannot hold.
    """
    rotors = _rotors(robot)
    turned = {joint for one in robot.actuators if one.name in rotors for joint in one.transmission}
    refused = [reason for joint in robot.joints for reason in _refusals(joint, joint.name in turned)]
    names = (robot.name, *robot.joint_names, *robot.frames, *(one.name for one in (*robot.actuators, *robot.shapes)))
    parts = robot.bodies if robot.base is None else (robot.base, *robot.bodies)
    refused += [f"body {body.name!r}: merged links add up to more than {LARGEST:.0e}" for body in parts if _heavy(body)]
    refused += [f"{one.title}: a loop is closed there" for one in robot.contacts]
    refused += [text for one in robot.actuators if (text := _no_transmission(one))]
    refused += [f"name {name!r}: a character that XML cannot hold" for name in names if _ILLEGAL.search(name)]
    if refused:
        raise UnsupportedError("URDF cannot say this robot:\n" + "\n".join(refused))
    e = Emitter("  ")
    e('<?xml version="1.0" encoding="utf-8"?>')
    drake = ' xmlns:drake="http://drake.mit.edu"' if rotors else ""
    with e.block(f"<robot name={_quoted(robot.name)}{drake}>", "</robot>"):
        root = _write_root(e, robot)
        for i, joint in enumerate(robot.joints):
            _write_link(e, robot.bodies[i], robot.shapes)
            if root is not None or i > 0:
                parent = root if joint.parent < 0 else robot.bodies[joint.parent].name
                _write_joint(e, robot, joint, parent or "", robot.bodies[i].name)
        _write_frames(e, robot, root)
        for one in robot.actuators:
            _write_transmission(e, one, rotors.get(one.name, 0.0))
    return e.text()


def _rotors(robot: RobotData) -> dict[str, float]:
    """The armature of each joint by the name of the first motor on it; readers take it where there is effort."""
    turning = (joint for joint in robot.joints if joint.kind.nv == 1 and joint.effort[0] > 0.0)
    armature = {joint.name: float(joint.armature[0]) for joint in turning}
    rotors: dict[str, float] = {}
    for one in robot.actuators:
        if not _no_transmission(one) and (value := armature.pop(next(iter(one.transmission)), 0.0)):
            rotors[one.name] = value
    return rotors


def _heavy(body: Body) -> bool:
    """Whether a number of a body is beyond what a file may have."""
    return not (moderate(body.mass) and moderate(body.com) and moderate(body.inertia))


def _refusals(joint: Joint, has_rotor: bool) -> list[str]:
    reasons: list[str] = []
    if joint.kind.urdf is None:
        reasons.append(f"joint {joint.name!r}: type {joint.type}")
    if joint.armature.any() and not has_rotor:
        reasons.append(f"joint {joint.name!r}: armature")
    if not joint.after.is_identity:
        reasons.append(f"joint {joint.name!r}: its body's frame does not stand in the joint frame")
    if joint.stiffness.any():
        reasons.append(f"joint {joint.name!r}: stiffness")
    limits = (joint.lower, joint.upper, joint.effort, joint.velocity)
    if joint.kind.nv > 1 and (any(np.isfinite(x).any() for x in limits) or joint.damping.any() or joint.friction.any()):
        reasons.append(f"joint {joint.name!r}: limits, damping or friction of a joint with {joint.kind.nv} freedoms")
    return reasons


def _no_transmission(actuator: Actuator) -> str:
    """Why an actuator is no SimpleTransmission of URDF; "" where it is one."""
    why = "" if actuator.kind == "motor" else f"kind {actuator.kind}"
    why = why or ("" if len(actuator.transmission) == 1 else f"{len(actuator.transmission)} joints")
    why = why or (
        ""
        if (actuator.gain, actuator.control, actuator.force) == (1.0, UNLIMITED, UNLIMITED)
        else "its gain or its ranges"
    )
    return f"actuator {actuator.name!r}: {why}; robot.with_actuators(()) leaves all out" if why else ""


def _write_transmission(e: Emitter, actuator: Actuator, armature: float) -> None:
    ((joint, gear),) = actuator.transmission.items()
    rotor = f"<drake:rotor_inertia value={_quoted(repr(armature))}/>" if armature else ""
    effort = "<hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>"
    with e.block(f"<transmission name={_quoted(actuator.name)}>", "</transmission>"):
        e("<type>transmission_interface/SimpleTransmission</type>")
        e(f"<joint name={_quoted(joint)}>{effort}</joint>")
        reduction = f"<mechanicalReduction>{gear!r}</mechanicalReduction>"
        e(f"<actuator name={_quoted(actuator.name)}>{reduction}{rotor}</actuator>")


def _write_root(e: Emitter, robot: RobotData) -> str | None:
    """The root link; None for a floating base, whose first body is the root."""
    if robot.base is None:
        return None
    place = robot.frames[robot.base.name].placement
    if place.is_identity:
        _write_link(e, robot.base, robot.shapes)
        return robot.base.name
    world = _fresh("world", set(robot.frames))
    base = robot.base
    _write_link(e, Body(world, base.mass, base.com, base.inertia), ())
    return world


def _write_link(e: Emitter, body: Body, shapes: Sequence[Shape]) -> None:
    shapes = [shape for shape in shapes if shape.frame == body.name]
    is_massless = body.mass == 0.0 and not body.inertia.any()
    if is_massless and not shapes:
        e(f"<link name={_quoted(body.name)}/>")
        return
    with e.block(f"<link name={_quoted(body.name)}>", "</link>"):
        if not is_massless:
            _write_inertial(e, body)
        for shape in shapes:
            _write_shape(e, shape)


def _write_inertial(e: Emitter, body: Body) -> None:
    with e.block("<inertial>", "</inertial>"):
        e(f'<origin xyz="{_join(body.com)}" rpy="0.0 0.0 0.0"/>', f'<mass value="{body.mass!r}"/>')
        i = body.inertia.tolist()
        upper = {"ixx": i[0][0], "ixy": i[0][1], "ixz": i[0][2], "iyy": i[1][1], "iyz": i[1][2], "izz": i[2][2]}
        e("<inertia " + " ".join(f'{name}="{value!r}"' for name, value in upper.items()) + "/>")


def _write_shape(e: Emitter, shape: Shape) -> None:
    if shape.kind == "box":
        size = f'size="{" ".join(repr(2.0 * half) for half in shape.size)}"'
    else:
        halves = zip(("radius", "length"), (1.0, 2.0), shape.size, strict=False)
        size = " ".join(f'{name}="{factor * x!r}"' for name, factor, x in halves)
    name = f" name={_quoted(shape.name)}" if shape.name else ""
    with e.block(f"<collision{name}>", "</collision>"):
        e(_origin(shape.placement), f"<geometry><{shape.kind} {size}/></geometry>")


def _write_joint(e: Emitter, robot: RobotData, joint: Joint, parent: str, child: str) -> None:
    with e.block(f'<joint name={_quoted(joint.name)} type="{joint.kind.urdf}">', "</joint>"):
        _write_ends(e, parent, child, joint.placement)
        if joint.kind.axes:
            e(f'<axis xyz="{_join(joint.axis)}"/>')
        if joint.kind.nv == 1:
            _write_numbers(e, joint)
        if joint.mimic is not None:
            master = _quoted(robot.joints[joint.mimic.joint].name)
            e(f'<mimic joint={master} multiplier="{joint.mimic.multiplier!r}" offset="{joint.mimic.offset!r}"/>')


def _write_ends(e: Emitter, parent: str, child: str, placement: Placement) -> None:
    e(f"<parent link={_quoted(parent)}/>", f"<child link={_quoted(child)}/>", _origin(placement))


def _origin(placement: Placement) -> str:
    rpy = rpy_of(placement.rotation) if placement.rpy is None else placement.rpy
    return f'<origin xyz="{_join(placement.translation)}" rpy="{" ".join(repr(x) for x in rpy)}"/>'


def _write_numbers(e: Emitter, joint: Joint) -> None:
    limits = {"lower": joint.lower, "upper": joint.upper, "effort": joint.effort, "velocity": joint.velocity}
    if not joint.kind.is_bounded:
        limits = {name: x for name, x in limits.items() if np.isfinite(x).all()}
    if limits:
        text = (f'{name}="{min(max(float(x[0]), -_HUGE), _HUGE)!r}"' for name, x in limits.items())
        e("<limit " + " ".join(text) + "/>")
    if joint.damping.any() or joint.friction.any():
        e(f'<dynamics damping="{float(joint.damping[0])!r}" friction="{float(joint.friction[0])!r}"/>')


def _write_frames(e: Emitter, robot: RobotData, root: str | None) -> None:
    """The links that were merged, massless, each fixed where it stands."""
    written = {root, *robot.body_names}
    joints = set(robot.joint_names)
    for name, frame in robot.frames.items():
        if name in written:
            continue
        joint = _fresh(f"{name}_fixed", joints)  # frames have different names, so these too
        carrier = root if frame.body < 0 else robot.bodies[frame.body].name
        _write_link(e, massless(name), robot.shapes)
        with e.block(f'<joint name={_quoted(joint)} type="fixed">', "</joint>"):
            _write_ends(e, carrier or "", name, frame.placement)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _join(x: Array) -> str:
    return " ".join(repr(value) for value in x.tolist())


def _quoted(text: str) -> str:
    """The value of an attribute."""
    from xml.sax.saxutils import quoteattr  # it imports what speaks to the network: only to write a file

    return quoteattr(text)
