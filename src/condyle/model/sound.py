"""Robots that cannot be: parts that `dataclasses.replace` put together, refused by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.array import Array, moderate, short, transpose
from condyle.model.checks import check_body
from condyle.model.parts import Joint, RobotData
from condyle.model.placement import Placement

CLOSE = 1e-6
"""How far an axis may be from unit length, and a rotation from orthogonal: far more than rounding."""


def refuse_impossible(robot: RobotData) -> None:
    """ModelError with every body and joint whose numbers no robot has: an inertia that is not positive definite about
    the body's own frame, a negative or endless armature, an axis that is not unit, a placement that is none.

    Loading has refused such files already, and with their lines; this is for robots that were made in code.
    """
    findings = [one for k in _doubtful(robot) for one in check_body(robot.bodies[k]) if one.severity == "error"]
    for joint in robot.joints:
        findings += [Finding("error", wrong, element=f"joint {joint.name!r}") for wrong in _wrong(joint)]
    if findings:
        raise ModelError(findings)


def _doubtful(robot: RobotData) -> list[int]:
    """Bodies that have to be looked at one by one: those whose inertia about their frame has a moment of 0 or less."""
    if not robot.bodies:
        return []
    c = np.stack([body.com for body in robot.bodies])
    mass = np.array([body.mass for body in robot.bodies])[:, None, None]
    central = np.stack([body.inertia for body in robot.bodies])
    square = np.sum(c * c, axis=-1)[:, None, None] * np.eye(3)
    least = np.linalg.eigvalsh(central + mass * (square - c[:, :, None] * c[:, None, :]))[:, 0]
    least = np.minimum(least, np.diagonal(central, axis1=1, axis2=2).min(axis=-1))
    return [int(k) for k in np.flatnonzero(least <= 0.0)]


def _wrong(joint: Joint) -> Iterator[str]:
    armature = joint.armature
    if not (moderate(armature) and bool((armature >= 0.0).all())):
        yield f"armature {short(armature)}, expected 0 or more of each degree of freedom, and finite"
    for name in ("damping", "friction"):
        if not moderate(getattr(joint, name)):
            yield f"{name} {short(getattr(joint, name))}, expected finite numbers"
    for name, axis in (("axis", joint.axis), ("second_axis", joint.second_axis))[: joint.kind.axes]:
        if axis is None or not abs(float(axis @ axis) - 1.0) < CLOSE:
            yield f"{name} {'None' if axis is None else short(axis)}, expected a unit vector"
    for name, place in (("placement", joint.placement), ("after", joint.after)):
        if not _is_turn(place):
            yield f"{name}: its rotation {short(place.rotation)} is not one, or a number is not finite"


def _is_turn(place: Placement) -> bool:
    turn: Array = place.rotation
    if not (moderate(turn) and moderate(place.translation)):
        return False
    return bool(np.abs(turn @ transpose(turn) - np.eye(3)).max() < CLOSE) and float(np.linalg.det(turn)) > 0.0
