"""What a robot is made of: Joint, Body, Frame, Mimic, and the RobotData that holds them. Plain data, read-only."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from condyle.errors import Finding, ModelError, ModelWarning
from condyle.model import named
from condyle.model.actuator import Actuator, Follows, check_actuators
from condyle.model.array import LARGEST, Array, congruence, frozen, moderate, short
from condyle.model.joints import JOINT_TYPES, JointType
from condyle.model.placement import Placement
from condyle.model.shapes import Shape
from condyle.specification import UNBOUND, Drives
from condyle.text import few, printable, quoted

# What is to be said of a robot's file when the robot is compiled.


class FileNotes(NamedTuple):
    """What a file says and functions leave out, and what is read otherwise than by other programs, in words.

    What the robot has as data (damping, friction, springs, limits, actuators) is not repeated here: see `unapplied`.
    shapes: collision shapes that are left out, which `shape_contacts` says.
    """

    ignored: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()


class Frame(NamedTuple):
    """A named frame: the body that carries it (-1 is the world) and where it stands in that body."""

    body: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class Snapped:
    """How many of a file's angles were taken as quarter turns, and the largest change [rad]."""

    count: int = 0
    largest: float = 0.0

    def more(self, moved: Iterable[float]) -> Snapped:
        """With these changes too."""
        found = tuple(moved)
        return Snapped(self.count + len(found), max((self.largest, *found)))


NONE_SNAPPED = Snapped()

FORCE_NUMBERS = ("damping", "friction", "stiffness", "spring_reference")
"""What a joint's own forces follow from, one number for each degree of freedom."""

SHARED = ("lower", "upper", "effort", "velocity", "damping", "friction", "stiffness")
"""The numbers of a follower that count at its master. Armature is not one: functions add it as they add inertia."""


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: q = multiplier · q[joint] + offset; `joint` is the master's index."""

    joint: int
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body: mass [kg], com (3,) [m] in its own frame, inertia (3, 3) [kg m²] about the com in body axes.

    ModelError, which names the body, for an array of another shape and a mass that is no number.
    """

    name: str
    mass: float
    com: Array
    inertia: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", named.number(f"body {self.name!r}: mass", self.mass))
        for name, shape in (("com", (3,)), ("inertia", (3, 3))):
            object.__setattr__(self, name, named.array(f"body {self.name!r}: {name}", getattr(self, name), *shape))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {quoted(self.name)}: {self.mass:.4g} kg, com {short(self.com)} m>"

    def __reduce__(self) -> tuple[type[Body], tuple[str, float, Array, Array]]:
        return type(self), (self.name, self.mass, self.com, self.inertia)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """One joint, and how body i hangs on body `parent` (-1: the world):

    body in parent = placement · motion(q) · after, where motion moves along and about `axis`.

    placement: the joint frame in the parent body's frame. after: the body's frame in the moved joint frame, the
    identity unless the robot was rerooted or its file says otherwise. axis, second_axis: unit vectors (3,) in the
    joint frame (z for a type that needs none; second_axis of a universal joint only). pitch: metres per radian of a
    helical joint, else 0.

    nq, nv: the numbers that it adds to q and v (0 for a mimic joint). q_index, v_index: where they begin; those of
    its master for a mimic joint. lower, upper: the limits of q, (kind.nq,), infinite where there are none. effort,
    velocity: limits, (kind.nv,), infinite where there are none. armature, damping, friction, stiffness: (kind.nv,), 0
    where there is none. spring_reference: where the spring is at rest, (kind.nv,), of joints whose v is the rate of q;
    others have no spring. All are the joint's own, as its file says, also of a mimic joint; `Robot.damping` and its
    like count followers in. A free joint's linear armature acts along the parent's axes, one number for all three.
    ModelError, which names the joint, for an array of another shape and for unequal ones of these, a type that there
    is not, a placement that is none.
    """

    name: str
    type: str
    nq: int
    nv: int
    q_index: int
    v_index: int
    parent: int
    axis: Array
    second_axis: Array | None
    pitch: float
    placement: Placement
    after: Placement
    lower: Array
    upper: Array
    effort: Array
    velocity: Array
    armature: Array
    damping: Array
    friction: Array
    stiffness: Array
    spring_reference: Array
    mimic: Mimic | None

    def __post_init__(self) -> None:
        what = f"joint {self.name!r}"
        named.known_type(what, self.type)
        for name in ("placement", "after"):
            named.instance(f"{what}: {name}", getattr(self, name), Placement)
        object.__setattr__(self, "pitch", named.number(f"{what}: pitch", self.pitch))
        kind = self.kind
        sizes = {"axis": 3, "lower": kind.nq, "upper": kind.nq}
        if self.second_axis is not None:
            sizes["second_axis"] = 3
        sizes |= dict.fromkeys((*FORCE_NUMBERS, "effort", "velocity", "armature"), kind.nv)
        for name, size in sizes.items():
            object.__setattr__(self, name, named.array(f"{what}: {name}", getattr(self, name), size))
        wrong = named.wrong_armature(kind, self.armature)
        if wrong:
            raise ModelError([Finding("error", wrong, element=what)])

    def __repr__(self) -> str:
        """One line: what it is, and where its numbers stand."""
        own = f"q[{self.q_index}:{self.q_index + self.nq}], v[{self.v_index}:{self.v_index + self.nv}]"
        place = own if self.mimic is None else f"follows joint {self.mimic.joint}"
        axis = f", axis {short(self.axis)}" if self.kind.axes else ""
        return f"<{type(self).__name__} {quoted(self.name)}: {self.type}{axis}, {place}>"

    def __reduce__(self) -> tuple[type[Joint], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def kind(self) -> JointType:
        """The type's own answers: subspace, transform, configuration space."""
        return JOINT_TYPES[self.type]

    @property
    def q_slice(self) -> slice:
        """Where its own numbers stand in q; empty for a mimic joint."""
        return slice(self.q_index, self.q_index + self.nq)

    @property
    def v_slice(self) -> slice:
        """Where its own numbers stand in v; empty for a mimic joint."""
        return slice(self.v_index, self.v_index + self.nv)


@dataclass(frozen=True, slots=True, eq=False)
class RobotData:
    """Joints and bodies in depth-first order, siblings in document order: parent index < child index.

    base: what is welded to the world, in world axes (None when nothing is, as with a floating base).
    ModelError for a body with a negative mass, or a number that is not finite; for joints in another order.
    snap: the angle [rad] within which rotations were taken as quarter turns. snapped: how many were (count), and
    the largest change (largest, [rad]). contacts: loop closures of its file. actuators: with names of their own, on
    joints with one degree of freedom that follow no other. file_notes: what `compile` says of its
    file once; None for a bundled robot, one made in code, and in another process. shapes: collision shapes of its
    file, which functions do not see, see `Robot.shape_contacts`. nq: length of q. nv: of v, a, tau.
    """

    name: str
    gravity: Array
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    frames: Mapping[str, Frame]
    base: Body | None
    snap: float
    snapped: Snapped = NONE_SNAPPED
    contacts: tuple[Any, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    file_notes: FileNotes | None = field(default=None, compare=False)
    shapes: tuple[Shape, ...] = ()
    nq: int = field(init=False)
    nv: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", named.array("gravity", self.gravity, 3))
        named.check_order(self.joints, len(self.bodies))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))
        for body in (*self.bodies, *(() if self.base is None else (self.base,))):
            if not (body.mass >= 0.0 and np.isfinite(body.mass) and moderate(body.inertia) and moderate(body.com)):
                what = f"mass {body.mass:.9g} kg" if not body.mass >= 0.0 else "a mass, com or inertia"
                raise ModelError(f"body {body.name!r}: {what}, expected 0 or more, and no number beyond {LARGEST:.0e}")
        self._check_actuators()
        object.__setattr__(self, "nq", sum(joint.nq for joint in self.joints))
        object.__setattr__(self, "nv", sum(joint.nv for joint in self.joints))

    def _check_actuators(self) -> None:
        if self.actuators:
            findings = check_actuators(self.actuators, {j.name: j.kind for j in self.joints if j.mimic is None})
            if findings:
                raise ModelError(findings)

    def __reduce__(self) -> tuple[type[RobotData], tuple[object, ...]]:
        parts = (self.name, self.gravity, self.joints, self.bodies, dict(self.frames), self.base, self.snap)
        return type(self), (*parts, self.snapped, self.contacts, self.actuators, None, self.shapes)

    @property
    def mass(self) -> float:
        """The mass of everything that moves [kg]; what is welded to the world is `base`."""
        return sum(body.mass for body in self.bodies)

    @property
    def lower(self) -> Array:
        """The lower limit of each entry of q, (nq,), -inf where there is none; mimic joints narrow it."""
        return gathered(self.joints, "lower")

    @property
    def upper(self) -> Array:
        """The upper limit of each entry of q, (nq,), inf where there is none; mimic joints narrow it."""
        return gathered(self.joints, "upper")

    @property
    def effort(self) -> Array:
        """The limit of |tau|, (nv,) [N m or N], inf where there is none; mimic joints narrow it: |m| times theirs."""
        return gathered(self.joints, "effort")

    @property
    def velocity(self) -> Array:
        """The limit of |v|, (nv,) [rad/s or m/s], inf where there is none; mimic joints narrow it: theirs / |m|."""
        return gathered(self.joints, "velocity")

    @property
    def armature(self) -> Array:
        """The rotor inertia of each degree of freedom, (nv,) [kg m^2 or kg]; it is part of the mass matrix, and so is
        m^2 times that of a mimic joint, which is left out here.
        """
        return gathered(self.joints, "armature")

    @property
    def damping(self) -> Array:
        """The viscous friction of each degree of freedom, (nv,) [N m s/rad or N s/m], with m^2 times that of each joint
        that mimics it: the force - d v of `compile(joint_forces=)`, see docs/how-to/drives.md.
        """
        return gathered(self.joints, "damping")

    @property
    def friction(self) -> Array:
        """The dry friction of each degree of freedom, (nv,) [N m or N], with |m| times that of each joint that mimics
        it: about the force - f sign(v) of `compile(joint_forces=)`, see docs/how-to/drives.md.
        """
        return gathered(self.joints, "friction")

    @property
    def stiffness(self) -> Array:
        """The spring of each degree of freedom, (nv,) [N m/rad or N/m], with m^2 times that of each joint that mimics
        it: the force - k (q - r) of `compile(joint_forces=)`, see docs/how-to/drives.md.
        """
        return gathered(self.joints, "stiffness")

    @property
    def spring_reference(self) -> Array:
        """Where the spring of each degree of freedom is at rest, r (nv,) [rad or m]: that of the springs of a joint and
        of all that mimic it together.
        """
        return _references(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of `joints`, in their order, mimic joints too."""
        return tuple(joint.name for joint in self.joints)

    @property
    def body_names(self) -> tuple[str, ...]:
        """The names of `bodies`, in their order."""
        return tuple(body.name for body in self.bodies)

    @property
    def parents(self) -> tuple[int, ...]:
        """The parent body of each body; -1 is the world."""
        return tuple(joint.parent for joint in self.joints)


def massless(name: str) -> Body:
    """A body without mass."""
    return Body(name, 0.0, np.zeros(3), np.zeros((3, 3)))


def combine(name: str, parts: list[tuple[Placement, Body]]) -> Body:
    """Bodies welded together, each given with its placement in the common frame; a lone part stays digit for digit."""
    heavy = [(place, body) for place, body in parts if body.mass != 0.0 or body.inertia.any()]
    if not heavy:
        return massless(name)
    if len(heavy) == 1 and heavy[0][0].is_identity:
        return Body(name, heavy[0][1].mass, heavy[0][1].com, heavy[0][1].inertia)
    mass = sum(body.mass for _, body in heavy)
    centres = [place.apply(body.com) for place, body in heavy]
    com: Array = np.zeros(3)
    for (_, body), centre in zip(heavy, centres, strict=True):
        com = com + (body.mass / mass if mass else 0.0) * centre
    inertia: Array = np.zeros((3, 3))
    for (place, body), centre in zip(heavy, centres, strict=True):
        d = centre - com
        inertia += congruence(place.rotation, body.inertia) + body.mass * (float(d @ d) * np.eye(3) - d[:, None] * d)
    return Body(name, mass, com, inertia)


# What followers (mimic joints) add to the numbers of their master: seen from there, q_f = m q + b and v_f = m v.


def gathered(joints: Sequence[Joint], name: str) -> Array:
    """One of the joints' arrays for all of q or v, with those of followers: limits the narrowest, forces the sum.

    A follower that stands still (m = 0) adds nothing.
    """
    out = np.concatenate([np.zeros(0), *(getattr(joint, name) for joint in joints if joint.mimic is None)])
    for joint in joints if name in SHARED else ():
        if joint.mimic is not None:
            at = joint.q_index if name in ("lower", "upper") else joint.v_index
            out[at] = _with(float(out[at]), joint, name)
    return frozen(out, len(out))


def _references(joints: Sequence[Joint]) -> Array:
    """Of the sum of springs k_i (m_i q + b_i - r_i)^2 / 2: the mean of (r_i - b_i) / m_i, weighed by k_i m_i^2."""
    out = np.array(gathered(joints, "spring_reference"))
    stiffness = np.array(np.concatenate([np.zeros(0), *(joint.stiffness for joint in joints if joint.mimic is None)]))
    for joint in joints:
        if joint.mimic is not None and joint.mimic.multiplier * float(joint.stiffness[0]) != 0.0:
            m, b, at = joint.mimic.multiplier, joint.mimic.offset, joint.v_index
            more = m * m * float(joint.stiffness[0])
            stiffness[at] += more
            out[at] += more / stiffness[at] * ((float(joint.spring_reference[0]) - b) / m - out[at])
    return frozen(out, len(out))


def followed(joints: Sequence[Joint]) -> dict[str, Follows]:
    """The joints that follow others, by name."""
    return {
        joint.name: Follows(joints[joint.mimic.joint].name, joint.mimic.multiplier, joint.mimic.offset)
        for joint in joints
        if joint.mimic is not None
    }


def _with(master: float, follower: Joint, name: str) -> float:
    """A number of the master, that of one follower included."""
    if follower.mimic is None or follower.mimic.multiplier == 0.0:
        return master
    m, b = follower.mimic.multiplier, follower.mimic.offset
    turned = {"lower": "upper", "upper": "lower"}.get(name, name)
    value = float(getattr(follower, name if m > 0.0 else turned)[0])
    if name == "lower":
        return max(master, (value - b) / m)
    if name == "upper":
        return min(master, (value - b) / m)
    if name == "velocity":
        return min(master, value / abs(m))
    if name == "effort":  # a follower has no motor: the master's force moves both, and may all go through the follower
        return min(master, value * abs(m))
    return master + value * (abs(m) if name == "friction" else m * m)  # the master's share of a force f is m f


def stopped(joints: Sequence[Joint]) -> Iterator[tuple[Joint, str]]:
    """Joints that could move but for the limits of their followers, with what is left: "effort 0, by 'f'"."""
    limits = {name: gathered(joints, name).tolist() for name in ("lower", "upper", "effort", "velocity")}
    followers: dict[int, list[Joint]] = {}
    for joint in joints:
        if joint.mimic is not None:
            followers.setdefault(joint.mimic.joint, []).append(joint)
    for k, those in followers.items():
        master = joints[k]
        lower, upper = limits["lower"][master.q_index], limits["upper"][master.q_index]
        if lower >= upper and master.lower[0] < master.upper[0]:
            names = _narrowed(master, those, lower=lower, upper=upper)
            yield master, f"q from {lower:.9g} to {upper:.9g}, by {names}"
        for name in ("effort", "velocity"):
            most = limits[name][master.v_index]
            if most == 0.0 and getattr(master, name)[0] > 0.0:
                yield master, f"{name} 0, by {_narrowed(master, those, **{name: most})}"


def _narrowed(master: Joint, followers: Sequence[Joint], **limits: float) -> str:
    """The names of the followers from which these limits of their master are, where they are not its own."""
    own = {name: float(getattr(master, name)[0]) for name in limits}
    from_here = [
        one.name
        for one in followers
        if any(_with(own[name], one, name) == x != own[name] for name, x in limits.items())
    ]
    return few(map(repr, from_here), 3)


# What a robot's file says and its functions leave out, in one line: said once, when the robot is first compiled.


Self = TypeVar("Self", bound=RobotData)
_WHERE = 'docs/how-to/models.md, "What a file says and functions leave out"'
_said: set[str] = set()


def unapplied(robot: RobotData, inputs: Sequence[str] = (), drives: Drives = UNBOUND.drives) -> str:
    """One line with every kind and how many; "" where there is none, for bundled robots and for those made in code.

    inputs, drives: those of `compile`, which apply what they name. Limits and motors alone are not said: nearly every
    file has limits, and a motor does nothing without its control.
    """
    notes = robot.file_notes
    if notes is None:
        return ""
    act = {*drives.forces, *inputs}
    laws = [] if "damping" in act else _counted(robot, "damping", lambda joint: joint.damping.any())
    if not act & {"friction", "dry_friction"}:
        laws += _counted(robot, "friction", lambda joint: joint.friction.any())
    springs = [repr(joint.name) for joint in robot.joints if joint.stiffness.any()]
    if springs and not act & {"springs", "stiffness"}:
        laws.append(f"springs of {_joints(len(springs))} ({few(springs, 3)})")
    motors = all(one.kind == "motor" for one in robot.actuators)
    n = 0 if drives.actuators or (motors and not laws and not notes.ignored) else len(robot.actuators)
    apart = laws + [f"{n} actuator{'s' if n > 1 else ''}"] * bool(n)
    if apart:
        options = ["joint_forces=('all',)"] * bool(laws) + ["actuators=True"] * bool(n)
        apart[-1] += f" (to apply: compile({', '.join(options)}))"
    apart += notes.ignored
    if not apart and not notes.otherwise:
        return ""
    if apart and "limits" not in act:
        apart += _counted(robot, "limits", _is_limited)
    parts = [f"not applied: {', '.join(apart)}"] if apart else []
    parts += [f"read otherwise: {', '.join(notes.otherwise)}"] if notes.otherwise else []
    return printable(f"the file of robot {robot.name!r}: {'; '.join(parts)}; see {_WHERE}")


def say_unapplied(robot: RobotData, inputs: Sequence[str] = (), drives: Drives = UNBOUND.drives) -> None:
    """A ModelWarning with that line, once in a process; its place is the line that called the library."""
    line = unapplied(robot, inputs, drives)
    if line and line not in _said:
        warnings.warn(ModelWarning(line), stacklevel=users_level())
        _said.add(line)  # not where the warning was raised as an error: the next call raises it again


def users_level() -> int:
    """`stacklevel` of a warning of the function that calls this: the line that called the library."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("condyle."):
        frame, level = frame.f_back, level + 1
    return level


def without_notes(robot: Self) -> Self:
    """The robot of which nothing is said: for what compiles it by itself, and where the line was printed."""
    return robot if robot.file_notes is None else replace(robot, file_notes=None)


def _counted(robot: RobotData, what: str, whose: Callable[[Joint], object]) -> list[str]:
    """The kind and the number of joints that have it, if any."""
    number = sum(bool(whose(joint)) for joint in robot.joints)
    return [f"{what} of {_joints(number)}"] if number else []


def _joints(number: int) -> str:
    return f"{number} joint{'s' if number > 1 else ''}"


def _is_limited(joint: Joint) -> bool:
    limits = (joint.lower, joint.upper, joint.effort, joint.velocity)
    return any(bool(np.isfinite(limit).any()) for limit in limits)
