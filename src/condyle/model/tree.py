"""The tree that algorithms sweep: a robot in normal form.

Every link's frame has its origin at its joint and z along the joint's axis; a universal joint is two
revolute ones with a massless link between; shared coordinates (mimic joints) are ratios and offsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

import numpy as np

from condyle.model.array import Array, transpose
from condyle.model.contact import HERE, Contact
from condyle.model.joints import JointType
from condyle.model.parts import Body, Frame, Joint, RobotData
from condyle.model.placement import Placement, alignment
from condyle.scalar import Scalar, number
from condyle.spatial.rotation import Axes, Transform
from condyle.spatial.vector import Matrix, Symmetric, Vector, three
from condyle.specification import UNBOUND, Bound, Drives

# A link's numbers as scalars: what products of exact quarter turns leave instead of zero is zero.


DUST = 1e-14  # what a few products of exact quarter turns leave instead of zero


def aligned(axis: Sequence[float] | Array | None) -> Array:
    """A rotation whose third column is the axis: exact for the coordinate axes, the identity for z or none."""
    return np.eye(3) if axis is None else alignment(np.asarray(axis, dtype=np.float64))


def clean(x: float) -> float:
    if abs(x) <= DUST:
        return 0.0
    if abs(abs(x) - 1.0) <= DUST:
        return float(np.sign(x))
    return float(x)


def matrix(m: Array) -> Matrix:
    rows = [tuple(number(clean(float(x))) for x in row) for row in m]
    return three(rows[0]), three(rows[1]), three(rows[2])


def vector(v: Array) -> Vector:
    scale = float(np.max(np.abs(v))) or 1.0
    return three(tuple(number(0.0 if abs(x) <= DUST * scale else float(x)) for x in v))


def symmetric(s: Array) -> Symmetric:
    scale = float(np.max(np.abs(s))) or 1.0
    xx, xy, xz, yy, yz, zz = (
        number(0.0 if abs(s[i, j]) <= DUST * scale else float(s[i, j])) for i in range(3) for j in range(i, 3)
    )
    return xx, xy, xz, yy, yz, zz


def floats3(values: Sequence[float] | Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def reach(body: Body, point: Array) -> float:
    """The root mean square distance of a body's mass from a point of it; infinite without mass."""
    if not body.mass > 0.0:
        return math.inf
    arm = point - body.com
    return math.sqrt(max(float(np.trace(body.inertia)) / (2.0 * body.mass) + float(arm @ arm), 0.0))


N = TypeVar("N", int, float)


class Numbers(NamedTuple):
    """All of a link's constants, as scalars: numbers, or symbols where a trace leaves them open."""

    rotation: Matrix
    """parent axes -> joint axes at q = 0"""
    origin: Vector
    """joint origin in the parent's frame"""
    pitch: Scalar
    mass: Scalar
    first: Vector
    second: Symmetric
    armature: tuple[Scalar, ...]


class Coordinate(NamedTuple):
    """One coordinate of a link: ratio x[entry] + offset.

    is_independent: whether it is no other joint's that the link mimics.
    """

    entry: int
    ratio: float
    offset: float
    is_independent: bool = True


@dataclass(frozen=True)
class Link:
    """One moving link and the joint before it; `parent` is -1 for the world."""

    kind: JointType
    parent: int
    body: int
    """the robot's body, -1 for the massless link inside a universal joint"""
    q: tuple[Coordinate, ...]
    v: tuple[Coordinate, ...]
    numbers: Numbers
    body_frame: Transform
    """the body's own frame, its URDF link's, in this link's"""


class TreeFrame(NamedTuple):
    """A frame fixed to a link."""

    link: int
    """-1 for the world"""
    rotation: Matrix
    """link axes -> frame axes"""
    origin: Vector


class TreeContact(NamedTuple):
    """A frame that is held against another one."""

    frame: TreeFrame
    """the contact itself"""
    other: TreeFrame
    """where its anchor is given: a frame of another link, or the world"""
    anchor: tuple[float, ...]
    """x y z, then the rotation row by row, in `other`"""
    rows: tuple[int, ...]
    """which entries of the relative motion [linear; angular] are held"""
    gains: tuple[float, float]
    reach: float
    """the least root mean square distance of a body's mass from the contact [m]; infinite without mass"""

    @property
    def classical(self) -> bool:
        """Whether the origin alone is held: its classical acceleration, not the spatial one."""
        return self.rows == (0, 1, 2)


class TreeColumns(NamedTuple):
    """Columns of the regressor, one for each degree of freedom, for a number of the joints.

    constants: of the law that it belongs to: w of "friction", the references of "stiffness", nothing of others.
    """

    name: str
    constants: tuple[float, ...]


@dataclass(frozen=True)
class Tree:
    """Links in order, parents first; the frames, axes and contacts that were asked for, see `Bound`."""

    nq: int
    nv: int
    n_bodies: int
    gravity: tuple[float, float, float]
    links: tuple[Link, ...]
    frames: tuple[TreeFrame, ...] = ()
    reference_frame: str = "local"
    force_frame: str = "local"
    integrator: str = "semi_implicit_euler"
    contacts: tuple[TreeContact, ...] = ()
    drives: Drives = UNBOUND.drives
    regressor: tuple[TreeColumns, ...] = ()
    sweeps: int | None = None

    @property
    def n_rows(self) -> int:
        """How many entries of relative motions all contacts hold."""
        return sum(len(one.rows) for one in self.contacts)

    @property
    def parents(self) -> list[int]:
        """The parent of each link."""
        return [link.parent for link in self.links]

    @property
    def levers(self) -> list[bool]:
        """Whether some joint before each link turns: where none does, no torque depends on where the link is."""
        turned, levers = list[bool](), list[bool]()
        for link in self.links:
            levers.append(link.parent >= 0 and turned[link.parent])
            turned.append(levers[-1] or link.kind.turns(link.numbers.pitch))
        return levers

    @property
    def mass(self) -> float:
        """Of all moving bodies [kg]."""
        return sum(float(cast(float, link.numbers.mass)) for link in self.links)

    @property
    def has_world_forces(self) -> bool:
        """Whether external forces have the world's axes, not their bodies'."""
        return self.force_frame != UNBOUND.force_frame

    @property
    def configurations(self) -> Iterator[tuple[JointType, list[int], list[int]]]:
        """The type of every link that has coordinates of its own, and where they stand in q and in v."""
        for link in self.links:
            if all(c.ratio == 1.0 and c.offset == 0.0 for c in link.q):
                yield link.kind, [c.entry for c in link.q], [c.entry for c in link.v]

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """For each entry of v the entry of q whose rate it is; -1 where there is none, as of quaternions."""
        positions = [-1] * self.nv
        for kind, at, rates in self.configurations:
            for place, rate in zip(at, rates, strict=True) if kind.is_flat else ():
                positions[rate] = place
        return tuple(positions)

    @property
    def has_free_rotors(self) -> bool:
        """Whether some free joint has armature along its linear axes."""
        return any(link.kind.is_free and any(link.numbers.armature[:3]) for link in self.links)

    @property
    def has_free_joints(self) -> bool:
        return any(link.kind.is_free for link in self.links)

    @property
    def has_shared_coordinates(self) -> bool:
        """Whether two links move with one coordinate (mimic joints)."""
        used = [coordinate.entry for link in self.links for coordinate in link.v]
        return len(used) != len(set(used)) or any(c.ratio != 1.0 for link in self.links for c in link.v)


def carried(parents: Sequence[int], values: Sequence[N]) -> list[N]:
    """For each link the sum over itself and all links that it carries."""
    sums = list(values)
    for i in reversed(range(len(sums))):
        if parents[i] >= 0:
            sums[parents[i]] += sums[i]
    return sums


def tree_of(robot: RobotData, bound: Bound = UNBOUND) -> Tree:
    """The normal form of a robot, with the frames that are asked for; they are there."""
    builder = _TreeBuilder(robot)
    for index in range(len(robot.joints)):
        builder.add(index)
    return Tree(
        robot.nq,
        robot.nv,
        len(robot.bodies),
        floats3(robot.gravity),
        tuple(builder.links),
        tuple(builder.frame(*robot.frames[name]) for name in bound.frames),
        bound.reference_frame,
        bound.force_frame,
        bound.integrator,
        tuple(builder.contact(one) for one in bound.contacts),
        bound.drives,
        _columns(robot, bound),
        bound.sweeps,
    )


def _columns(robot: RobotData, bound: Bound) -> tuple[TreeColumns, ...]:
    constants = {"friction": (bound.drives.friction_velocity,), "stiffness": tuple(map(float, robot.spring_reference))}
    return tuple(TreeColumns(name, constants.get(name, ())) for name in bound.regressor)


class _TreeBuilder:
    def __init__(self, robot: RobotData) -> None:
        self.robot = robot
        self.links: list[Link] = []
        self.link_of_body: dict[int, int] = {-1: -1}
        self.pose_of_body: dict[int, tuple[Array, Array]] = {-1: (np.eye(3), np.zeros(3))}  # link frame in ours

    def add(self, index: int) -> None:
        """Append the link, or the two links, of joint `index`."""
        joint = self.robot.joints[index]
        rotation, origin = self.pose_of_body[joint.parent]
        parent = self.link_of_body[joint.parent]
        at = rotation @ joint.placement.translation + origin
        axes = rotation @ joint.placement.rotation
        if joint.kind.parts:
            (one, other), first, second = joint.kind.parts, aligned(joint.axis), aligned(joint.second_axis)
            self._append(joint, 0, one, parent, transpose(axes @ first), at, -1, first)
            parent, axes, at = len(self.links) - 1, transpose(first), np.zeros(3)
            self._append(joint, 1, other, parent, transpose(axes @ second), at, index, second)
        else:
            frame = aligned(joint.axis)
            self._append(joint, None, joint.kind, parent, transpose(axes @ frame), at, index, frame)
        self.link_of_body[index] = len(self.links) - 1

    def frame(self, body: int, placement: Placement) -> TreeFrame:
        """A frame of a body, seen from the link."""
        rotation, origin = self.pose_of_body[body]
        axes, at = rotation @ placement.rotation, rotation @ placement.translation + origin
        return TreeFrame(self.link_of_body[body], matrix(transpose(axes)), vector(at))

    def contact(self, contact: Contact) -> TreeContact:
        """A contact: its own frame, and the frame that its anchor is given in."""
        frames = self.robot.frames
        body, placement = frames[contact.frame]
        at = placement.compose(contact.placed)
        other, there = Frame(-1, HERE) if contact.other is None else frames[contact.other]
        sides = ((body, at), (other, there.compose(contact.anchored)))
        anchor = [*contact.anchored.translation, *np.ravel(contact.anchored.rotation)]
        return TreeContact(
            self.frame(body, at),
            self.frame(other, there),
            tuple(float(x) for x in anchor),
            contact.rows,
            contact.gains,
            min((reach(self.robot.bodies[body], at.translation) for body, at in sides if body >= 0), default=0.0),
        )

    def _append(
        self,
        joint: Joint,
        part: int | None,
        kind: JointType,
        parent: int,
        rotation: Array,
        origin: Array,
        body: int,
        frame: Array,
    ) -> None:
        into = transpose(frame)
        after_rotation = into @ joint.after.rotation
        after_origin = into @ joint.after.translation
        self.pose_of_body[body] = (after_rotation, after_origin) if body >= 0 else self.pose_of_body[-1]
        mass, first, second = self._moments(body, after_rotation, after_origin)
        q, v = _coordinates(joint, part)
        armature = joint.armature if part is None else joint.armature[part : part + 1]
        self.links.append(
            Link(
                kind,
                parent,
                body,
                q,
                v,
                Numbers(
                    matrix(rotation),
                    vector(origin),
                    number(joint.pitch or 0.0),
                    number(mass),
                    vector(first),
                    symmetric(second),
                    tuple(number(float(x)) for x in np.atleast_1d(armature)),
                ),
                Transform(Axes(matrix(after_rotation)), vector(after_origin)),
            )
        )

    def _moments(self, body: int, rotation: Array, origin: Array) -> tuple[float, Array, Array]:
        """Mass, first and second moment of a body about its link's origin."""
        if body < 0:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        data = self.robot.bodies[body]
        com = rotation @ np.asarray(data.com) + origin
        inertia = rotation @ np.asarray(data.inertia) @ transpose(rotation)
        second = 0.5 * np.trace(inertia) * np.eye(3) - inertia + data.mass * np.outer(com, com)
        return float(data.mass), data.mass * com, second


def _coordinates(joint: Joint, part: int | None) -> tuple[tuple[Coordinate, ...], tuple[Coordinate, ...]]:
    if joint.mimic is not None:
        ratio, offset = joint.mimic.multiplier, joint.mimic.offset
        return (Coordinate(joint.q_index, ratio, offset, False),), (Coordinate(joint.v_index, ratio, 0.0, False),)
    if part is not None:
        return (Coordinate(joint.q_index + part, 1.0, 0.0),), (Coordinate(joint.v_index + part, 1.0, 0.0),)
    return (
        tuple(Coordinate(joint.q_index + k, 1.0, 0.0) for k in range(joint.nq)),
        tuple(Coordinate(joint.v_index + k, 1.0, 0.0) for k in range(joint.nv)),
    )
