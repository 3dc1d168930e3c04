"""Robots built in code: every joint type, also those that no file format has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.actuator import Actuator
from condyle.model.array import LARGEST, Array, congruence, diagonal, frozen, generator_of, moderate
from condyle.model.contact import Contact
from condyle.model.description import FIXED, Description, JointSpec, Link, MimicOf, Numbers, unit_axis
from condyle.model.finish import GRAVITY, Options, finish
from condyle.model.joints import JOINT_TYPES
from condyle.model.named import suggest, wrong_armature, wrong_spring
from condyle.model.parts import Body, massless
from condyle.model.placement import IDENTITY, Placement
from condyle.model.robot import Robot

Self = TypeVar("Self", bound="Builder")

WORLD = "world"
Mimicry = MimicOf | tuple[str, float, float] | str


class Builder:
    """Collects bodies, joints, contacts and actuators; `build()` checks them together and returns the robot.

    Joints are in depth-first order, siblings in the order of the `joint` calls. parent="world" is the world, which need
    not be declared. Without such a joint, the body that no joint carries is fixed to the world.
    """

    def __init__(self, name: str = "robot", *, gravity: ArrayLike = GRAVITY, snap: float = 1e-9) -> None:
        self._links: list[Link] = []
        self._joints: list[JointSpec] = []
        self._contacts: list[Contact] = []
        self._actuators: list[Actuator] = []
        self._findings: list[Finding] = []
        self._name = self._text("robot", name)
        self._gravity = gravity
        self._snap = self._number("robot", "snap", snap)

    def body(
        self: Self,
        name: str,
        *,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = ((0.0,) * 3,) * 3,
    ) -> Self:
        """Add a body: mass [kg], com (3,) [m] in its own frame, inertia (3, 3) [kg m²] about com in body axes."""
        element = f"body {name!r}"
        numbers = self._array(element, "inertia", inertia, 3, 3)
        slack = 1e-9 * float(np.max(np.abs(numbers)))
        if np.max(np.abs(numbers - np.transpose(numbers))) > slack:
            self._wrong(element, "inertia is not symmetric")
        weight = self._number(element, "mass", mass)
        self._links.append(Link(Body(self._text(element, name), weight, self._array(element, "com", com, 3), numbers)))
        return self

    def joint(
        self: Self,
        name: str,
        *,
        parent: str,
        child: str,
        type: str,
        axis: ArrayLike | None = None,
        second_axis: ArrayLike | None = None,
        pitch: float = 0.0,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = (0.0, 0.0, 0.0),
        placement: Placement | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        armature: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        stiffness: ArrayLike = 0.0,
        spring_reference: ArrayLike = 0.0,
        mimic: Mimicry | None = None,
    ) -> Self:
        """Add a joint of any type, or "fixed".

        xyz (3,) [m] and rpy (3,) [rad], or a Placement: the joint frame in the parent's frame; it is the child's frame
        at q = 0. axis (3,): in the joint frame; None is z. second_axis (3,): of a universal joint. pitch [m/rad]: of a
        helical joint. lower, upper [rad, m], effort [N m, N], velocity [rad/s, m/s], armature [kg m², kg], damping [N m
        s/rad, N s/m], friction [N m, N], stiffness [N m/rad, N/m] of a spring that is at rest at q = spring_reference
        [rad, m]: one number for all degrees of freedom, or one for each. mimic: the name of the joint that it follows,
        or (name, multiplier, offset).
        """
        element = f"joint {name!r}"
        name, parent, child, type = (self._text(element, text) for text in (name, parent, child, type))
        if type != FIXED and type not in JOINT_TYPES:
            self._wrong(element, f"type {type!r} is unknown{suggest(type, (*JOINT_TYPES, FIXED))}")
            type = FIXED
        here = placement
        if not isinstance(here, Placement):
            if here is not None:
                self._wrong(element, f"placement is {here!r}, expected a Placement")
            origin, angles = self._array(element, "xyz", xyz, 3), self._array(element, "rpy", rpy, 3)
            here = Placement.from_rpy(origin, angles, self._snap)
        kind = None if type == FIXED else JOINT_TYPES[type]
        nq, nv = (0, 0) if kind is None else (kind.nq, kind.nv)
        numbers = Numbers(
            self._spread(element, "lower", lower, nq, np.inf),
            self._spread(element, "upper", upper, nq, np.inf),
            self._spread(element, "effort", effort, nv, np.inf),
            self._spread(element, "velocity", velocity, nv, np.inf),
            self._spread(element, "armature", armature, nv),
            self._spread(element, "damping", damping, nv),
            self._spread(element, "friction", friction, nv),
            self._spread(element, "stiffness", stiffness, nv),
            self._spread(element, "spring_reference", spring_reference, nv),
        )
        for what in ("armature", "damping", "friction"):
            if (values := getattr(numbers, what)) is not None and (values < 0.0).any():
                self._wrong(element, f"{what} is negative")
        if numbers.stiffness is not None and (wrong := kind is not None and wrong_spring(kind, numbers.stiffness)):
            self._wrong(element, wrong)
        if numbers.armature is not None and (wrong := kind is not None and wrong_armature(kind, numbers.armature)):
            self._wrong(element, wrong)
        first = self._axis(element, "axis", axis) if kind is None or kind.axes > 0 else None
        second = self._second(element, first, second_axis) if kind is not None and kind.axes == 2 else None
        follows = self._follows(element, mimic)
        if follows is not None:
            self._array(element, "mimic", (follows.multiplier, follows.offset), 2)
        turn = self._number(element, "pitch", pitch)
        self._joints.append(JointSpec(name, type, parent, child, here, IDENTITY, first, second, turn, numbers, follows))
        return self

    def contact(
        self: Self,
        frame: str,
        kind: str = "point",
        other: str | None = None,
        placement: Placement | None = None,
        gains: tuple[float, float] = (0.0, 0.0),
        anchor: Placement | None = None,
    ) -> Self:
        """Add a contact to `robot.contacts`, which closes a loop: `frame` is held against `other`, or against the
        world.

        The arguments are those of `condyle.Contact`; frames are names of bodies. A body that is fixed to the world
        counts as the world. `build` gives a ModelWarning for a contact between two frames of one body.
        """
        frame, other = self._text("contact", frame), None if other is None else self._text("contact", other)
        places = (placement, anchor)
        if not all(one is None or isinstance(one, Placement) for one in places):  # pyright: ignore
            self._wrong(f"contact {frame!r}", f"placement and anchor are {places!r}, expected a Placement each")
            return self
        try:
            self._contacts.append(Contact(frame, kind, other, placement, gains, anchor))
        except (UnsupportedError, ValueError, TypeError) as error:
            self._wrong(f"contact {frame!r}", str(error).removeprefix(f"contact {frame!r}: "))
        return self

    def actuator(self: Self, actuator: Actuator) -> Self:
        """Add a `condyle.Actuator` to `robot.actuators`.

        What it drives by a joint that mimics another is driven by that one, and what it drives of a fixed joint is left
        out, with a ModelWarning if nothing is left.
        """
        self._actuators.append(actuator)
        return self

    def build(self, *, floating_base: bool = False, strict: bool = False, mimic: str = "exact") -> Robot:
        """The robot; ModelError with everything that is wrong with it, ModelWarning for what is odd.

        floating_base: a free joint, "root_joint", above the body that has no joint above it.
        """
        names = {link.name for link in self._links}
        links = tuple(self._links)
        if WORLD not in names and any(joint.parent == WORLD for joint in self._joints):
            links = (Link(massless(WORLD)), *links)
        gravity = self._array("gravity", "gravity", self._gravity, 3)
        return finish(
            Description(
                self._name,
                gravity,
                links,
                tuple(self._joints),
                contacts=tuple(self._contacts),
                actuators=tuple(self._actuators),
            ),
            Options(floating_base, strict, self._snap, mimic),
            self._findings,
        )

    def _wrong(self, element: str, message: str) -> None:
        self._findings.append(Finding("error", message, element=element))

    def _text(self, element: str, name: str) -> str:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._wrong(element, f"{name!r} is no name: give text")
        return str(name)

    def _follows(self, element: str, mimic: Mimicry | None) -> MimicOf | None:
        if mimic is None or isinstance(mimic, MimicOf):
            return mimic
        said: Sequence[object] = mimic if isinstance(mimic, (tuple, list)) else (mimic,)
        master, numbers = said[0] if said else None, said[1:]
        if not isinstance(master, str) or len(numbers) > 2:
            self._wrong(element, f"mimic={mimic!r}: give the master's name, or (name, multiplier, offset)")
            return None
        return MimicOf(master, *(self._number(element, "mimic", value) for value in numbers))

    def _number(self, element: str, what: str, value: float) -> float:
        return float(self._array(element, what, value))

    def _array(self, element: str, what: str, value: ArrayLike, *shape: int) -> Array:
        """value as an array of this shape, zeros (and a finding) if it is none or not finite."""
        try:
            array = frozen(value, *shape)
        except (ValueError, TypeError) as error:
            self._wrong(element, f"{what}: {error}")
            return np.zeros(shape)
        if not moderate(array):
            self._wrong(element, f"{what} is not finite, or beyond {LARGEST:.0e}")
            return np.zeros(shape)
        return array

    def _spread(
        self, element: str, what: str, value: ArrayLike | None, n: int, largest: float = LARGEST
    ) -> Array | None:
        """One number or n of them, as (1,) or (n,), none NaN or beyond the largest."""
        if value is None:
            return None
        try:
            array = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (ValueError, TypeError) as error:
            self._wrong(element, f"{what}: {error}")
            return None
        if array.shape not in ((1,), (n,)):
            self._wrong(element, f"{what} has shape {array.shape}, expected one number or {n}")
            return None
        if not (np.abs(array) <= largest).all():
            self._wrong(element, f"{what} is NaN, or beyond {largest:.3g}")
            return None
        return array

    def _axis(self, element: str, what: str, value: ArrayLike | None) -> Array:
        array = self._array(element, what, (0.0, 0.0, 1.0) if value is None else value, 3)
        try:
            return unit_axis(array)
        except ValueError:
            self._wrong(element, f"{what} is zero: it has no direction")
            return frozen((0.0, 0.0, 1.0), 3)

    def _second(self, element: str, first: Array | None, value: ArrayLike | None) -> Array:
        if value is None:
            self._wrong(element, "a universal joint needs a second_axis")
            return frozen((1.0, 0.0, 0.0), 3)
        second = self._axis(element, "second_axis", value)
        if first is not None and float(np.linalg.norm(np.cross(first, second))) < 1e-9:
            self._wrong(element, "axis and second_axis are parallel")
        return second


# Random robots, for tests and studies: always physical, always the same for the same seed.


MOST = 1 << 16
"""Joints of a robot that is made here."""


def chain(n: int, rng: int | np.random.Generator = 0) -> Robot:
    """Return a serial chain of n revolute joints about their own z, with random placements and box-like bodies."""
    _check_size(n)
    generator = generator_of("chain", rng)
    joints = [_joint(generator, i, i - 1, "revolute", np.array((0.0, 0.0, 1.0))) for i in range(n)]
    return _robot("chain", generator, joints, floating_base=False)


def random_tree(
    n: int,
    rng: int | np.random.Generator = 0,
    *,
    types: Sequence[str] = tuple(JOINT_TYPES),
    floating_base: bool = False,
) -> Robot:
    """Return a tree of n joints with random types (of `types`), parents, axes and placements.

    floating_base: a free joint, "root_joint", comes first and is not counted in n.
    """
    _check_size(n)
    listed = isinstance(types, Iterable) and not isinstance(types, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not listed or not types or any(kind not in JOINT_TYPES for kind in types):
        raise ModelError(f"types={types!r}: allowed is {', '.join(map(repr, JOINT_TYPES))}")
    generator = generator_of("random_tree", rng)
    joints: list[JointSpec] = []
    for i in range(n):
        kind = str(generator.choice(np.array(types)))
        parent = int(generator.integers(max(-1, i - 4), i)) if i else -1
        joints.append(_joint(generator, i, parent, kind, _direction(generator)))
    return _robot("tree", generator, joints, floating_base=floating_base)


def _check_size(n: int) -> None:
    if not isinstance(n, Integral) or n < 0:
        raise ModelError(f"n={n!r} joints: give a whole number, 0 or more")
    if n > MOST:
        raise ModelError(f"n={n} joints: give at most {MOST}")


def _robot(name: str, rng: np.random.Generator, joints: list[JointSpec], *, floating_base: bool) -> Robot:
    root = JointSpec("root_joint", "free", None, "base") if floating_base else JointSpec("", FIXED, None, "base")
    base = random_body("base", rng) if floating_base else massless("base")
    links = (Link(base), *(Link(random_body(joint.child, rng)) for joint in joints))
    return Robot.assemble(Description(name, np.array(GRAVITY), links, (root, *joints)))


def _joint(rng: np.random.Generator, i: int, parent: int, kind: str, axis: Array) -> JointSpec:
    placement = IDENTITY
    if i > 0:
        offset = rng.uniform(0.1, 0.3) * _direction(rng)
        placement = Placement.from_rpy(offset, rng.uniform(-np.pi, np.pi, 3))
    second, says = np.cross(axis, _direction(rng)), JOINT_TYPES[kind]
    return JointSpec(
        name=f"joint{i}",
        type=kind,
        parent="base" if parent < 0 else f"link{parent}",
        child=f"link{i}",
        placement=placement,
        axis=axis,
        second_axis=second if says.axes == 2 else None,
        pitch=float(rng.uniform(0.05, 0.2)) if says.has_pitch else 0.0,
        numbers=Numbers(),
    )


def _direction(rng: np.random.Generator) -> Array:
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def random_body(name: str, rng: np.random.Generator) -> Body:
    """A solid box of 0.1 to 0.4 m a side and 0.5 to 3 kg, its com within 0.1 m of the frame, turned at random."""
    mass = float(rng.uniform(0.5, 3.0))
    squares = rng.uniform(0.1, 0.4, 3) ** 2
    turn = Placement.from_rpy(rpy=rng.uniform(-np.pi, np.pi, 3)).rotation
    inertia = congruence(turn, diagonal(mass / 12.0 * (float(np.sum(squares)) - squares)))
    return Body(name, mass, rng.uniform(-0.1, 0.1, 3), inertia)
