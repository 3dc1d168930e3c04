"""Robots made from robots: joints frozen at a value, or another link made the root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.array import Array
from condyle.model.description import FIXED, Description, JointSpec, describe
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Frame, Joint, RobotData
from condyle.model.placement import IDENTITY
from condyle.model.pose import pose

_AGREE = 1e-9


def lock(robot: RobotData, values: Mapping[str, float | Sequence[float] | Array]) -> Description:
    """The robot with joints frozen: each named joint at its value (a number, or nq numbers), its body merged.

    Locking a master locks the joints that mimic it; naming such a joint too is an error unless the values agree
    (to 1e-9). Errors: ModelError with every unknown name and every bad value.
    """
    if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"lock: expected joints and their values such as {{'finger_joint': 0.0}}, got {values!r}")
    findings: list[Finding] = []
    locked: dict[int, Array] = {}
    for name, value in values.items():
        if name not in robot.joint_names:
            findings.append(Finding("error", f"there is no joint {name!r}{suggest(name, robot.joint_names)}"))
        else:
            index = robot.joint_names.index(name)
            locked[index] = _value(robot.joints[index], value, findings)
    _lock_mimics(robot, locked, findings)
    if findings:
        raise ModelError(findings)
    frozen = {robot.joints[i].name: pose(robot.joints[i], q) for i, q in locked.items()}
    description = describe(robot)
    joints = tuple(
        JointSpec(spec.name, FIXED, spec.parent, spec.child, frozen[spec.name])
        if spec.type != FIXED and spec.name in frozen
        else spec
        for spec in description.joints
    )
    return replace(description, joints=joints)


def _value(joint: Joint, value: float | Sequence[float] | Array, findings: list[Finding]) -> Array:
    n = joint.kind.nq
    try:
        q = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        q = np.array((np.nan,))
    if q.shape != (n,) or not np.isfinite(q).all():
        wanted = "a finite number" if n == 1 else f"{n} finite numbers"
        message = f"cannot lock joint {joint.name!r} ({joint.type}) at {value!r}: give {wanted}"
        findings.append(Finding("error", message))
        return joint.kind.neutral()
    if float(joint.kind.defect(q)) > _AGREE:
        findings.append(Finding("error", f"cannot lock joint {joint.name!r} at {value!r}: the quaternion is not unit"))
    return q


def _lock_mimics(robot: RobotData, locked: dict[int, Array], findings: list[Finding]) -> None:
    for index, joint in enumerate(robot.joints):
        mimic = joint.mimic
        if mimic is None:
            continue
        master = robot.joints[mimic.joint].name
        if mimic.joint not in locked:
            if index in locked:
                findings.append(Finding("error", f"joint {joint.name!r} mimics {master!r}: lock {master!r} instead"))
            continue
        follows = mimic.multiplier * locked[mimic.joint] + mimic.offset
        if index in locked and abs(float(locked[index][0] - follows[0])) > _AGREE:
            given, meant = f"{locked[index][0]:.9g}", f"{follows[0]:.9g}"
            message = f"joint {joint.name!r} mimics {master!r}, which puts it at {meant}, not {given}"
            findings.append(Finding("error", message))
        locked[index] = follows


def reroot(robot: RobotData, link: str) -> Description:
    """The same robot held by another link, whose frame becomes the world's (or carries the free joint).

    Fixed base: the world stands where `link` does; the joints between are reversed, the old root moves.
    Floating base: the free joint moves to `link`, its q and v are then the pose and the twist of `link`'s own frame.
    Link frames, joint names, joint signs and the meaning of every other q stay. Errors: ModelError for an unknown
    link; UnsupportedError for a joint on the way whose inverse is not a joint with the same q (spherical, planar,
    universal, translation, free), and for a floating base whose free joint has armature.
    """
    if link not in robot.frames:
        raise ModelError(f"there is no link {link!r}{suggest(link, tuple(robot.frames))}")
    description = describe(robot)
    root = next(spec for spec in description.joints if spec.parent is None)
    floating = (
        robot.base is None
        and root.type != FIXED
        and JOINT_TYPES[root.type].is_free
        and len(_above(description, None)) == 1
    )
    if robot.base is None and not floating:
        raise UnsupportedError("reroot needs a root link, welded to the world or on one free joint")
    if floating and link != root.child:
        check_rotors(robot.joints[0])
    joints = _without_world(description, root)
    above = {spec.child: i for i, spec in enumerate(joints)}
    at = link
    while at in above:
        i = above[at]
        at = joints[i].parent or ""
        joints[i] = _reversed(joints[i])
    top = replace(root, child=link, placement=root.placement if floating else IDENTITY, after=IDENTITY)
    return replace(description, joints=(top, *joints))


def check_rotors(joint: Joint) -> None:
    """UnsupportedError for the joint of a floating base that has armature: at another link it would not be one."""
    if joint.armature.any():
        raise UnsupportedError(
            f"joint {joint.name!r} has armature, which resists the motion of the link that it carries and of no other "
            "one: the base cannot be moved to another link. Take a robot whose free joint has none"
        )


def _above(description: Description, parent: str | None) -> list[JointSpec]:
    return [spec for spec in description.joints if spec.parent == parent]


def _without_world(description: Description, root: JointSpec) -> list[JointSpec]:
    """The joints but the root's, each on a link: what hangs on the world hangs on the root link."""
    inverse = root.placement.inverse()
    return [
        spec if spec.parent is not None else replace(spec, parent=root.child, placement=inverse.compose(spec.placement))
        for spec in description.joints
        if spec is not root
    ]


def _reversed(spec: JointSpec) -> JointSpec:
    """The same joint seen from its child: (P J A)⁻¹ = A⁻¹ J⁻¹ P⁻¹, and J⁻¹ is J about the negated axis."""
    if spec.type != FIXED and not JOINT_TYPES[spec.type].is_axial:
        raise UnsupportedError(
            f"joint {spec.name!r} is {spec.type}: seen from its child it is no joint with the same q; "
            f"choose a root on its own side, or lock it"
        )
    if spec.parent is None or (spec.type != FIXED and spec.axis is None):
        raise AssertionError("a reversed joint has a parent link and an axis")
    return replace(
        spec,
        parent=spec.child,
        child=spec.parent,
        placement=spec.after.inverse(),
        after=spec.placement.inverse(),
        axis=None if spec.axis is None else -spec.axis,
    )


def carrier(robot: RobotData, name: str, why: str) -> Frame:
    """A frame that moves; ModelError for one that does not, which says why it has to, and for an unknown one."""
    if name not in robot.frames:
        raise ModelError(f"there is no frame {name!r}{suggest(name, tuple(robot.frames))}")
    if robot.frames[name].body < 0:
        raise ModelError(f"frame {name!r} is fixed to the world: {why}")
    return robot.frames[name]


def suggest(name: str, names: Sequence[str]) -> str:
    """The names that were meant, perhaps: for the end of a message."""
    close = get_close_matches(str(name), names, 3, 0.6)
    if close:
        return f"; did you mean {' or '.join(repr(other) for other in close)}?"
    few = ", ".join(repr(other) for other in names[:12])
    return f"; there are {few}{' ...' if len(names) > 12 else ''}" if names else ""
