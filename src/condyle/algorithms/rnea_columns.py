"""Derivatives of inverse dynamics column by column: as in the paper, and in the form that was refactored for GPUs.

Plancher 2021, Algorithm 2 (from Carpentier and Mansard 2018): the recursion of rnea in spatial vectors, differentiated
by one coordinate u of q or v at a time. It takes the most operations, and is kept as the papers' baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.algorithms.crba import times_motion
from condyle.algorithms.joint import Inertia, Joint, Wrench, along
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled, scaled
from condyle.scalar import Scalar
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_force, cross_motion

BY_Q, BY_V = 0, 1

Columns: TypeAlias = dict[tuple[int, int, int], Pair]
"""Of one body, a vector for each column; a column is (BY_Q or BY_V, joint, number of its degree of freedom)."""


class Body(NamedTuple):
    """v and a of a body, S v of its joint (rate), and v and a of its parent, all in the body's frame."""

    v: Pair
    a: Pair
    rate: Pair
    v_parent: Pair
    a_parent: Pair


class ColumnRecursion:
    """One run, with the values of each body: v, a, f and their columns dv, da, df."""

    def __init__(self, tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> None:
        self.tree = tree
        self.links = tree.tree.links
        self.bodies: list[Body] = []
        self.forces: list[Pair] = []
        self.dv: list[Columns] = []
        self.da: list[Columns] = []
        self.df: list[Columns] = []
        self.v, self.a = v, a

    def forward(self, i: int) -> None:
        """Lines 1 to 4 for body i."""
        joint, parent = self.tree.joints[i], self.links[i].parent
        body, momentum = self.move(i)
        dv = {u: joint.transform.motion_to_child(x) for u, x in (self.dv[parent].items() if parent >= 0 else ())}
        da = {u: joint.transform.motion_to_child(x) for u, x in (self.da[parent].items() if parent >= 0 else ())}
        self.own_columns(i, dv, da)
        for u, x in dv.items():
            da[u] = twist.add(da[u], cross_motion(x, body.rate))
        self.dv.append(dv)
        self.da.append(da)
        self.df.append({u: self._force(joint, body, momentum, dv[u], da[u]) for u in dv})

    def move(self, i: int) -> tuple[Body, Wrench]:
        """rnea's forward step to body i; gives its momentum I v too."""
        joint = self.tree.joints[i]
        body = self._body(joint, i)
        self.bodies.append(body)
        momentum = times_motion(joint.inertia, *body.v)
        force = twist.add(times_motion(joint.inertia, *body.a), cross_force(body.v, momentum))
        if self.tree.f_ext is not None:
            outside = self.tree.f_ext[i]
            force = (vec.sub(force[0], outside[0]), vec.sub(force[1], outside[1]))
        self.forces.append(force)
        return body, momentum

    def _body(self, joint: Joint, i: int) -> Body:
        parent = self.links[i].parent
        rest: Pair = (vec.scale(-1.0, self.tree.gravity), vec.ZERO)
        before = self.bodies[parent] if parent >= 0 else None
        v_parent = joint.transform.motion_to_child(before.v) if before else twist.ZERO
        a_parent = joint.transform.motion_to_child(before.a if before else rest)
        rate = joint.rate(self.v[i])
        v = twist.add(v_parent, rate)
        a = twist.add(twist.add(a_parent, joint.rate(self.a[i])), cross_motion(v, rate))
        return Body(v, a, rate, v_parent, a_parent)

    def own_columns(self, i: int, dv: Columns, da: Columns) -> None:
        """The terms of the joint's own coordinates in lines 2 and 3, where their columns begin."""
        body = self.bodies[i]
        for k, dof in enumerate(self.tree.joints[i].dofs):
            S = dof.column
            dv[BY_Q, i, k] = cross_motion(body.v_parent, S)
            da[BY_Q, i, k] = cross_motion(body.a_parent, S)
            dv[BY_V, i, k] = S
            da[BY_V, i, k] = cross_motion(body.v, S)

    def _force(self, joint: Joint, body: Body, momentum: Wrench, dv: Pair, da: Pair) -> Pair:
        """I da + dv x* I v + v x* I dv."""
        inertial = twist.add(times_motion(joint.inertia, *da), cross_force(dv, momentum))
        return twist.add(inertial, cross_force(body.v, times_motion(joint.inertia, *dv)))

    def backward(self, i: int, results: tuple[SparseMatrix, SparseMatrix]) -> None:
        """Lines 5 to 7 for body i."""
        joint, parent = self.tree.joints[i], self.links[i].parent
        self.project(i, results)
        if parent < 0:
            return
        for u, force in self.df[i].items():
            by, j, l = u
            if by == BY_Q and j == i:
                force = twist.add(force, cross_force(joint.dofs[l].column, self.forces[i]))
            up = joint.transform.force_to_parent(force)
            self.df[parent][u] = twist.add(self.df[parent][u], up) if u in self.df[parent] else up
        self.pass_force(i)

    def pass_force(self, i: int) -> None:
        """rnea's backward step: f_p += Xᵀ f_i."""
        parent = self.links[i].parent
        if parent >= 0:
            up = self.tree.joints[i].transform.force_to_parent(self.forces[i])
            self.forces[parent] = twist.add(self.forces[parent], up)

    def project(self, i: int, results: tuple[SparseMatrix, SparseMatrix]) -> None:
        """Line 6: Sᵀ df, stored in the rows of joint i."""
        joint = self.tree.joints[i]
        for (by, j, l), force in self.df[i].items():
            column = self.links[j].v[l]
            for dof, row in zip(joint.dofs, self.links[i].v, strict=True):
                results[by].add(row.entry, column.entry, scaled(along(dof, *force), row.ratio * column.ratio))


def rnea_columns(
    tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]
) -> tuple[SparseMatrix, SparseMatrix]:
    """(d tau / d q, d tau / d v) of rnea, one column after the other."""
    run = ColumnRecursion(tree, v, a)
    results = (SparseMatrix(tree.tree.nv), SparseMatrix(tree.tree.nv))
    for i in range(len(run.links)):
        run.forward(i)
    for i in reversed(range(len(run.links))):
        run.backward(i, results)
    return results


# Derivatives of inverse dynamics column by column, in the form that the papers refactored for GPUs.
#
# Plancher 2021, Algorithm 4: the columns of Algorithm 2 (see `rnea_columns`) in stages, so that operations that need no
# value of a parent are done for all bodies at once. GRiD (Plancher 2022), Algorithm 2, has the same arithmetic with
# loops over levels of the tree in place of loops over bodies. Here a target decides which operations run in parallel,
# so this file is both algorithms. As in the papers, eta = v x* I is a 6 x 6 matrix, and zeta = Xᵀ (S x* f) is added at
# the parent.


Matrix6: TypeAlias = tuple[Pair, ...]
"""Six columns."""

UNITS: Matrix6 = (
    *((axis, vec.ZERO) for axis in vec.IDENTITY_MATRIX),
    *((vec.ZERO, axis) for axis in vec.IDENTITY_MATRIX),
)


class _Refactored(ColumnRecursion):
    """The lines of Algorithm 4; gamma is the momentum I v of each body."""

    def prepare(self) -> None:
        """rnea for v, a and f, which are inputs of the algorithm, and lines 1 to 4: gamma, eta and zeta."""
        bodies = range(len(self.links))
        self.gamma = [self.move(i)[1] for i in bodies]
        for i in reversed(bodies):
            self.pass_force(i)
        self.eta = [self._eta(i) for i in bodies]
        self.zeta = [self._zeta(i) for i in bodies]

    def _eta(self, i: int) -> Matrix6:
        """v x* I."""
        inertia, v = self.tree.joints[i].inertia, self.bodies[i].v
        return tuple(cross_force(v, times_motion(inertia, *unit)) for unit in UNITS)

    def _zeta(self, i: int) -> list[Pair]:
        """Xᵀ (S x* f) of each degree of freedom."""
        joint = self.tree.joints[i]
        turned = (cross_force(dof.column, self.forces[i]) for dof in joint.dofs)
        return [joint.transform.force_to_parent(force) for force in turned]

    def forward_columns(self) -> None:
        """Lines 5 to 10: alpha and S, then rho with beta and delta, then the columns of the accelerations."""
        for i, link in enumerate(self.links):
            joint, parent = self.tree.joints[i], link.parent
            dv = {u: joint.transform.motion_to_child(x) for u, x in (self.dv[parent].items() if parent >= 0 else ())}
            rho: Columns = {}
            self.own_columns(i, dv, rho)
            self.dv.append(dv)
            self.da.append(rho)
        for i, da in enumerate(self.da):
            for u, x in self.dv[i].items():
                turned = cross_motion(x, self.bodies[i].rate)
                da[u] = twist.add(da[u], turned) if u in da else turned
        for i, link in enumerate(self.links):
            for u, x in self.da[link.parent].items() if link.parent >= 0 else ():
                self.da[i][u] = twist.add(self.tree.joints[i].transform.motion_to_child(x), self.da[i][u])

    def forces_of_columns(self) -> None:
        """Lines 11 and 12: the columns of the forces."""
        for i, joint in enumerate(self.tree.joints):
            self.df.append({u: self._column(i, joint.inertia, dv, self.da[i][u]) for u, dv in self.dv[i].items()})

    def _column(self, i: int, inertia: Inertia, dv: Pair, da: Pair) -> Pair:
        """I da + mu gamma + eta dv."""
        total = twist.add(times_motion(inertia, *da), cross_force(dv, self.gamma[i]))
        for x, column in zip((*dv[0], *dv[1]), self.eta[i], strict=True):
            total = twist.add(total, twist.scale(x, column))
        return total

    def backward_columns(self, results: tuple[SparseMatrix, SparseMatrix]) -> None:
        """Lines 13 to 16: the columns of the forces, summed towards the root, and of tau."""
        for i in reversed(range(len(self.links))):
            joint, parent = self.tree.joints[i], self.links[i].parent
            for u, force in self.df[i].items() if parent >= 0 else ():
                up = joint.transform.force_to_parent(force)
                if u[0] == BY_Q and u[1] == i:
                    up = twist.add(up, self.zeta[i][u[2]])
                self.df[parent][u] = twist.add(self.df[parent][u], up) if u in self.df[parent] else up
        for i in range(len(self.links)):
            self.project(i, results)


def rnea_refactored(
    tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]
) -> tuple[SparseMatrix, SparseMatrix]:
    """(d tau / d q, d tau / d v) of rnea, all columns stage by stage."""
    run = _Refactored(tree, v, a)
    results = (SparseMatrix(tree.tree.nv), SparseMatrix(tree.tree.nv))
    run.prepare()
    run.forward_columns()
    run.forces_of_columns()
    run.backward_columns(results)
    return results
