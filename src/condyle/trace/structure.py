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
        own = [coordinate.at for coordinate in link.v]
        moves.append([*([] if link.parent < 0 else moves[link.parent]), *own])
        kept[np.ix_(own, moves[-1])] = kept[np.ix_(moves[-1], own)] = True
    return kept


def connected(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, nv), true where a chain of pairs links both."""
    while True:
        counted = kept.astype(np.float32)  # products of truth values are slow, these are not
        more: NDArray[np.bool_] = counted @ counted > 0.5
        if np.array_equal(more, kept):
            return kept
        kept = more
