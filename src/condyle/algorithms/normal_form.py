"""The tree that a function is traced or swept on, by the normal form of its specification."""

from __future__ import annotations

from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.model.tree import Tree
from condyle.specification import NormalForm


def normal_form(tree: Tree, form: NormalForm, own_inertia: bool = False) -> Tree:
    """The same joint-space quantities from fewer operations; a tree as it is for functions of bodies or frames.

    own_inertia: every link keeps its inertia, since what is left of it after regrouping is none of a body: scans of
    articulated elements lose two digits then.
    """
    if form != "joint_space":
        return tree
    return reframed(tree if own_inertia else regrouped(tree))
