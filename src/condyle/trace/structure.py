"""Which entries of a function's arrays are zero in every state of a robot, from its tree alone: every target agrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condyle.model.tree import Tree
from condyle.runtime.layout import Layout, full, sparse
from condyle.signature import Port
from condyle.trace.straight import sizes


def layout_of(tree: Tree, port: Port, lanes: int) -> Layout:
    """How an array of this port is packed."""
    if port.zeros == "none":
        return full(port.shape(sizes(tree)), lanes)
    kept = coupled(tree)
    return sparse(connected(kept) if port.zeros == "connected" else kept, port.symmetric, lanes)


def coupled(tree: Tree) -> NDArray[np.bool_]:
    """(nv, nv), true where some body moves with both velocities: one lies on the other's way to the root."""
    kept = np.zeros((tree.nv, tree.nv), dtype=np.bool_)
    moves: list[list[int]] = []
    for link in tree.links:
        above = [] if link.parent < 0 else moves[link.parent]
        moves.append([*above, *(coordinate.at for coordinate in link.v)])
        kept[np.ix_(moves[-1], moves[-1])] = True
    return kept


def connected(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, nv), true where a chain of pairs links both."""
    while True:
        more: NDArray[np.bool_] = kept @ kept
        if np.array_equal(more, kept):
            return kept
        kept = more
