"""The mass matrix or its inverse in one pair of sweeps: MMinvGen.

Yang 2023 (Dadu-RBD), Algorithm 2, with its sign conventions: F_i has one force for each column of the subtree of i. For
M there is one backward sweep, the composite-rigid-body algorithm. For M^-1 the backward sweep has articulated inertias
in place of composite ones, and a forward sweep adds the terms of the ancestors' motion.
"""

from __future__ import annotations

from collections.abc import Mapping

from condyle.algorithms.aba import Articulated, Elimination, apply, eliminate, moved, rigid
from condyle.algorithms.joint import Wrench, along
from condyle.algorithms.matrix import SparseMatrix, plus
from condyle.algorithms.unrolled import Unrolled
from condyle.spatial import twist


class _MMinvGen:
    """The state of one run; coordinates are numbered link by link."""

    def __init__(self, tree: Unrolled, inverse: bool) -> None:
        self.tree = tree
        self.inverse = inverse
        n = len(tree.joints)
        self.inertia: list[Articulated] = [rigid(joint) for joint in tree.joints]
        self.F: list[dict[int, Wrench]] = [{} for _ in range(n)]
        self.P: list[dict[int, twist.Pair]] = [{} for _ in range(n)]
        self.eliminated: list[list[Elimination]] = [[] for _ in range(n)]
        self.result = SparseMatrix(tree.tree.nv)

    def run(self) -> SparseMatrix:
        for i in reversed(range(len(self.tree.joints))):
            self._backward(i)
        if self.inverse:
            for i in range(len(self.tree.joints)):
                self._forward(i)
        for row, column, value in list(self.result):
            self.result.put(column, row, value)
        return self.result

    def _backward(self, i: int) -> None:
        """Lines 2 to 16 for link i, one degree of freedom after the other, the last first."""
        joint, link = self.tree.joints[i], self.tree.tree.links[i]
        for dof, coordinate in reversed(list(zip(joint.dofs, link.v, strict=True))):
            k = coordinate.entry
            if self.inverse:
                elimination, self.inertia[i] = eliminate(dof, self.inertia[i])
                self.eliminated[i].insert(0, elimination)
                for column, force in self.F[i].items():
                    self.result.put(k, column, -(along(dof, *force) * elimination.inverse_D))
                self.result.put(k, k, elimination.inverse_D)
                self._add_columns(i, k, elimination.U)
            else:
                U = apply(self.inertia[i], dof.column)
                for column, force in self.F[i].items():
                    self.result.put(k, column, along(dof, *force))
                self.result.put(k, k, along(dof, *U) + dof.armature)
                self.F[i][k] = U
        self._hand_over(i)

    def _add_columns(self, i: int, k: int, U: Wrench) -> None:
        """F_i[:, tree] += U Minv[k, tree]."""
        for column, value in self.result.row(k).items():
            term = Wrench(*twist.scale(value, U))
            self.F[i][column] = plus(self.F[i][column], term) if column in self.F[i] else term

    def _hand_over(self, i: int) -> None:
        """F_p += Xᵀ F_i,  I_p += Xᵀ I_i X."""
        joint, parent = self.tree.joints[i], self.tree.tree.links[i].parent
        if parent < 0:
            return
        for column, force in self.F[i].items():
            self.F[parent][column] = Wrench(*joint.transform.force_to_parent(force))
        self.inertia[parent] = plus(self.inertia[parent], moved(joint.transform, self.inertia[i]))

    def _forward(self, i: int) -> None:
        """Lines 19 to 24 for link i: Minv[k, k:] -= Uᵀ X P_p / D,  P_i = S Minv[k, k:] + X P_p."""
        joint, link = self.tree.joints[i], self.tree.tree.links[i]
        above: Mapping[int, twist.Pair] = self.P[link.parent] if link.parent >= 0 else {}
        P = self.P[i]
        first = min(coordinate.entry for coordinate in link.v)
        for column, motion in above.items():
            if column >= first:
                P[column] = joint.transform.motion_to_child(motion)
        for dof, coordinate, elimination in zip(joint.dofs, link.v, self.eliminated[i], strict=True):
            k = coordinate.entry
            for column, motion in P.items():
                if column >= k:
                    self.result.add(k, column, -(twist.dot(elimination.U, motion) * elimination.inverse_D))
            for column, value in self.result.row(k).items():
                term = twist.scale(value, dof.column)
                P[column] = twist.add(P[column], term) if column in P else term


def mminvgen(tree: Unrolled, inverse: bool) -> SparseMatrix:
    """M(q), or its inverse; both triangles. Every coordinate must move one joint only."""
    return _MMinvGen(tree, inverse).run()
