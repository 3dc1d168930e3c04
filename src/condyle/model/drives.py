"""Drives of joints in code: a motor behind a gear, with the friction, the spring and the limits of its joint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError
from condyle.model.actuator import Actuator, check_actuators, folded, left_out
from condyle.model.array import LARGEST, Array, moderate, short
from condyle.model.change import assemble
from condyle.model.description import FIXED, JointSpec, Link, describe, numbers_of
from condyle.model.named import suggest, wrong_spring
from condyle.model.orders import fresh
from condyle.model.parts import Joint, RobotData, followed, massless
from condyle.model.placement import IDENTITY

_LIMITS = ("effort", "velocity")
_ALLOWED = {"gear": "any number but 0", "spring_reference": "a number"}


@dataclass(frozen=True, slots=True)
class Drive:
    """What a joint has from its motor, its gear and its bearing: see `Robot.with_drives`.

    gear: turns of the rotor for one of the joint (1/m for a slide). rotor_inertia [kg m^2], on the motor's side: the
    joint gets the armature gear^2 rotor_inertia. All others are on the joint's side: damping d [N m s/rad or N s/m] and
    friction f [N m or N], the torque - d v - f sign(v); stiffness k [N m/rad or N/m] and spring_reference r [rad or m],
    the torque - k (q - r); effort [N m or N] and velocity [rad/s or m/s], limits of the absolute values. Each is one
    number, or one for each degree of freedom of its joint.
    Errors: ModelError with everything that is wrong: a gear of 0, a negative number, one that is not finite.
    """

    gear: ArrayLike = 1.0
    rotor_inertia: ArrayLike = 0.0
    damping: ArrayLike = 0.0
    friction: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    spring_reference: ArrayLike = 0.0
    effort: ArrayLike = np.inf
    velocity: ArrayLike = np.inf

    def __post_init__(self) -> None:
        wrong: list[Finding] = []
        for name in (field.name for field in fields(self)):
            said: ArrayLike = getattr(self, name)
            numbers = _numbers(said)
            finite = moderate(np.where(np.isposinf(numbers), 0.0, numbers) if name in _LIMITS else numbers)
            is_fine = (numbers != 0.0).all() if name == "gear" else name == "spring_reference" or (numbers >= 0.0).all()
            if not (finite and is_fine):
                text = f"{name}={said!r}, expected {_ALLOWED.get(name, '0 or more')}, and none beyond {LARGEST:.0e}"
                wrong.append(Finding("error", text, element="Drive"))
            object.__setattr__(self, name, tuple(numbers.tolist()) if numbers.ndim else float(numbers))
        if wrong:
            raise ModelError(wrong)

    def numbers(self, size: int) -> dict[str, Array]:
        """What a joint with so many degrees of freedom has of it, (size,) each; ModelError."""
        own: dict[str, Array] = {name: np.atleast_1d(getattr(self, name)) for name in (f.name for f in fields(self))}
        odd = [f"{name}: {len(x)} numbers, expected 1 or {size}" for name, x in own.items() if len(x) not in (1, size)]
        if odd:
            raise ModelError([Finding("error", text, element="Drive") for text in odd])
        own["armature"] = own.pop("gear") ** 2 * own.pop("rotor_inertia")
        return {name: np.array(np.broadcast_to(x, (size,))) for name, x in own.items()}


def _numbers(said: ArrayLike) -> Array:
    """A number or a row of them; NaN for what is neither."""
    try:
        numbers = np.asarray(said, np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)
    return numbers if numbers.ndim < 2 else np.array(np.nan)


def with_drives(robot: RobotData, drives: Mapping[str, Drive]) -> RobotData:
    """See `Robot.with_drives`."""
    wrong = _unknown("with_drives", robot, drives)
    joints = [_driven(joint, drives[joint.name], wrong) if joint.name in drives else joint for joint in robot.joints]
    if wrong:
        raise ModelError(wrong)
    return replace(robot, joints=tuple(joints))


def _unknown(called: str, robot: RobotData, drives: Mapping[str, Drive]) -> list[Finding]:
    """An error for each joint that is not there; ModelError where these are no drives."""
    if not isinstance(drives, Mapping) or not all(isinstance(one, Drive) for one in drives.values()):  # pyright: ignore
        raise ModelError(f"{called}: {drives!r}, expected joints and drives such as {{'elbow': condyle.Drive()}}")
    unknown = [name for name in drives if name not in robot.joint_names]
    return [Finding("error", f"there is no joint {name!r}{suggest(name, robot.joint_names)}") for name in unknown]


def _driven(joint: Joint, drive: Drive, wrong: list[Finding]) -> Joint:
    """The joint with the numbers of a drive; adds what is wrong."""
    element = f"joint {joint.name!r}"
    try:
        driven = replace(joint, **drive.numbers(joint.kind.nv))
    except ModelError as error:
        wrong += [replace(finding, element=element) for finding in error.findings]
        return joint
    reason = wrong_spring(joint.kind, driven.stiffness)
    if not moderate(driven.armature):
        reason = f"armature {short(driven.armature)}, expected no number beyond {LARGEST:.0e}"
    wrong += [Finding("error", reason, element=element)] if reason else []
    return driven


def with_elastic(robot: RobotData, drives: Mapping[str, Drive]) -> RobotData:
    """See `Robot.with_elastic`."""
    wrong = _unknown("with_elastic", robot, drives)
    masters = {robot.joints[joint.mimic.joint].name for joint in robot.joints if joint.mimic is not None}
    springs: dict[str, Joint] = {}
    for joint in robot.joints:
        if joint.name in drives:
            springs[joint.name] = spring = _driven(joint, drives[joint.name], wrong)
            tied = joint.mimic is not None or joint.name in masters
            reasons = {
                f"is {joint.type}: only joints with one degree of freedom can be elastic": joint.kind.nv != 1,
                "the drive has no stiffness": not spring.stiffness.all(),
                "mimics another joint, or is mimicked": tied,
                "has no armature, the inertia on the motor's side: give it by with_drives": not joint.armature.any(),
            }
            wrong += [Finding("error", text, element=f"joint {joint.name!r}") for text, here in reasons.items() if here]
    if wrong:
        raise ModelError(wrong)
    description, taken = describe(robot), {*robot.joint_names, *robot.frames}
    links, joints = list(description.links), list[JointSpec]()
    for spec in description.joints:
        if spec.type == FIXED or spec.name not in springs:
            joints.append(spec)
            continue
        rotor, name = fresh(f"{spec.name}_motor", taken), fresh(f"{spec.name}_spring", taken)
        links.append(Link(massless(rotor)))
        joints.append(replace(spec, child=rotor, after=IDENTITY))
        numbers = numbers_of(springs[spec.name])
        joints.append(replace(spec, name=name, parent=rotor, placement=IDENTITY, numbers=numbers))
    return assemble(replace(description, links=tuple(links), joints=tuple(joints)))


def with_actuators(robot: RobotData, actuators: Iterable[Actuator]) -> RobotData:
    """See `Robot.with_actuators`."""
    said = tuple(actuators) if isinstance(actuators, Iterable) else (actuators,)  # pyright: ignore
    findings = check_actuators(said, {joint.name: joint.kind for joint in robot.joints})
    kept = () if findings else folded(said, followed(robot.joints), robot.joint_names)
    findings += [replace(finding, severity="error") for finding in left_out(said, kept)] if not findings else []
    if findings:
        raise ModelError(findings)
    return replace(robot, actuators=kept)
