"""Derivatives of inverse dynamics column by column, line by line as in the paper.

Plancher 2021, Algorithm 2 (from Carpentier and Mansard 2018): the recursion of rnea in spatial vectors, differentiated
by one coordinate u of q or v at a time. It takes the most operations, and is kept as the papers' baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.algorithms.crba import times_motion
from condyle.algorithms.joint import Joint, Wrench, along
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
