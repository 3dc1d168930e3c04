"""Derivatives of inverse dynamics row by row: rnea differentiated in reverse mode.

One row is the gradient of one tau_k = S_kᵀ f_i. The adjoint of every force in the subtree of joint i is the motion S_k,
carried to that body. From it follow the adjoints of w, dw and a of the body. They are summed from the leaves to the
root; at every joint on the way they give the row's entries by q and v of that joint. Fewest operations where subtrees
are short, as legs are. Vectors of body i are in its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint import Dof, Joint, rotational
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import Motion, spin, total_forces
from condyle.algorithms.rnea_derivatives import State, in_the_world, motion_of, power, state
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled, scaled
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_force
from condyle.spatial.vector import Vector


class Adjoint(NamedTuple):
    """Adjoints of a body's angular velocity w, angular acceleration dw and acceleration a of its origin."""

    w: Vector
    dw: Vector
    a: Vector


NOTHING = Adjoint(vec.ZERO, vec.ZERO, vec.ZERO)


def answer(joint: Joint, unit: Pair, state: State) -> Adjoint:
    """Adjoints of w, dw and a in f = m a + U h, n = h x a + sum m r x U r, given those of (f, n): (linear, angular)."""
    linear, angular = unit
    mass, first, second = joint.inertia
    a = vec.add(vec.scale(mass, linear), vec.cross(angular, first))
    dw = vec.add(vec.cross(first, linear), rotational(second, angular))
    field = vec.cross_symmetric(angular, second)
    return Adjoint(adjoint_of_w(vec.add_matrix(field, vec.outer(linear, first)), state.motion.w), dw, a)


def adjoint_of_w(U: vec.Matrix, w: Vector) -> Vector:
    """Adjoint of w in U = [dw]x + w wᵀ - |w|² 1, given that of U."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = U
    x, y, z = w
    p, q, r = xy + yx, xz + zx, yz + zy
    return (
        p * y + q * z - 2.0 * ((yy + zz) * x),
        p * x + r * z - 2.0 * ((xx + zz) * y),
        q * x + r * y - 2.0 * ((xx + yy) * z),
    )


def before(joint: Joint, total: Adjoint, v: Sequence[Scalar]) -> Adjoint:
    """Adjoint of the parent's motion at the joint (`rnea.carried`), given that of the body's motion."""
    slide, turn = joint.rate(v)
    w = vec.add(vec.add(total.w, vec.cross(turn, total.dw)), vec.scale(2.0, vec.cross(slide, total.a)))
    return Adjoint(w, total.dw, total.a)


def to_parent(joint: Joint, arrived: Adjoint, parent_w: Vector) -> Adjoint:
    """Adjoint of the parent's motion at its own origin, given that at the joint, a' = E (a + U r)."""
    back = joint.rotation.back
    a = back(arrived.a)
    w = vec.add(back(arrived.w), adjoint_of_w(vec.outer(a, joint.origin), parent_w))
    return Adjoint(w, vec.add(back(arrived.dw), vec.cross(joint.origin, a)), a)


def by_v(joint: Joint, dof: Dof, total: Adjoint, state: State, v: Sequence[Scalar]) -> Scalar:
    """The row's entry by the velocity of one dof."""
    w = state.before.w
    slide, turn = joint.rate(v)
    coriolis = vec.add(vec.cross(vec.add(vec.scale(2.0, w), turn), dof.linear), vec.cross(dof.angular, slide))
    return vec.dot(total.w, dof.angular) + vec.dot(total.dw, vec.cross(w, dof.angular)) + vec.dot(total.a, coriolis)


def by_q(joint: Joint, dof: Dof, arrived: Adjoint, state: State) -> Scalar:
    """The row's entry by the position of one dof, which changes the parent's motion as seen from the body."""
    at = state.before
    U = state.motion.U if joint.axial else spin(at.w, at.dw)
    return (
        vec.dot(arrived.w, vec.cross(at.w, dof.angular))
        + vec.dot(arrived.dw, vec.cross(at.dw, dof.angular))
        + vec.dot(arrived.a, vec.add(vec.cross(at.a, dof.angular), vec.times(U, dof.linear)))
    )


class _Rows:
    """What all rows need, and the matrices that they are stored in."""

    def __init__(self, tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> None:
        self.tree = tree
        self.v = v
        self.states = tree.forward(state, in_the_world(tree.gravity), v, a)
        self.forces = total_forces(tree, tree.each(motion_of, self.states))
        self.dq, self.dv = SparseMatrix(tree.tree.nv), SparseMatrix(tree.tree.nv)

    def row(self, i: int, k: int) -> None:
        """The gradient of S_kᵀ f_i."""
        links, joints = self.tree.tree.links, self.tree.joints
        units: dict[int, Pair] = {i: joints[i].dofs[k].column}
        for j in range(i + 1, len(links)):
            if links[j].parent in units:
                units[j] = joints[j].transform.motion_to_child(units[links[j].parent])
        totals = {j: answer(joints[j], unit, self.states[j]) for j, unit in units.items()}
        for j in reversed(range(len(links))):
            if j in totals:
                self._meet(i, k, j, totals[j], units.get(j))
                self._rise(j, totals)

    def _meet(self, i: int, k: int, j: int, total: Adjoint, unit: Pair | None) -> None:
        joint, state, row = self.tree.joints[j], self.states[j], self.tree.tree.links[i].v[k]
        arrived = before(joint, total, self.v[j])
        for dof, column in zip(joint.dofs, self.tree.tree.links[j].v, strict=True):
            ratio = row.ratio * column.ratio
            entry = by_q(joint, dof, arrived, state)
            if unit is not None and j != i:
                # S_j x* f_j: the change of joint j's force as its parent sees it
                entry = entry + power(unit, cross_force(dof.column, self.forces[j]))
            self.dq.add(row.entry, column.entry, scaled(entry, ratio))
            self.dv.add(row.entry, column.entry, scaled(by_v(joint, dof, total, state, self.v[j]), ratio))

    def _rise(self, j: int, totals: dict[int, Adjoint]) -> None:
        parent = self.tree.tree.links[j].parent
        if parent >= 0:
            motion: Motion = self.states[parent].motion
            up = to_parent(self.tree.joints[j], before(self.tree.joints[j], totals[j], self.v[j]), motion.w)
            known = totals.get(parent, NOTHING)
            totals[parent] = Adjoint(vec.add(known.w, up.w), vec.add(known.dw, up.dw), vec.add(known.a, up.a))


def rnea_adjoint(
    tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]
) -> tuple[SparseMatrix, SparseMatrix]:
    """(d tau / d q, d tau / d v) of rnea, one row after the other."""
    rows = _Rows(tree, v, a)
    for i, link in enumerate(tree.tree.links):
        for k in range(len(link.v)):
            rows.row(i, k)
    return rows.dq, rows.dv
