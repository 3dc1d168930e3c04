"""Contacts as constraints J a + gamma = 0: the matrix J and gamma.

A contact constrains entries of the motion of its frame A relative to the world, or to a frame B of another body, in A's
axes. Those entries are the rows of J. s_A and s_B: the columns of the Jacobians of the two sides, [linear; angular] at
the contact.

    J = s_A - s_B,    gamma = (acceleration_A - acceleration_B at a = 0) + kd J v + kp e.

Points have the classical acceleration of their origins, of each side at its own point. Lines and planes have the
spatial acceleration, of both sides at A's origin, and (V_A - V_B) x V_B is added, so that J a + gamma without gains is
d(J v)/dt. e: the placement of A relative to B's anchor, as a translation in A's axes and the logarithm of its rotation.
kp [1/s²] and kd [1/s] are Baumgarte's gains. Featherstone 2008, sections 8.1 to 8.4; Baumgarte 1972.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import NamedTuple, TypeAlias, TypeVar

from condyle.algorithms import kinematics
from condyle.algorithms.jacobians import columns_at, from_parent, nothing
from condyle.algorithms.joint import Joint, placement
from condyle.algorithms.kinematics import WORLD, Pose, Relative, axes_inside, inside
from condyle.algorithms.ltl import half_solved
from condyle.algorithms.rnea import Motion, at_rest, motion, no_acceleration
from condyle.algorithms.solvers import factors
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled
from condyle.model.joints import lie
from condyle.model.tree import Tree, TreeContact, TreeFrame
from condyle.scalar import Scalar, is_zero, maximum, number, sqrt, total
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Matrix, Vector

T = TypeVar("T")
Row: TypeAlias = "dict[int, Scalar]"
"""A row of J: {coordinate: entry}, without entries that are always zero."""

SMALL = 1e-12
"""Least square of a quaternion's real part: at half a turn the logarithm is large, not NaN."""


class Side(NamedTuple):
    """One of the two bodies of a contact: its link, and the contact's pose (A's axes, this side's point) in the
    link."""

    link: int
    frame: Pose


class Held(NamedTuple):
    """A contact at one state. side: side A. other: side B, None for the world. gains: (kp, kd)."""

    contact: TreeContact
    side: Side
    other: Side | None
    gains: tuple[Scalar, Scalar]

    @property
    def sides(self) -> list[tuple[float, Side]]:
        """Both sides, with their signs in J."""
        return [(1.0, self.side), *([] if self.other is None else [(-1.0, self.other)])]

    @property
    def turns(self) -> bool:
        """Whether (V_A - V_B) x V_B is added: for a line or a plane between two bodies."""
        return self.other is not None and not self.contact.classical

    @property
    def damped(self) -> bool:
        return not is_zero(self.gains[1])

    @property
    def drawn(self) -> bool:
        """Whether kp e is added, which draws it back to its anchor."""
        return not is_zero(self.gains[0])


class Contacts:
    """All contacts of a tree at one state."""

    def __init__(self, tree: Unrolled) -> None:
        self.tree = tree

    @cached_property
    def held(self) -> list[Held]:
        return [self._held(k, one) for k, one in enumerate(self.tree.tree.contacts)]

    def _held(self, k: int, contact: TreeContact) -> Held:
        gains = self.tree.inputs.get("gains")
        kp, kd = (number(x) for x in contact.gains) if gains is None else gains[2 * k : 2 * k + 2]
        own, at = Side(contact.frame.link, inside(WORLD, _transform(contact.frame))), contact.other.link
        if at < 0:
            return Held(contact, own, None, (kp, kd))
        here = self.axes(at)
        if contact.classical:
            origin = self._anchored(k, contact).translation
        else:
            origin = vec.transposed_times(here, self._between(contact.frame.link, contact.frame.origin, at, vec.ZERO))
        axes = axes_inside(self.axes(contact.frame.link), _transform(contact.frame).rotation)
        x, y, z = (vec.transposed_times(here, axis) for axis in vec.transpose(axes))
        return Held(contact, own, Side(at, Pose(vec.transpose((x, y, z)), origin)), (kp, kd))

    @cached_property
    def relatives(self) -> Field[Relative]:
        """Every link seen from its parent."""
        return kinematics.relatives(self.tree)

    def axes(self, link: int) -> Matrix:
        """The axes of a link in the world; -1 is the world."""
        return self.relatives[link].axes if link >= 0 else vec.IDENTITY_MATRIX

    def _between(self, link: int, point: Vector, other: int, there: Vector) -> Vector:
        """From a point of a link to one of another link, or of the world (-1), in the world's axes: `point` - `there`.

        Summed from the link that carries both, so that no digits are lost where the robot is far from the world's
        origin; what is long there, one step of each side, is subtracted first.
        """
        paths = [self._path(i) for i in (link, other)]
        both = set(paths[0]) & set(paths[1])
        steps = [[self.relatives[i].offset for i in reversed(path) if i not in both] for path in paths]
        steps[0].append(vec.times(self.axes(link), point))
        steps[1].append(vec.times(self.axes(other), there))
        apart = vec.ZERO
        for one, two in zip_longest(*steps, fillvalue=vec.ZERO):
            apart = vec.add(apart, vec.sub(one, two))
        return apart

    def _path(self, link: int) -> list[int]:
        """The links from this one to the root."""
        path = list[int]()
        while link >= 0:
            path.append(link)
            link = self.tree.tree.links[link].parent
        return path

    def _anchored(self, k: int, contact: TreeContact) -> Transform:
        """The placement of the anchor in its link, or in the world."""
        anchors = self.tree.inputs.get("anchors")
        x = [number(y) for y in contact.anchor] if anchors is None else anchors[12 * k : 12 * k + 12]
        rows: Matrix = (vec.three(x, 3), vec.three(x, 6), vec.three(x, 9))
        return _transform(contact.other).compose(Transform(Full(vec.transpose(rows)), vec.three(x)))

    def errors(self, k: int) -> Pair:
        """e of contact k."""
        one = self.tree.tree.contacts[k]
        frame, at = one.frame, self._anchored(k, one)
        own = axes_inside(self.axes(frame.link), _transform(frame).rotation)
        arm = vec.transposed_times(own, self._between(frame.link, frame.origin, one.other.link, at.translation))
        if one.classical:
            return arm, vec.ZERO
        there = axes_inside(self.axes(one.other.link), at.rotation)
        columns = [vec.transposed_times(there, axis) for axis in vec.transpose(own)]
        return arm, logarithm(vec.transpose((columns[0], columns[1], columns[2])))

    def columns(self, side: Side) -> dict[int, Pair]:
        """The columns of a side's Jacobian at the contact, {coordinate: (linear, angular)}."""

        def meet(joint: Joint, frame: Pose, _: object) -> list[Pair]:
            return columns_at(joint, frame)

        def rise(joint: Joint, frame: Pose, _: object) -> Pose:
            return from_parent(joint, frame)

        found = self.tree.columns(side.link, side.frame, meet, rise, self.tree.each(nothing))
        return {k: (vec.three(x), vec.three(x, 3)) for k, x in found.items()}

    @cached_property
    def relative(self) -> list[dict[int, Pair]]:
        """s_A - s_B of each contact, {coordinate: (linear, angular)}: all six rows."""
        found: list[dict[int, Pair]] = []
        for one in self.held:
            both: dict[int, Pair] = {}
            for sign, side in one.sides:
                for k, column in self.columns(side).items():
                    part = column if sign > 0.0 else twist.scale(-1.0, column)
                    both[k] = twist.add(both[k], part) if k in both else part
            found.append(both)
        return found

    @cached_property
    def J(self) -> list[Row]:
        """The constrained rows of all contacts."""
        return [row for one, columns in zip(self.held, self.relative, strict=True) for row in rows_of(one, columns)]

    def velocities(self, v: Sequence[Scalar]) -> list[Scalar]:
        """J v."""
        return [total([x * v[k] for k, x in row.items()]) if row else number(0.0) for row in self.J]

    @cached_property
    def bias(self) -> list[Scalar]:
        """gamma."""
        still = self.tree.forward(
            motion, at_rest(self.tree.gravity), self.tree.input("v"), self.tree.each(no_acceleration)
        )
        return self._gamma(still, self._downwards)

    def acceleration(self, a: Sequence[Scalar]) -> list[Scalar]:
        """J a + gamma."""
        moving = self.tree.forward(motion, at_rest(self.tree.gravity), self.tree.input("v"), self.tree.dofs(a))
        return self._gamma(moving, self._downwards)

    @cached_property
    def _downwards(self) -> Field[Vector]:
        """Gravity in the axes of every link, which is subtracted in rnea's motions."""

        def turned(joint: Joint, gravity: Vector) -> Vector:
            return joint.rotation.into(gravity)

        return self.tree.forward(turned, self.tree.gravity)

    @cached_property
    def twists(self) -> Field[Pair]:
        """The velocity of every link."""
        return self.tree.forward(kinematics.velocity, twist.ZERO, self.tree.input("v"))

    def velocity(self, side: Side) -> Pair:
        """The velocity of a side, at the contact and in its axes."""
        return side.frame.transform.motion_to_child(self.twists[side.link])

    def slip(self, held: Held) -> tuple[Pair, Pair]:
        """(V_A - V_B, V_B) of a contact between two bodies."""
        assert held.other is not None
        other = self.velocity(held.other)
        return twist.add(self.velocity(held.side), twist.scale(-1.0, other)), other

    def _gamma(self, motions: Field[Motion], gravity: Field[Vector]) -> list[Scalar]:
        found, velocities = list[Scalar](), iter(self._velocities)
        for k, one in enumerate(self.held):
            held = twist.ZERO
            for sign, side in one.sides:
                held = twist.add(held, twist.scale(sign, self._acceleration(one, side, motions, gravity)))
            if one.turns:
                held = twist.add(held, twist.cross_motion(*self.slip(one)))
            error = self.errors(k) if one.drawn else twist.ZERO
            for row in one.contact.rows:
                value = (*held[0], *held[1])[row] + one.gains[0] * (*error[0], *error[1])[row]
                found.append(value + one.gains[1] * next(velocities))
        return found

    @property
    def _velocities(self) -> list[Scalar]:
        """J v, or zeros where no contact is damped."""
        if any(one.damped for one in self.held):
            return self.velocities(self.tree.inputs["v"])
        return [number(0.0)] * self.tree.tree.n_rows

    def _acceleration(self, held: Held, side: Side, motions: Field[Motion], gravity: Field[Vector]) -> Pair:
        """Acceleration of one side at the contact, in its axes. Gravity is added back where the other side is the
        world."""
        link, (axes, point) = motions[side.link], side.frame
        linear = vec.add(link.a, vec.times(link.U, point))
        if held.other is None:
            linear = vec.add(linear, gravity[side.link])
        if not held.contact.classical:
            slide, turn = self.twists[side.link]
            linear = vec.sub(linear, vec.cross(turn, vec.add(slide, vec.cross(turn, point))))
        return vec.transposed_times(axes, linear), vec.transposed_times(axes, link.dw)


def among_six(contacts: Sequence[TreeContact], rows: Sequence[T], none: T) -> list[T]:
    """Values of the constrained rows of all contacts as six entries for each contact; `none` for rows left free."""
    values = iter(rows)
    return [next(values) if row in one.rows else none for one in contacts for row in range(6)]


def rows_of(held: Held, columns: Mapping[int, Pair]) -> list[Row]:
    """The rows that a contact constrains."""
    return [
        {k: value for k, x in columns.items() if not is_zero(value := (*x[0], *x[1])[row])} for row in held.contact.rows
    ]


def logarithm(rows: Matrix) -> Vector:
    """The logarithm of a rotation matrix, by its quaternion; for angles below half a turn."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rows
    w = sqrt(maximum(0.25 * (1.0 + xx + yy + zz), SMALL))
    scale = 0.25 / w
    return lie.log3(((scale * (zy - yz), scale * (xz - zx), scale * (yx - xy)), w))


def _transform(frame: TreeFrame) -> Transform:
    return Transform(placement(frame.rotation), frame.origin)


# How much the rows of a contact move where they are more than rounding: what their damping is measured by.
#
# A loop written with few digits has rows of J that are zero but for those digits, and so can all rows of one contact:
# the second hinge of a door, a hinge that closes a plane linkage. Their own diagonal of G = J M^-1 Jᵀ says nothing.
# With G_6 the same matrix of all six rows of a contact, whether they are held or not, in the neutral configuration, S
# the mean of its diagonal for translations [1/kg] and T that for rotations [1/(kg m²)], the scales are
#
#     S + reach² T for rows of translations,    T + S / reach² for those of rotations,
#
# `reach` being a length of the smaller body, see `TreeContact`: a body that turns moves its own mass by as much.


LINEAR = 3
"""Rows of the linear motion, of six."""


@lru_cache(maxsize=64)
def scales(tree: Tree) -> tuple[float, ...]:
    """The scale of each row of all contacts, a power of two, so that no rounding of this machine is in it; 0 where a
    contact moves nothing or M is singular. The tree's own inertias count, also where they are inputs."""
    still = Unrolled(tree, {"q": _neutral(tree)})
    eliminated = factors(still)
    found: list[float] = []
    for one, columns in zip(tree.contacts, Contacts(still).relative, strict=True):
        moves = [0.0] * 6
        for row in range(6):
            half = half_solved(eliminated, {k: (*x[0], *x[1])[row] for k, x in columns.items()})
            moves[row] = sum(float(y * y * eliminated.inverse_D[k]) for k, y in half.items())  # type: ignore[arg-type]
        slides, turns = sum(moves[:LINEAR]) / 3.0, sum(moves[LINEAR:]) / 3.0
        square = one.reach * one.reach
        if 0.0 < square < math.inf:
            slides, turns = slides + square * turns, turns + slides / square
        found += [_power_of_two(slides if row < LINEAR else turns) for row in one.rows]
    return tuple(found)


def _neutral(tree: Tree) -> Sequence[Scalar]:
    q = [number(0.0)] * tree.nq
    for kind, at, _ in tree.configurations:
        for k, x in zip(at, kind.neutral(), strict=True):
            q[k] = number(float(x))
    return q


def _power_of_two(x: float) -> float:
    return math.ldexp(1.0, min(round(math.log2(x)), 1000)) if math.isfinite(x) and x > 0.0 else 0.0
