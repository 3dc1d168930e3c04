"""Robots made from robots: joints frozen at a value, or another link made the root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.actuator import Actuator, Follows, check_actuators, folded, left_out
from condyle.model.array import LARGEST, Array, moderate, short, transpose
from condyle.model.description import FIXED, Description, JointSpec, Link, describe, numbers_of, unit_axis
from condyle.model.joints import JOINT_TYPES
from condyle.model.named import suggest, wrong_spring
from condyle.model.parts import Body, Frame, Joint, Mimic, RobotData, combine, followed, massless
from condyle.model.placement import IDENTITY, Placement, about, alignment
from condyle.model.state import fresh
from condyle.scalar import number
from condyle.spatial.vector import IDENTITY_MATRIX


def pose(joint: Joint, q: Array) -> Placement:
    """Placement of the joint's body in its parent body (or the world) at q (kind.nq,)."""
    return joint.placement.compose(motion(joint, q)).compose(joint.after)


def motion(joint: Joint, q: Array) -> Placement:
    """Placement of the moved joint frame in the joint frame at q (kind.nq,)."""
    if joint.second_axis is not None:
        turned = about(joint.axis, float(q[0])) @ about(joint.second_axis, float(q[1]))
        return Placement(turned, np.zeros(3))
    values = [number(x) for x in q.tolist()]
    rotation, origin = joint.kind.transform(values, joint.pitch)
    turn = np.array([rotation.into(axis) for axis in IDENTITY_MATRIX], dtype=np.float64)
    aligned = alignment(joint.axis)
    return Placement(aligned @ turn @ transpose(aligned), aligned @ np.array(origin, dtype=np.float64))


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
    held = {robot.joints[i].name: float(q[0]) for i, q in locked.items() if len(q) == 1}
    description = describe(robot)
    joints = tuple(
        JointSpec(spec.name, FIXED, spec.parent, spec.child, frozen[spec.name], held=held.get(spec.name))
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


# From a description to a tree: depth-first order, fixed joints merged, mimic chains resolved.


Z = np.array((0.0, 0.0, 1.0))


@dataclass(slots=True)
class _Walk:
    """What the walk has gathered: moving joints with their parents, the parts of each body (-1: the world), frames."""

    specs: list[tuple[JointSpec, int, Placement]]
    parts: dict[int, list[tuple[Placement, Body]]]
    frames: dict[str, Frame]
    moved: list[float] = field(default_factory=list[float])

    def snapped(self, place: Placement, snap: float) -> Placement:
        """A placement that was composed, its own angles snapped; what was snapped before is counted by whoever did."""
        found = place.snapped(snap)
        self.moved += found.moved
        return replace(found, moved=())


def assemble(description: Description) -> RobotData:
    """The tree of a description whose graph is sound: depth first, siblings in document order.

    Fixed joints are merged: masses, centres and inertias are added where the links stand, and every link stays a
    frame. What is fixed to the world is in `base`. Actuators are on joints that move and follow no other; those that
    drive nothing are left out.
    """
    walk = _walk(description)
    masters = _masters([spec for spec, _, _ in walk.specs])
    joints: list[Joint] = []
    nq = nv = 0
    for spec, parent, placement in walk.specs:
        joint = joint_of(spec, parent, placement, nq, nv)
        joints.append(joint)
        nq, nv = nq + joint.nq, nv + joint.nv
    joints = [_follow(joint, joints, masters) for joint in joints]
    bodies = tuple(combine(spec.child, walk.parts[i]) for i, (spec, _, _) in enumerate(walk.specs))
    fixed = walk.parts[-1]
    base = combine(fixed[0][1].name, fixed) if fixed else None
    whole = (description.name, description.gravity, tuple(joints), bodies, walk.frames, base)
    snapped = description.snapped.more(walk.moved)
    still = {spec.name: Follows(None, 0.0, spec.held or 0.0) for spec in description.joints if spec.type == FIXED}
    actuators = folded(description.actuators, {**still, **followed(joints)}, [joint.name for joint in joints])
    more = (description.contacts, actuators, description.file_notes, description.shapes)
    return RobotData(*whole, description.snap, snapped, *more)


def _walk(description: Description) -> _Walk:
    children: dict[str | None, list[JointSpec]] = {}
    for spec in description.joints:
        children.setdefault(spec.parent, []).append(spec)
    bodies = {link.name: link.body for link in description.links}
    walk = _Walk([], {-1: []}, {})
    stack = [(spec, -1, IDENTITY) for spec in reversed(children.get(None, []))]
    while stack:
        spec, carrier, place = stack.pop()
        place = place.compose(spec.placement)
        if spec.type == FIXED:
            place = place.compose(spec.after)
        else:
            walk.specs.append((spec, carrier, walk.snapped(place, description.snap)))
            carrier, place = len(walk.specs) - 1, IDENTITY
            walk.parts[carrier] = []
        walk.parts[carrier].append((place, bodies[spec.child]))
        walk.frames[spec.child] = Frame(carrier, walk.snapped(place, description.snap))
        stack.extend((child, carrier, place) for child in reversed(children.get(spec.child, [])))
    return walk


def joint_of(spec: JointSpec, parent: int, placement: Placement, nq: int, nv: int) -> Joint:
    """The moving joint of a specification, its mimic not yet resolved; q and v begin at nq and nv."""
    kind = JOINT_TYPES[spec.type]
    own = 0 if spec.mimic is not None else 1
    numbers = spec.numbers
    return Joint(
        name=spec.name,
        type=spec.type,
        nq=own * kind.nq,
        nv=own * kind.nv,
        q_index=nq,
        v_index=nv,
        parent=parent,
        axis=Z if kind.axes == 0 or spec.axis is None else unit_axis(spec.axis),
        second_axis=None if kind.axes < 2 or spec.second_axis is None else unit_axis(spec.second_axis),
        pitch=spec.pitch if kind.has_pitch else 0.0,
        placement=placement,
        after=spec.after,
        lower=_spread(numbers.lower, kind.nq, -np.inf),
        upper=_spread(numbers.upper, kind.nq, np.inf),
        effort=_spread(numbers.effort, kind.nv, np.inf),
        velocity=_spread(numbers.velocity, kind.nv, np.inf),
        armature=_spread(numbers.armature, kind.nv, 0.0),
        damping=_spread(numbers.damping, kind.nv, 0.0),
        friction=_spread(numbers.friction, kind.nv, 0.0),
        stiffness=_spread(numbers.stiffness, kind.nv, 0.0),
        spring_reference=_spread(numbers.spring_reference, kind.nv, 0.0),
        mimic=None,
    )


def _spread(values: Array | None, n: int, default: float) -> Array:
    return np.full(n, default) if values is None else np.array(np.broadcast_to(values, (n,)))


def _follow(joint: Joint, joints: list[Joint], masters: dict[str, Mimic]) -> Joint:
    mimic = masters.get(joint.name)
    if mimic is None:
        return joint
    master = joints[mimic.joint]
    return replace(joint, mimic=mimic, q_index=master.q_index, v_index=master.v_index)


def _masters(specs: list[JointSpec]) -> dict[str, Mimic]:
    """For each mimic joint the joint at the root of its chain, with the chain's multiplier and offset."""
    index = {spec.name: i for i, spec in enumerate(specs)}
    resolved: dict[str, Mimic] = {}
    for spec in specs:
        multiplier, offset, seen, at = 1.0, 0.0, {spec.name}, spec
        while at.mimic is not None:
            multiplier, offset = multiplier * at.mimic.multiplier, multiplier * at.mimic.offset + offset
            if at.mimic.joint not in index or at.mimic.joint in seen:
                raise ModelError(f"joint {spec.name!r} mimics {at.mimic.joint!r}, which is no moving joint of its own")
            at = specs[index[at.mimic.joint]]
            seen.add(at.name)
        if spec.mimic is not None:
            resolved[spec.name] = Mimic(index[at.name], multiplier, offset)
    return resolved


# Drives of joints in code: a motor behind a gear, with the friction, the spring and the limits of its joint.


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
        for name in (each.name for each in fields(self)):
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
