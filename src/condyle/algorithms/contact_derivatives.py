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

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from condyle.algorithms.aba import Elimination, accelerate, eliminations, still_forces
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contacts import Contacts, Held, Row, Side, among_six
from condyle.algorithms.derivatives import DERIVATIVES
from condyle.algorithms.drives import driven, with_added_rotors, with_slopes
from condyle.algorithms.jacobians import columns_at, from_parent
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench, along
from condyle.algorithms.kinematics import Pose
from condyle.algorithms.ltl import inverse_of_lower
from condyle.algorithms.matrix import SparseMatrix, plus
from condyle.algorithms.rnea import at_rest, left_of, motion
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled
from condyle.model.joints import JOINT_TYPES
from condyle.scalar import Scalar, is_zero, number, total
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_motion

# Products with the inverse of the KKT matrix K = [M, Jᵀ; J, 0], by its blocks or by the factors of M and G.


class Rows:
    """A matrix of any number of rows, each {column: value}."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    @staticmethod
    def from_matrix(matrix: SparseMatrix) -> Rows:
        rows = [matrix.row(i) for i in range(matrix.size)]
        return Rows([{k: x for k, x in row.items() if not is_zero(x)} for row in rows])

    def transposed(self, n: int) -> Rows:
        """n: number of rows of the result."""
        found: list[Row] = [{} for _ in range(n)]
        for i, row in enumerate(self.rows):
            for k, x in row.items():
                found[k][i] = x
        return Rows(found)

    def times(self, other: Rows) -> Rows:
        found = list[Row]()
        for row in self.rows:
            total: Row = {}
            for k, x in row.items():
                for j, y in other.rows[k].items():
                    total[j] = total[j] + x * y if j in total else x * y
            found.append(total)
        return Rows(found)

    def cost(self, other: Rows) -> int:
        """Number of multiplications in `times`."""
        return sum(len(other.rows[k]) for row in self.rows for k in row)

    def plus(self, other: Rows) -> Rows:
        found = [dict(row) for row in self.rows]
        for row, more in zip(found, other.rows, strict=True):
            for k, x in more.items():
                row[k] = row[k] + x if k in row else x
        return Rows(found)

    def scaled(self, factors: Sequence[Scalar | float]) -> Rows:
        """Each row times its factor."""
        pairs = zip(self.rows, factors, strict=True)
        return Rows([{k: x * factor for k, x in row.items()} for row, factor in pairs])

    def negative(self) -> Rows:
        return Rows([{k: -x for k, x in row.items()} for row in self.rows])

    def flat(self, n: int) -> list[Scalar]:
        """All entries, row by row, of a matrix with n columns."""
        return [row.get(k, number(0.0)) for row in self.rows for k in range(n)]


class KktDerivatives:
    """[da; -df] = -K^-1 [r1; r2]. With P the inverse of the Delassus matrix, W = L^-1, N = Yᵀ D^-1, C = P N Wᵀ and
    A = W D^-1 (Wᵀ - Y C),

    df = C r1 - P r2,         da = -A r1 - Cᵀ r2,

    or, where that takes fewer multiplications, with X = Wᵀ r1,

    df = P (N X - r2),        da = W D^-1 (Y df - X).

    da/dtau = A and df/dtau = -C, since r1 = -1 and r2 = 0 there.
    """

    def __init__(self, way: Constrained, inverse: SparseMatrix) -> None:
        self.way, n = way, way.tree.nv
        self.n, ones = n, Rows([{k: number(1.0)} for k in range(n)])
        self.W = Rows.from_matrix(inverse_of_lower(way.factors.L)).plus(ones)
        self.Wt = self.W.transposed(n)
        self.N, self.Y = Rows(way.scaled), Rows(way.Y).transposed(n)
        self.P = Rows.from_matrix(inverse)
        self.C = self.P.times(self.N).times(self.Wt)
        self.Ct = self.C.transposed(n)
        self.A = self._inverse()

    def _inverse(self) -> Rows:
        """A, from its entries on and right of the diagonal, which need the short rows of W."""
        rest = self.Wt.plus(self.Y.times(self.C).negative()).scaled(self.way.factors.inverse_D)
        found = SparseMatrix(self.n)
        for i, row in enumerate(self.W.rows):
            for j in range(i, self.n):
                terms = [x * rest.rows[k][j] for k, x in row.items() if j in rest.rows[k]]
                if terms:
                    found.put(i, j, total(terms))
                    found.put(j, i, total(terms))
        return Rows.from_matrix(found)

    def solved(self, r1: Rows, r2: Rows) -> tuple[Rows, Rows]:
        """(da, df)."""
        X = self.Wt.times(r1)
        df = self.C.times(r1).plus(self.P.times(r2).negative())
        wanted = self.N.times(X).plus(r2.negative())
        if self.N.cost(X) + self.P.cost(wanted) < self.C.cost(r1) + self.P.cost(r2):
            df = self.P.times(wanted)
        rest = self.Y.times(df).plus(X.negative())
        if self.Wt.cost(r1) + self.Y.cost(df) + self.W.cost(rest) < self.A.cost(r1) + self.Ct.cost(r2):
            return self.W.times(rest.scaled(self.way.factors.inverse_D)), df
        return self.A.times(r1).plus(self.Ct.times(r2)).negative(), df

    def answers(
        self, forces: Sequence[SparseMatrix], slopes: Slopes, turned: Rows | None = None
    ) -> tuple[list[Scalar], ...]:
        """da / d(q, v, tau), then d force / d(q, v, tau). turned: by q, how forces change with P at the same r1 and
        r2."""
        r2 = [Rows(rows).scaled(self.way.active) for rows in (slopes.by_q, slopes.by_v)]
        made = [self.solved(Rows.from_matrix(r1), more) for r1, more in zip(forces, r2, strict=True)]
        if turned is not None:
            (da, df), moved = made[0], self.W.times(self.Y.times(turned).scaled(self.way.factors.inverse_D))
            made[0] = da.plus(moved), df.plus(turned)
        made.append((self.A, self.C.negative()))
        return *(da.flat(self.n) for da, _ in made), *(self._placed(df) for _, df in made)

    def _placed(self, df: Rows) -> list[Scalar]:
        """Constrained rows as six rows for each contact."""
        return Rows(among_six(self.way.tree.tree.contacts, df.rows, {})).flat(self.n)


def inverse_blocks(way: Constrained) -> SparseMatrix:
    """K^-1 = [A, Cᵀ; C, -P]; rows and columns of inactive contacts are zero."""
    n, kkt = way.tree.nv, KktDerivatives(way, way.pseudoinverse)
    found = SparseMatrix(n + len(way.J))
    for i, row in enumerate(kkt.A.rows):
        for k, x in row.items():
            found.put(i, k, x)
    for i, row in enumerate(kkt.C.rows):
        for k, x in row.items():
            found.put(n + i, k, x)
            found.put(k, n + i, x)
    for i, j, x in way.pseudoinverse:
        found.put(n + i, n + j, -(way.active[i] * way.active[j] * x))
    return found


class ByElimination(Constrained):
    """A robot with contacts; no two of its joints share a coordinate."""

    @cached_property
    def eliminated(self) -> Field[tuple[Elimination, ...]]:
        return eliminations(with_added_rotors(self.tree))

    @cached_property
    def inverse_D(self) -> list[Scalar]:
        found = [number(0.0)] * self.tree.nv
        for link, own in zip(self.tree.tree.links, self.eliminated, strict=True):
            for coordinate, one in zip(link.v, own, strict=True):
                found[coordinate.entry] = one.inverse_D
        return found

    @cached_property
    def Y(self) -> list[Row]:
        flags = iter(self.active)
        return [
            self._passed(_push(one, row, next(flags)), {}) for one in self.contacts.held for row in one.contact.rows
        ]

    def half(self, x: Sequence[Scalar]) -> Mapping[int, Scalar]:
        return self._passed({}, dict(enumerate(self.tree.dofs(x))))

    @cached_property
    def net(self) -> Mapping[int, Scalar]:
        tree = driven(self.tree)
        forces = [Wrench(*twist.scale(-1.0, force)) for force in still_forces(tree, tree.input("v"))]
        torques = left_of(tree, tree.input("tau"), tree.input("v"))
        return self._passed(dict(enumerate(forces)), dict(enumerate(torques)))

    def rest(self, y: Sequence[Scalar]) -> list[Scalar]:
        u = [
            tuple(x * one.inverse_D for x, one in zip(own, eliminated, strict=True))
            for own, eliminated in zip(self.tree.dofs(y), self.eliminated, strict=True)
        ]
        return self.tree.gathered(self.tree.outward(accelerate, twist.ZERO, u, self.eliminated))

    def _passed(self, forces: Mapping[int, Wrench], torques: Mapping[int, Sequence[Scalar]]) -> Row:
        """y of every joint between the root and a force on a link (by link) or a joint torque (by joint)."""
        carried, found = dict(forces), dict[int, Scalar]()
        for i in reversed(range(len(self.tree.tree.links))):
            if i not in carried and i not in torques:
                continue
            link, joint = self.tree.tree.links[i], self.tree.joints[i]
            own = torques.get(i, [number(0.0)] * len(link.v))
            left, up = _through(joint, carried.get(i, NO_FORCE), self.eliminated[i], own)
            found.update(zip((coordinate.entry for coordinate in link.v), left, strict=True))
            if link.parent >= 0:
                carried[link.parent] = plus(carried[link.parent], up) if link.parent in carried else up
        return found


def _through(
    joint: Joint, force: Wrench, eliminated: Sequence[Elimination], tau: Sequence[Scalar]
) -> tuple[list[Scalar], Wrench]:
    """y = tau + Sᵀ p of each degree of freedom, last first, and the force on the parent, Xᵀ (p - U y / D)."""
    left: list[Scalar] = []
    for dof, elimination, torque in reversed(list(zip(joint.dofs, eliminated, tau, strict=True))):
        y = torque + along(dof, *force)
        left.insert(0, y)
        force = Wrench(*twist.add(force, twist.scale(-(y * elimination.inverse_D), elimination.U)))
    return left, Wrench(*joint.transform.force_to_parent(force))


def _push(held: Held, row: int, flag: Scalar) -> dict[int, Wrench]:
    """A unit force of one row of a contact, times its flag, on both its links."""
    entries = [flag if k == row else number(0.0) for k in range(6)]
    found: dict[int, Wrench] = {}
    for sign, side in held.sides:
        wrench = twist.scale(sign, side.frame.transform.force_to_parent((vec.three(entries), vec.three(entries, 3))))
        found[side.link] = Wrench(*wrench)
    return found


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
