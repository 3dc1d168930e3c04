"""Derivatives of constrained dynamics: [da; -df] = -K^-1 [d(M a + c - Jᵀ f) - dtau; d(J a + gamma)].

First row: the derivatives of inverse dynamics for contact forces fixed in their bodies, plus the rotation of a force
that is given in the axes of the other body. Second row: s is a column of one side's Jacobian at the contact, by joint
j; V and A are the side's velocity and acceleration there, V_j the velocity of body j, V_p and A_p those of its parent,
all as spatial vectors at the contact:

    dV / dq = V_p x s                                   dV / dv = s
    dA / dq = A_p x s + (V_p x s) x (V - V_p)           dA / dv = (V_j + V_p - V) x s

in the contact's axes, fixed in that side. The axes are A's, so for a contact with another body B, (s_A - s_B) x V_B and
(s_A - s_B) x A_B are added for B's side, and for lines and planes the derivatives of (V_A - V_B) x V_B. Featherstone
2008, section 2.11; Singh, Russell, Wensing 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.algorithms.contacts import Contacts, Held, Row, Side
from condyle.algorithms.derivatives import DERIVATIVES
from condyle.algorithms.drives import with_slopes
from condyle.algorithms.jacobians import columns_at, from_parent
from condyle.algorithms.joint import Joint, Wrench
from condyle.algorithms.kinematics import Pose
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import at_rest, motion
from condyle.algorithms.unrolled import Unrolled
from condyle.model.joints import JOINT_TYPES
from condyle.scalar import Scalar, is_zero
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_motion

Columns: TypeAlias = "dict[int, Pair]"
"""{coordinate: (linear, angular)}."""


class Rates(NamedTuple):
    """v and a of a joint, and whether its parent is the world."""

    v: tuple[Scalar, ...]
    a: tuple[Scalar, ...]
    first: bool


class Seen(NamedTuple):
    """The contact's pose in a body, and the body's velocity V and acceleration A at the contact, in its axes."""

    frame: Pose
    V: Pair
    A: Pair


class Column(NamedTuple):
    """Of one side and one coordinate: s, dV/dq, dA/dq and dA/dv."""

    s: Pair
    V_q: Pair
    A_q: Pair
    A_v: Pair


class Slopes:
    """d(J a + gamma)/dq and d(J a + gamma)/dv (`by_q`, `by_v`), and d(J v)/dq at this v (`of_velocity`), as rows."""

    def __init__(self, contacts: Contacts, a: Sequence[Scalar]) -> None:
        self.contacts, self.tree = contacts, contacts.tree
        v, rates = self.tree.input("v"), self.tree.dofs(a)
        self.rates = [
            Rates(tuple(one), tuple(other), link.parent < 0)
            for one, other, link in zip(v, rates, self.tree.tree.links, strict=True)
        ]
        self.motions = self.tree.forward(motion, at_rest(vec.ZERO), v, rates)
        self.by_q, self.by_v, self.of_velocity = list[Row](), list[Row](), list[Row]()
        for k, one in enumerate(contacts.held):
            self._add(k, one)

    def _add(self, k: int, held: Held) -> None:
        """The rows of contact k."""
        by_q, by_v, moving = self._moving(k, held)
        for row in held.contact.rows:
            self.of_velocity.append(_row(moving, row))
        relative = self.contacts.relative[k]
        if held.damped:
            _add_scaled(by_q, held.gains[1], moving)
            _add_scaled(by_v, held.gains[1], relative)
        if held.drawn:
            _add_scaled(by_q, held.gains[0], self._errors(k, held))
        for row in held.contact.rows:
            self.by_q.append(_row(by_q, row))
            self.by_v.append(_row(by_v, row))

    def _moving(self, k: int, held: Held) -> tuple[Columns, Columns, Columns]:
        """Derivatives of the relative acceleration by q and by v, and of the relative velocity by q (`moving`)."""
        by_q, by_v, moving = dict[int, Pair](), dict[int, Pair](), dict[int, Pair]()
        for sign, side in held.sides:
            for coordinate, column in self._side(held, side).items():
                _plus(by_q, coordinate, twist.scale(sign, column.A_q))
                _plus(by_v, coordinate, twist.scale(sign, column.A_v))
                _plus(moving, coordinate, twist.scale(sign, column.V_q))
        if held.other is not None:
            V, A = self._motion_of(held, held.other)
            for coordinate, column in self.contacts.relative[k].items():
                turn = (vec.ZERO, column[1]) if held.contact.classical else column
                _plus(by_q, coordinate, cross_motion(turn, A))
                _plus(moving, coordinate, cross_motion(turn, V))
        if held.turns:
            self._turning(k, held, (by_q, by_v, moving))
        return by_q, by_v, moving

    def _turning(self, k: int, held: Held, columns: tuple[Columns, Columns, Columns]) -> None:
        """Adds the derivatives of (V_A - V_B) x V_B to those of the relative acceleration; `moving` must be
        complete."""
        assert held.other is not None
        (by_q, by_v, moving), (slip, V), side = columns, self.contacts.slip(held), self._side(held, held.other)
        for coordinate, column in self.contacts.relative[k].items():
            own = side.get(coordinate)
            turned = cross_motion(V, column)  # dV_B/dq by the rotation of A's axes
            other = turned if own is None else twist.add(turned, own.V_q)
            _plus(by_q, coordinate, twist.add(cross_motion(moving[coordinate], V), cross_motion(slip, other)))
            _plus(by_v, coordinate, cross_motion(column, V))
            if own is not None:
                _plus(by_v, coordinate, cross_motion(slip, own.s))

    def _motion_of(self, held: Held, side: Side) -> tuple[Pair, Pair]:
        """V and A of a side in the contact's axes; A is classical if the contact is a point."""
        (axes, point), link = side.frame, self.motions[side.link]
        V = self.contacts.velocity(side)
        linear = vec.transposed_times(axes, vec.add(link.a, vec.times(link.U, point)))
        if not held.contact.classical:
            linear = vec.sub(linear, vec.cross(V[1], V[0]))
        return V, (linear, vec.transposed_times(axes, link.dw))

    def _side(self, held: Held, side: Side) -> dict[int, Column]:
        V, there = self._motion_of(held, side)
        A = (vec.sub(there[0], vec.cross(V[1], V[0])), there[1]) if held.contact.classical else there

        def meet(joint: Joint, seen: Seen, rates: Rates) -> list[Column]:
            V_p, A_p = _parent(joint, seen, rates)
            return [_column(s, V, seen.V, V_p, A_p, held.contact.classical) for s in columns_at(joint, seen.frame)]

        def rise(joint: Joint, seen: Seen, rates: Rates) -> Seen:
            return Seen(from_parent(joint, seen.frame), *_parent(joint, seen, rates))

        found = self.tree.columns(side.link, Seen(side.frame, V, A), meet, rise, self.rates)
        parts = {k: [(vec.three(x, 6 * i), vec.three(x, 6 * i + 3)) for i in range(4)] for k, x in found.items()}
        return {k: Column(*x) for k, x in parts.items()}

    def _errors(self, k: int, held: Held) -> dict[int, Pair]:
        """Derivatives of e by q."""
        arm, turn = self.contacts.errors(k)
        rows = [] if held.contact.classical else JOINT_TYPES["spherical"].transport_inverse(list(turn))
        own, found = self.contacts.columns(held.side), dict[int, Pair]()
        for i, (slide, w) in self.contacts.relative[k].items():
            if held.contact.classical:
                found[i] = slide, vec.ZERO
                continue
            angular = vec.three([row[0] * w[0] + row[1] * w[1] + row[2] * w[2] for row in rows])
            other = (
                twist.ZERO if held.other is None else twist.add(own.get(i, twist.ZERO), twist.scale(-1.0, (slide, w)))
            )
            found[i] = vec.add(slide, vec.cross(other[1], arm)), angular  # B's column is given at A's origin
        for i, (_, w) in own.items():
            found[i] = vec.add(found[i][0], vec.cross(arm, w)), found[i][1]
        return found


def _parent(joint: Joint, seen: Seen, rates: Rates) -> tuple[Pair, Pair]:
    """V_p and A_p."""
    if rates.first:
        return twist.ZERO, twist.ZERO
    columns = columns_at(joint, seen.frame)
    own = twist.combined(rates.v, columns)
    grown = twist.add(twist.combined(rates.a, columns), cross_motion(seen.V, own))
    return twist.add(seen.V, twist.scale(-1.0, own)), twist.add(seen.A, twist.scale(-1.0, grown))


def _column(s: Pair, V: Pair, V_j: Pair, V_p: Pair, A_p: Pair, classical: bool) -> Column:
    V_q = cross_motion(V_p, s)
    left = twist.add(V, twist.scale(-1.0, V_p))
    A_q = twist.add(cross_motion(A_p, s), cross_motion(V_q, left))
    A_v = cross_motion(twist.add(V_j, twist.scale(-1.0, left)), s)
    if classical:
        A_q, A_v = _classical(A_q, V, V_q), _classical(A_v, V, s)
    return Column(s, V_q, A_q, A_v)


def _classical(A: Pair, V: Pair, of_V: Pair) -> Pair:
    """The derivative of the classical acceleration A + w x v, given those of A and of V = (v, w)."""
    return vec.add(A[0], vec.add(vec.cross(of_V[1], V[0]), vec.cross(V[1], of_V[0]))), A[1]


def _row(columns: Columns, row: int) -> Row:
    entries = ((i, (*x[0], *x[1])[row]) for i, x in columns.items())
    return {i: value for i, value in entries if not is_zero(value)}


def _add_scaled(sums: Columns, factor: Scalar, columns: Columns) -> None:
    for k, column in columns.items():
        _plus(sums, k, twist.scale(factor, column))


def _plus(sums: Columns, k: int, part: Pair) -> None:
    sums[k] = twist.add(sums[k], part) if k in sums else part


def wrenches(contacts: Contacts, f: Sequence[Scalar]) -> dict[int, Wrench]:
    """{link: wrench} of contact forces, [force; torque] each; wrenches are in the link's axes, about its origin."""
    found: dict[int, Pair] = {}
    for k, one in enumerate(contacts.held):
        wrench = vec.three(f, 6 * k), vec.three(f, 6 * k + 3)
        for sign, side in one.sides:
            part = twist.scale(sign, side.frame.transform.force_to_parent(wrench))
            _plus(found, side.link, part)
    return {link: Wrench(*wrench) for link, wrench in found.items()}


def force_slopes(contacts: Contacts, a: Sequence[Scalar], f: Sequence[Scalar]) -> tuple[SparseMatrix, SparseMatrix]:
    """Derivatives of M a + c - Jᵀ f by q and by v at this a; f: [force; torque] of each contact."""
    tree: Unrolled = contacts.tree.pushed(wrenches(contacts, f))
    by_q, by_v = DERIVATIVES["closed_form"](tree, tree.input("v"), tree.dofs(a))
    assert isinstance(by_q, SparseMatrix)
    for k, one in enumerate(contacts.held):
        if one.other is None:
            continue
        force, torque = vec.three(f, 6 * k), vec.three(f, 6 * k + 3)
        columns = contacts.columns(one.other)
        for j, turn in contacts.relative[k].items():
            moved = (vec.ZERO, turn[1]) if one.contact.classical else turn
            for i, s in columns.items():
                part = cross_motion(s, moved)
                value = vec.dot(part[0], force) + vec.dot(part[1], torque)
                if not is_zero(value):
                    by_q.add(i, j, value)
    return with_slopes(tree, by_q, by_v, a)  # pyright: ignore[reportReturnType]
