"""The tree that a function is computed on, by the normal form of its specification."""

from __future__ import annotations

from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.model.tree import Tree
from condyle.specification import NormalForm


def normal_form(tree: Tree, form: NormalForm, own_inertia: bool = False) -> Tree:
    """`joint_space`: inertias regrouped and link frames turned, for fewer operations. Else the tree itself, since
    outputs of bodies or frames need the model's own.

    own_inertia: every link keeps its inertia. What regrouping leaves need not be the inertia of a body, and scans of
    articulated elements lose two digits with it.
    """
    if form != "joint_space":
        return tree
    return reframed(tree if own_inertia else regrouped(tree))
