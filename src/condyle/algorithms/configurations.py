"""Moving in the space of configurations: q ⊕ dv and q1 ⊖ q0, joint by joint.

Solà, Deray, Atchuthan 2018, right plus and right minus. Tangent vectors are in the body's own axes, as velocities are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from condyle.model.tree import Tree
from condyle.scalar import Scalar, number


def integrate(tree: Tree, inputs: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q ⊕ dv."""
    q, dv, moved = inputs["q"], inputs["dv"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        moved.update(zip(at, kind.integrate([q[k] for k in at], [dv[k] for k in rates]), strict=True))
    return [moved[k] for k in range(tree.nq)]


def difference(tree: Tree, inputs: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q1 ⊖ q0."""
    q0, q1, left = inputs["q0"], inputs["q1"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        left.update(zip(rates, kind.difference([q0[k] for k in at], [q1[k] for k in at]), strict=True))
    return [left[k] for k in range(tree.nv)]


@dataclass(frozen=True)
class JointByJoint:
    """How a step moves configurations: `condyle.algorithms.stepping.Moves`."""

    tree: Tree

    def along(self, q: Sequence[Scalar], u: Sequence[Scalar]) -> Sequence[Scalar]:
        return integrate(self.tree, {"q": q, "dv": u})

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], fixed: Sequence[Scalar]
    ) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        moved, after = dict[int, Scalar](), list(fixed)
        for kind, at, rates in self.tree.configurations:
            joint_q, joint_turn = [q[k] for k in at], [turn[k] for k in rates]
            if not kind.turning_entries:
                moved.update(zip(at, kind.integrate(joint_q, joint_turn), strict=True))
                continue
            velocity = [fixed[k] if i in kind.turning_entries else number(0.0) for i, k in enumerate(rates)]
            joint_q, turned = kind.shift_and_turn(joint_q, [shift[k] for k in rates], joint_turn, velocity)
            moved.update(zip(at, joint_q, strict=True))
            for i in kind.turning_entries:
                after[rates[i]] = turned[i]
        return [moved[k] for k in range(self.tree.nq)], after
