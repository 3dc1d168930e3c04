"""Whether a mass matrix is singular whatever the configuration, and which joint moves nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.reference import evaluate
from condyle.model.tree import Tree

Array = NDArray[np.floating]
ROUNDING = 1e-13  # of a pivot against its diagonal entry: a few hundred roundings of what cancelled


def idle_coordinate(tree: Tree, q: Array) -> int | None:
    """The number of a coordinate without inertia of its own at every one of the states q (n, nq), or None.

    The pivots of M = Lᵀ D L say how much inertia a coordinate has when those before it are free.
    """
    (flat,) = evaluate(tree, "m", "crba", {"q": q})
    H: Array = np.array(np.reshape(flat, (len(q), tree.nv, tree.nv)))
    diagonal: Array = np.abs(np.diagonal(H, axis1=1, axis2=2))
    with np.errstate(all="ignore"):
        for k in reversed(range(tree.nv)):
            pivot: Array = H[:, k, k]
            if np.all(np.abs(pivot) <= ROUNDING * diagonal[:, k]):
                return k
            factor: Array = H[:, k, :k] / pivot[:, None]
            H[:, :k, :k] -= factor[:, :, None] * H[:, k, None, :k]
    return None
