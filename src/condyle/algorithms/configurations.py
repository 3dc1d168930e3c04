"""Moving in the space of configurations: q ⊕ dv and q1 ⊖ q0, joint by joint.

Solà, Deray, Atchuthan 2018, right plus and right minus. Tangent vectors are in the body's own axes, as velocities are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.model.tree import Tree
from condyle.scalar import Scalar


def integrate(tree: Tree, given: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q ⊕ dv."""
    q, dv, moved = given["q"], given["dv"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        moved.update(zip(at, kind.integrate([q[k] for k in at], [dv[k] for k in rates]), strict=True))
    return [moved[k] for k in range(tree.nq)]


def difference(tree: Tree, given: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q1 ⊖ q0."""
    q0, q1, left = given["q0"], given["q1"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        left.update(zip(rates, kind.difference([q0[k] for k in at], [q1[k] for k in at]), strict=True))
    return [left[k] for k in range(tree.nv)]
