"""The tree that a function is traced or swept on, by the normal form of its specification."""

from __future__ import annotations

from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.model.tree import Tree
from condyle.specification import NormalForm


def normal_form(tree: Tree, form: NormalForm) -> Tree:
    """The same joint-space quantities from fewer operations; a tree as it is for functions of bodies or frames."""
    return reframed(regrouped(tree)) if form == "joint_space" else tree
