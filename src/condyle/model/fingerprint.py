"""A hash of all numbers that dynamics depends on."""

from __future__ import annotations

import hashlib

import numpy as np

from condyle.model.array import Array
from condyle.model.contact import Contact
from condyle.model.parts import Joint, RobotData

_VERSION = "condyle robot 1"
_NONE = np.zeros(0)


def fingerprint(robot: RobotData) -> str:
    """sha256 (hex) over joint types and order, placements, axes, pitches, mimics, inertias, armature, gravity and
    closures.

    Names, limits, damping and friction do not count; neither does the sign of a zero.
    """
    digest = hashlib.sha256(_VERSION.encode())
    digest.update(_bytes(robot.gravity))
    for joint, body in zip(robot.joints, robot.bodies, strict=True):
        master = -1 if joint.mimic is None else joint.mimic.joint
        digest.update(f"\n{joint.type} {joint.parent} {master}\n".encode())
        digest.update(b"".join(_bytes(x) for x in _numbers(joint)))
        digest.update(_bytes(np.array([body.mass])) + _bytes(body.com) + _bytes(body.inertia))
    for one in robot.contacts:
        digest.update(_closure(robot, one))
    return digest.hexdigest()


def _closure(robot: RobotData, contact: Contact) -> bytes:
    """Where a closure stands on its two bodies, and what it holds."""
    (body, place), at, other = robot.frames[contact.frame], contact.anchored, -1
    if contact.other is not None:
        other, there = robot.frames[contact.other]
        at = there.compose(at)
    own = place.compose(contact.placed)
    numbers = (own.rotation, own.translation, at.rotation, at.translation, np.array(contact.gains))
    return f"\n{contact.kind} {body} {other}\n".encode() + b"".join(_bytes(x) for x in numbers)


def _numbers(joint: Joint) -> tuple[Array, ...]:
    mimic = joint.mimic
    return (
        joint.placement.rotation,
        joint.placement.translation,
        joint.after.rotation,
        joint.after.translation,
        joint.axis,
        _NONE if joint.second_axis is None else joint.second_axis,
        np.array([joint.pitch, 0.0 if mimic is None else mimic.multiplier, 0.0 if mimic is None else mimic.offset]),
        joint.armature,
    )


def _bytes(x: Array) -> bytes:
    return (x + 0.0).astype("<f8").tobytes()
