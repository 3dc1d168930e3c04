"""A robot as its file or its author says it: links and joints by name, fixed ones included, in document order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from condyle.model.actuator import Actuator
from condyle.model.array import Array, frozen
from condyle.model.parts import NONE_SNAPPED, Body, FileNotes, Joint, RobotData, Snapped, combine, massless
from condyle.model.placement import IDENTITY, Placement
from condyle.model.shapes import Shape

FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class MimicOf:
    """q = multiplier · q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One link: its body (name, mass, com, inertia about the com, all in the link frame) and its line in the file.

    place: where the file has the frame of these numbers; they are turned into the link's axes already.
    """

    body: Body
    line: int | None = None
    place: Placement = IDENTITY

    @property
    def name(self) -> str:
        return self.body.name


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What a joint has beside its geometry; a length-1 entry stands for every degree of freedom; None is none."""

    lower: Array | None = None
    upper: Array | None = None
    effort: Array | None = None
    velocity: Array | None = None
    armature: Array | None = None
    damping: Array | None = None
    friction: Array | None = None
    stiffness: Array | None = None
    spring_reference: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class JointSpec:
    """One joint: child in parent = placement · motion(q) · after; "fixed" has no motion; parent None is the world.

    held: the q at which a joint with one degree of freedom was fixed.
    """

    name: str
    type: str
    parent: str | None
    child: str
    placement: Placement = IDENTITY
    after: Placement = IDENTITY
    axis: Array | None = None
    second_axis: Array | None = None
    pitch: float = 0.0
    numbers: Numbers = Numbers()
    mimic: MimicOf | None = None
    line: int | None = None
    held: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """Links and joints as they were said.

    For `change.assemble` every link has exactly one joint above it, and the root's leads to the world; `finish` adds
    the root's where no joint leads to None.
    """

    name: str
    gravity: Array
    links: tuple[Link, ...]
    joints: tuple[JointSpec, ...]
    snap: float = 1e-9
    snapped: Snapped = NONE_SNAPPED
    file: str | None = None
    contacts: tuple[Any, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    file_notes: FileNotes | None = None
    shapes: tuple[Shape, ...] = ()


def describe(robot: RobotData) -> Description:
    """The description of a robot: its bodies as links, its other frames as massless links fixed to them."""
    links: list[Link] = []
    joints: list[JointSpec] = []
    if robot.base is not None:
        place = robot.frames[robot.base.name].placement
        links.append(Link(combine(robot.base.name, [(place.inverse(), robot.base)])))
        joints.append(JointSpec("", FIXED, None, robot.base.name, place))
    links.extend(Link(body) for body in robot.bodies)
    joints.extend(_spec(robot, index) for index in range(len(robot.joints)))
    named = {link.name for link in links}
    for name, frame in robot.frames.items():
        if name not in named:
            links.append(Link(massless(name)))
            joints.append(JointSpec("", FIXED, carrier(robot, frame.body), name, frame.placement))
    whole = (robot.name, robot.gravity, tuple(links), tuple(joints))
    more = (robot.contacts, robot.actuators, robot.file_notes, robot.shapes)
    return Description(*whole, robot.snap, robot.snapped, None, *more)


def carrier(robot: RobotData, body: int) -> str | None:
    """The name of a body, None for the world."""
    return None if body < 0 else robot.bodies[body].name


def _spec(robot: RobotData, index: int) -> JointSpec:
    joint = robot.joints[index]
    follows = joint.mimic
    return JointSpec(
        joint.name,
        joint.type,
        carrier(robot, joint.parent),
        robot.bodies[index].name,
        joint.placement,
        joint.after,
        joint.axis,
        joint.second_axis,
        joint.pitch,
        numbers_of(joint),
        None if follows is None else MimicOf(robot.joints[follows.joint].name, follows.multiplier, follows.offset),
    )


def numbers_of(joint: Joint) -> Numbers:
    """What a joint has beside its geometry."""
    return Numbers(*(getattr(joint, field.name) for field in fields(Numbers)))


def unit_axis(axis: Array) -> Array:
    """axis / |axis|, exact where it is within 1e-12 of a coordinate axis; ValueError where it is (nearly) zero."""
    largest = float(np.max(np.abs(axis)))
    if not np.isfinite(largest) or largest < 1e-12:
        raise ValueError("axis is zero")
    unit = axis
    if abs(float(axis @ axis) - 1.0) > 2e-15:  # what is unit to rounding keeps its digits
        unit = axis / largest
        unit = unit / np.linalg.norm(unit)
    nearest = np.round(unit)
    return frozen(nearest if np.max(np.abs(unit - nearest)) <= 1e-12 else unit, 3)
