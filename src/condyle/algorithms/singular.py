"""Whether a mass matrix is singular whatever the configuration, and which joint moves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms import aba, crba
from condyle.algorithms.joint import Inertia, Joint, along
from condyle.algorithms.reference import evaluate
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number, reciprocal

Array = NDArray[np.floating]
ROUNDING = 1e-13  # of a pivot against its diagonal entry: a few hundred roundings of what cancelled


def idle_coordinate(tree: Tree, q: Array) -> int | None:
    """The number of a coordinate without inertia of its own at every one of the states q (n, nq), or None.

    The pivots of M = Lᵀ D L say how much inertia a coordinate has when those after it are free.
    """
    with np.errstate(all="ignore"):
        pivots, diagonal = _of_factors(tree, q) if tree.has_shared_coordinates else _of_links(tree, q)
        idle = np.flatnonzero(np.all(np.abs(pivots) <= ROUNDING * np.abs(diagonal), axis=0))
    return int(idle[-1]) if idle.size else None


def _of_links(tree: Tree, q: Array) -> tuple[Array, Array]:
    """Pivots and diagonal of M (n, nv) by way of articulated and composite inertias, without M itself."""
    links = Unrolled(tree, [number(column) for column in np.transpose(q)])
    eliminated = aba.eliminations(links)
    alone = links.each(_diagonal, crba.composites(links))
    pivots, diagonal = np.empty((len(q), tree.nv)), np.empty((len(q), tree.nv))
    for link, own, entries in zip(tree.links, eliminated, alone, strict=True):
        for coordinate, elimination, entry in zip(link.v, own, entries, strict=True):
            pivots[:, coordinate.at] = cast(Array, reciprocal(elimination.inverse_D))
            diagonal[:, coordinate.at] = cast(Array, entry)
    return pivots, diagonal


def _diagonal(joint: Joint, composite: Inertia) -> Sequence[Scalar]:
    """Sᵀ I^c S + armature."""
    forces = [crba.unit_force(joint, k, composite) for k in range(len(joint.dofs))]
    return [along(dof, *force) + dof.armature for dof, force in zip(joint.dofs, forces, strict=True)]


def _of_factors(tree: Tree, q: Array) -> tuple[Array, Array]:
    """The same from M, for joints that share coordinates."""
    (flat,) = evaluate(tree, "m", "crba", {"q": q})
    H: Array = np.array(np.reshape(flat, (len(q), tree.nv, tree.nv)))
    diagonal: Array = np.array(np.diagonal(H, axis1=1, axis2=2))
    for k in reversed(range(tree.nv)):
        factor: Array = H[:, k, :k] / H[:, k, k, None]
        H[:, :k, :k] -= factor[:, :, None] * H[:, k, None, :k]
    return np.array(np.diagonal(H, axis1=1, axis2=2)), diagonal
