"""Whether rows of contacts depend on each other wherever the robot is: four planes on one body, a loop in a plane."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contact_scales import scales
from condyle.algorithms.matrix import dense
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import number
from condyle.specification.ports import ACTIVE

WEAK, TRIES = 1e-3, 4
"""Of an eigenvalue of G, rows in units of their scales: above, the filter of `contact_forces` is that of an independent
row to 1e-10. And how many configurations are tried."""


@lru_cache(maxsize=64)
def depends(tree: Tree) -> bool:
    """Whether rows of all contacts together depend on each other, or nearly, in each of some random configurations.

    The tree's own inertias count, also where they are inputs.
    """
    units = np.array([scale**-0.5 if scale else 0.0 for scale in scales(tree)])
    rng, n = np.random.default_rng(0), len(units)
    if not 0 < n <= tree.nv:
        return n > 0
    return not any(_least(_delassus(tree, rng) * np.outer(units, units)) > WEAK for _ in range(TRIES))


def _delassus(tree: Tree, rng: np.random.Generator) -> NDArray[np.float64]:
    """G in a random configuration."""
    q, on = [number(0.0)] * tree.nq, [number(1.0)] * len(tree.contacts)
    for kind, at, _ in tree.configurations:
        for k, x in zip(at, kind.random(rng, 1)[0], strict=True):
            q[k] = number(float(x))
    G = Constrained(Unrolled(tree, {"q": q, ACTIVE.name: on}), on).G
    return np.reshape(np.array(dense(G), float), (G.size, G.size))


def _least(matrix: NDArray[np.float64]) -> float:
    """The least eigenvalue; zero where M is singular."""
    return float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else 0.0
