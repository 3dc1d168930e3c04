"""Configurations and their tangent spaces, on symbols: q ⊕ e, and how changes of entries and of e belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.ir.expr import Value
from condyle.model.tree import Tree
from condyle.scalar import Scalar


def moved(tree: Tree, q: Sequence[Value], e: Sequence[Value]) -> list[Value]:
    """q ⊕ e, exact to second order in e."""
    result = list(q)
    for kind, at, rates in tree.configurations:
        entries = kind.integrate_near([cast(Scalar, q[k]) for k in at], [cast(Scalar, e[k]) for k in rates])
        for k, value in zip(at, entries, strict=True):
            result[k] = cast(Value, value)
    return result


def apart(tree: Tree, q0: Sequence[Value], q1: Sequence[Value]) -> list[Value]:
    """q1 ⊖ q0, exact to second order in itself."""
    result: list[Value] = [0.0] * tree.nv
    for kind, at, rates in tree.configurations:
        entries = kind.difference_near([cast(Scalar, q0[k]) for k in at], [cast(Scalar, q1[k]) for k in at])
        for k, value in zip(rates, entries, strict=True):
            result[k] = cast(Value, value)
    return result
