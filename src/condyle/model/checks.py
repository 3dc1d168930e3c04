"""What can be wrong with a robot's numbers: impossible bodies, subtrees that nothing resists, odd limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from condyle.errors import Finding
from condyle.model.array import Array, moderate, short
from condyle.model.idle import idle_coordinates
from condyle.model.parts import Body, RobotData, stopped
from condyle.model.state import random_state

POINT_MASS = "a mass but no inertia: a point mass"
NO_MASS = "an inertia but no mass"

_KEPT = "it is used as it stands; give both, or neither"

_ROUNDING = 1e-9
_TINY = 1e-6  # m², of one millimetre: moments are compared with those of a body of that size
_GYRATION = 5.0
_SMALLEST = 0.1


@dataclass(frozen=True, slots=True)
class Source:
    """Where links stand in a file, for messages: lines by link name."""

    file: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])


NOWHERE = Source()


def check(robot: RobotData) -> tuple[Finding, ...]:
    """Return what is wrong or doubtful in this robot, a `Finding` each; an empty tuple if nothing is.

    Bodies that cannot exist (merged bodies about their own frames), joints that move no mass, limits that are reversed,
    or that leave a joint with followers no motion.
    """
    bodies = [finding for body in robot.bodies for finding in check_body(body)]
    return (*bodies, *check_structure(robot))


def check_structure(robot: RobotData, source: Source = NOWHERE) -> tuple[Finding, ...]:
    """Findings that need the whole tree: singular joints, sizes that do not fit, reversed limits."""
    findings = [
        Finding(
            "physics",
            "has a motion that moves no mass while the joints behind it are free: the mass matrix is singular, "
            "so there is no forward dynamics",
            source.file,
            source.lines.get(robot.bodies[i].name),
            f"joint {robot.joints[i].name!r}",
            f"give mass and inertia to link {robot.bodies[i].name!r} or to what it carries, or lock the joint",
        )
        for i in singular_joints(robot)
    ]
    findings += _oversized(robot, source)
    for joint in robot.joints:
        if not (moderate(joint.armature) and bool((joint.armature >= 0.0).all())):
            wrong = f"armature {short(joint.armature)}, expected 0 or more of each degree of freedom, and finite"
            findings.append(Finding("error", wrong, source.file, None, f"joint {joint.name!r}"))
        if (joint.lower > joint.upper).any():
            odd = "lower limit above the upper one"
            findings.append(Finding("note", odd, source.file, None, f"joint {joint.name!r}"))
    for joint, left in stopped(robot.joints):
        odd = f"limits of joints that mimic it leave it no motion: {left}"
        cure = "correct their limits or multipliers"
        findings.append(Finding("note", odd, source.file, None, f"joint {joint.name!r}", cure))
    return tuple(findings)


def _finding(severity: str, message: str, source: Source, link: str | None, cure: str | None = None) -> Finding:
    line = None if link is None else source.lines.get(link)
    return Finding(severity, message, source.file, line, None if link is None else f"link {link!r}", cure)


def check_body(body: Body, source: Source = NOWHERE) -> list[Finding]:
    """Return what is impossible ("error") or doubtful ("physics") in the mass and inertia of one body.

    Errors: a negative mass, a negative moment, an inertia that is not positive definite about the link's origin.
    Doubtful: an inertia that is indefinite about the com only (in files with rounded numbers), one that breaks the
    triangle inequality, a mass without inertia, an inertia without mass.
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


def singular_joints(robot: RobotData) -> tuple[int, ...]:
    """Joints of which some motion moves nothing, or nothing that those behind them cannot undo; see `idle`.

    They make M singular in every configuration. Armature counts as inertia. Of such joints in a row the first stands
    for all.
    """
    idle = idle_coordinates(robot, random_state(robot, 3, 0).q)
    found = [any(joint.v_index <= k < joint.v_index + joint.nv for k in idle) for joint in robot.joints]
    return tuple(
        i for i, joint in enumerate(robot.joints) if found[i] and not (joint.parent >= 0 and found[joint.parent])
    )
