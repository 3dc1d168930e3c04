"""Viscous friction where it is an input: tau = M a + c + damping v, damping in N m s/rad or N s/m."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar

S = TypeVar("S", bound=Sweeps)


def driven(tree: S) -> S:
    """The tree with tau - damping v in place of tau."""
    if tree.damping is None:
        return tree
    unrolled = cast(Unrolled, tree)
    return cast(S, Unrolled(unrolled.tree, {**unrolled.inputs, "tau": _plus(unrolled, unrolled.inputs["tau"], -1.0)}))


def resisted(tree: Sweeps, tau: Vector) -> Vector:
    """tau + damping v."""
    return tau if tree.damping is None else _plus(cast(Unrolled, tree), cast("Sequence[Scalar]", tau), 1.0)


def with_damping(tree: Sweeps, by_v: Matrix) -> Matrix:
    """d tau / d v with damping added on its diagonal."""
    for k, value in enumerate(tree.damping or ()):
        cast(SparseMatrix, by_v).add(k, k, value)
    return by_v


def _plus(tree: Unrolled, tau: Sequence[Scalar], sign: float) -> list[Scalar]:
    rates = zip(tau, tree.damping or (), tree.inputs["v"], strict=True)
    return [force + sign * (friction * rate) for force, friction, rate in rates]
