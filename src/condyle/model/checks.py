"""What can be wrong with a robot's numbers: impossible bodies, subtrees that nothing resists, odd limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from condyle.errors import Finding
from condyle.model.array import Array, congruence, diagonal, transpose
from condyle.model.idle import idle_coordinates
from condyle.model.parts import Body, Joint, RobotData
from condyle.model.placement import alignment
from condyle.model.state import random_state

POINT_MASS = "a mass but no inertia: a point mass"
NO_MASS = "an inertia but no mass"

_KEPT = "it is used as it stands; give both, or neither"

_ROUNDING = 1e-9
_TINY = 1e-6  # m², of one millimetre: moments are compared with those of a body of that size
_SINGULAR = 1e-13
_GYRATION = 5.0
_SMALLEST = 0.1


@dataclass(frozen=True, slots=True)
class Source:
    """Where links stand in a file, for messages: lines by link name."""

    file: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])


NOWHERE = Source()


def check(robot: RobotData) -> tuple[Finding, ...]:
    """What is odd about this robot: bodies that cannot be (merged ones, about their own frames), subtrees without mass,
    limits that are reversed.
    """
    bodies = [finding for body in robot.bodies for finding in check_body(body)]
    return (*bodies, *check_structure(robot))


def check_structure(robot: RobotData, source: Source = NOWHERE) -> tuple[Finding, ...]:
    """Findings that need the whole tree: singular joints, sizes that do not fit, reversed limits."""
    findings = [
        Finding(
            "physics",
            f"{reason}: the mass matrix is singular, no forward dynamics",
            source.file,
            source.lines.get(robot.bodies[i].name),
            f"joint {robot.joints[i].name!r}",
            f"give mass to link {robot.bodies[i].name!r} or to what it carries, or lock the joint",
        )
        for i, reason in singular_joints(robot)
    ]
    findings = findings or _idle(robot, source)
    findings += _oversized(robot, source)
    for joint in robot.joints:
        if (joint.lower > joint.upper).any():
            odd = "lower limit above the upper one"
            findings.append(Finding("note", odd, source.file, None, f"joint {joint.name!r}"))
    return tuple(findings)


def _idle(robot: RobotData, source: Source) -> list[Finding]:
    """Joints of which some motion moves nothing, or nothing that those behind them cannot undo."""
    idle = idle_coordinates(robot, random_state(robot, 3, 0).q)
    found: list[Finding] = []
    for joint, body in zip(robot.joints, robot.bodies, strict=True):
        if any(k in range(joint.v_index, joint.v_index + joint.nv) for k in idle):
            message = f"joint {joint.name!r} has a motion that moves no mass, the joints behind it being free"
            message += ": the mass matrix is singular, no forward dynamics"
            cure = "give the link mass and inertia, or the joint armature"
            found.append(_finding("physics", message, source, body.name, cure))
    return found


def _finding(severity: str, message: str, source: Source, link: str | None, cure: str | None = None) -> Finding:
    line = None if link is None else source.lines.get(link)
    return Finding(severity, message, source.file, line, None if link is None else f"link {link!r}", cure)


def check_body(body: Body, source: Source = NOWHERE) -> list[Finding]:
    """What is impossible (error) or not physical ("physics") in one body's mass and inertia.

    Refused: a negative mass, a negative moment, an inertia that is not positive definite
    about the link's own origin. Not physical: one that is indefinite about the com only (found in files with rounded
    numbers), a broken triangle inequality, a mass without inertia, an inertia without mass.
    """
    if body.mass < 0.0:
        return [_finding("error", f"mass {body.mass:.9g} kg, expected 0 or more", source, body.name)]
    inertia = body.inertia
    if body.mass == 0.0:
        if inertia.any():
            return _check_moments(body, source) or [_finding("physics", NO_MASS, source, body.name, _KEPT)]
        return []
    if float(np.max(np.abs(inertia))) <= _ROUNDING * _TINY * body.mass:
        return [_finding("physics", POINT_MASS, source, body.name, "give its inertia")]
    return _check_moments(body, source)


def _check_moments(body: Body, source: Source) -> list[Finding]:
    moments = np.linalg.eigvalsh(body.inertia)
    c = body.com
    about_origin = np.linalg.eigvalsh(body.inertia + body.mass * (float(c @ c) * np.eye(3) - c[:, None] * c))
    text = ", ".join(f"{m:.6g}" for m in moments)
    slack = _ROUNDING * (float(np.max(np.abs(moments))) + _TINY * body.mass)
    if float(np.min(np.diagonal(body.inertia))) < -slack or float(about_origin[0]) < -slack:
        message = f"inertia not positive definite: principal moments {text} kg m²"
        return [_finding("error", message, source, body.name, "check signs and units of the inertia")]
    if float(moments[0]) < -slack:
        message = f"inertia indefinite about the com: principal moments {text} kg m²"
        return [_finding("physics", message, source, body.name, "check the products of inertia")]
    if float(moments[0] + moments[1] - moments[2]) < -slack:
        message = f"principal moments {text} kg m² break the triangle inequality"
        return [_finding("physics", message, source, body.name, "no rigid body has this inertia; often rounding")]
    return []


def _oversized(robot: RobotData, source: Source) -> list[Finding]:
    """Bodies whose radius of gyration is far beyond anything else known about their size: a unit mistake, mostly."""
    pairs = zip(robot.joints, robot.bodies, strict=True)
    size = [max(_SMALLEST, _norm(body.com), _norm(joint.placement.translation)) for joint, body in pairs]
    for joint in robot.joints:
        if joint.parent >= 0:
            size[joint.parent] = max(size[joint.parent], _norm(joint.placement.translation))
    for frame in robot.frames.values():
        if frame.body >= 0:
            size[frame.body] = max(size[frame.body], _norm(frame.placement.translation))
    findings: list[Finding] = []
    for body, extent in zip(robot.bodies, size, strict=True):
        largest = float(np.max(np.diagonal(body.inertia)))
        if body.mass > 0.0 and largest > body.mass * (_GYRATION * extent) ** 2:
            radius = float(np.sqrt(largest / body.mass))
            message = f"radius of gyration {radius:.3g} m, while the link measures about {extent:.2g} m"
            findings.append(_finding("note", message, source, body.name, "check the units of its inertia"))
    return findings


def _norm(x: Array) -> float:
    return float(np.sqrt(x @ x))


def singular_joints(robot: RobotData) -> tuple[tuple[int, str], ...]:
    """Joints that make M singular in every configuration, with the reason; armature counts as inertia.

    Found are moving subtrees without mass, and last bodies whose mass cannot be felt by their joint.
    """
    beyond, turning = _beyond(robot)
    masters = {joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    reported: set[int] = set()
    found: list[tuple[int, str]] = []
    for i, joint in enumerate(robot.joints):
        if beyond[i] != 0.0 or joint.mimic is not None or i in masters or joint.parent in reported:
            continue
        body = robot.bodies[i]
        if turning[i]:
            body = Body(body.name, body.mass, body.com, body.inertia + turning[i] * np.eye(3))
        if not _felt(joint, body):
            reported.add(i)
            nothing = body.mass == 0.0 and not body.inertia.any()
            what = "moves no mass" if nothing else "does not feel the mass that it moves"
            found.append((i, what))
    return tuple(found)


def _beyond(robot: RobotData) -> tuple[list[float], list[float]]:
    """The mass of each joint's descendants, and the sum of their moments of inertia."""
    n = len(robot.joints)
    mass, turning = [0.0] * n, [0.0] * n
    for i in reversed(range(n)):
        parent = robot.joints[i].parent
        if parent >= 0:
            mass[parent] += mass[i] + robot.bodies[i].mass
            turning[parent] += turning[i] + float(np.trace(robot.bodies[i].inertia))
    return mass, turning


def _felt(joint: Joint, body: Body) -> bool:
    """Whether Sᵀ I S + armature of a last body is positive definite."""
    if bool((joint.armature > 0.0).all()):
        return True
    if body.mass == 0.0 and not body.inertia.any():
        return False
    if joint.kind.parts:
        return True
    aligned = transpose(alignment(joint.axis))
    com = aligned @ joint.after.apply(body.com)
    turn = aligned @ joint.after.rotation
    inertia = congruence(turn, body.inertia)
    linear, angular = (np.array(part, np.float64) for part in zip(*joint.kind.subspace(joint.pitch), strict=True))
    linear = linear + np.cross(angular, com)
    energy = body.mass * linear @ transpose(linear) + angular @ inertia @ transpose(angular) + diagonal(joint.armature)
    scale = body.mass * (1.0 + float(com @ com)) + float(np.trace(inertia))
    own = np.diagonal(energy)
    if float(np.min(own)) <= _SINGULAR * scale * 1e-3:
        return False
    root = np.sqrt(own)
    return float(np.linalg.eigvalsh(energy / (root[:, None] * root))[0]) > _SINGULAR
