"""Derivatives of inverse dynamics column by column, in the form that the papers refactored for GPUs.

Plancher 2021, Algorithm 4: the columns of Algorithm 2 (see `rnea_columns`) in stages, so that operations that need no
value of a parent are done for all bodies at once. GRiD (Plancher 2022), Algorithm 2, has the same arithmetic with loops
over levels of the tree in place of loops over bodies. Here a target decides which operations run in parallel, so this
file is both algorithms. As in the papers, eta = v x* I is a 6 x 6 matrix, and zeta = Xᵀ (S x* f) is added at the
parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from condyle.algorithms.crba import times_motion
from condyle.algorithms.joint import Inertia
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea_columns import BY_Q, ColumnRecursion, Columns
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, cross_force, cross_motion

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
