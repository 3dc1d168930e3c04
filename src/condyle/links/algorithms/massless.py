"""Links without inertia along their own joint, for which the articulated-body element does not exist."""

from __future__ import annotations

from typing import cast

from condyle.algorithms.aba import Articulated, apply, eliminate, rigid
from condyle.algorithms.joint import Dof, along
from condyle.algorithms.placed import joint_at
from condyle.model.tree import Link, Tree
from condyle.scalar import number

ROUNDING = 1e-13
"""D below this fraction of its value before elimination is rounding: a few hundred times the unit of float64."""


def massless_link(tree: Tree) -> int | None:
    """The first link with D = Sᵀ I S + armature = 0 for a degree of freedom of its own, or None.

    The massless link inside a universal joint is not counted: it forms one element with the link after it.
    """
    return next((i for i, link in enumerate(tree.links) if link.body >= 0 and _moves_nothing(link)), None)


def _moves_nothing(link: Link) -> bool:
    joint = joint_at(link.kind, link.numbers, [number(float(x)) for x in link.kind.neutral()])
    whole = left = rigid(joint)
    for dof in reversed(joint.dofs):
        if not _along(dof, left) > ROUNDING * abs(_along(dof, whole)):
            return True
        _, left = eliminate(dof, left)
    return False


def _along(dof: Dof, inertia: Articulated) -> float:
    """D = Sᵀ I S + armature."""
    return float(cast(float, along(dof, *apply(inertia, dof.column)) + dof.armature))
