"""What follows from a robot's tree alone: sizes, entries that are zero in every state, estimates of operation
counts."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.ir.program import Program
from condyle.model.tree import Tree
from condyle.runtime.layout import Layout, full, sparse
from condyle.specification import Port, Size

Entries: TypeAlias = "NDArray[np.bool_]"
"""Which entries of a matrix can differ from zero."""


def sizes(tree: Tree) -> dict[str, int]:
    """The values of the dimension names of `condyle.specification` for this tree."""
    return {
        "nq": tree.nq,
        "nv": tree.nv,
        "n_bodies": tree.n_bodies,
        "n_frames": len(tree.frames),
        "n_contacts": len(tree.contacts),
        "n_rows": tree.n_rows,
    }


def layout_of(tree: Tree, port: Port, lanes: int) -> Layout:
    """How an array of this port is packed."""
    if port.zeros == "none":
        return full(port.shape(sizes(tree)), lanes)
    kept = coupled(tree)
    return sparse(connected(kept) if port.zeros == "connected" else kept, port.symmetric, lanes)


def coupled(tree: Tree) -> NDArray[np.bool_]:
    """(nv, nv), true where some body moves with both velocities: the joint of one is the other's or its ancestor."""
    kept = np.zeros((tree.nv, tree.nv), dtype=np.bool_)
    moves: list[list[int]] = []
    for link in tree.links:
        own = [coordinate.entry for coordinate in link.v]
        moves.append([*([] if link.parent < 0 else moves[link.parent]), *own])
        kept[np.ix_(own, moves[-1])] = kept[np.ix_(moves[-1], own)] = True
    return kept


def rows_of(kept: Entries) -> tuple[tuple[int, ...], ...]:
    """For each column of a matrix the rows that can differ from zero."""
    return tuple(tuple(np.flatnonzero(kept[:, c]).tolist()) for c in range(kept.shape[1]))


def connected(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, nv), the transitive closure: true where a chain of true entries connects both."""
    while True:
        counted = kept.astype(np.float32)  # products of boolean matrices are slow in NumPy
        more: NDArray[np.bool_] = counted @ counted > 0.5
        if np.array_equal(more, kept):
            return kept
        kept = more


def straight_size(tree: Tree, size: Size) -> int:
    """An estimate of the number of operations of the straight-line Program, without tracing."""
    depth: list[int] = []
    for link in tree.links:
        depth.append(len(link.v) + (depth[link.parent] if link.parent >= 0 else 0))
    pairs = sum(len(link.v) * d for link, d in zip(tree.links, depth, strict=True))
    triples = sum(len(link.v) * d * d for link, d in zip(tree.links, depth, strict=True))
    rows = tree.n_rows**2 * (tree.nv + tree.n_rows)
    return size.link * len(tree.links) + size.pair * pairs + size.triple * triples + size.row * rows


def product_size(tree: Tree, by_factors: bool) -> int:
    """An estimate of the operations of straight-line code for two products with M^-1."""
    kept = coupled(tree)
    return products(by_factors, kept, kept)


def written(program: Program) -> list[Entries]:
    """For each output array the entries that a Program writes; the others are zero in every state."""
    kept = [np.zeros(array.size, dtype=np.bool_) for array in program.arrays]
    for output in program.outputs:
        kept[output.array][output.index] = True
    return [np.reshape(entries, array.shape) for entries, array in zip(kept, program.arrays, strict=True)]


def products(by_factors: bool, *rights: Entries) -> int:
    """Operations of -M^-1 times each of these matrices, by the factors of M or by a given inverse."""
    both: Entries = np.any(rights, axis=0)
    both = both | np.transpose(both) | np.eye(len(both), dtype=np.bool_)
    if not by_factors:
        inverse = connected(both)
        return 2 * sum(_terms(inverse, right) for right in rights)
    lower: Entries = np.tril(both, -1)
    upper: Entries = np.transpose(lower)
    halves: list[Entries] = [kept | (upper.astype(np.float32) @ kept > 0) for kept in rights]
    return 2 * (sum(_terms(upper, right) for right in rights) + sum(_terms(lower, half) for half in halves))


def _terms(left: Entries, right: Entries) -> int:
    """Number of multiplications in a product of matrices."""
    return int(np.sum(left, axis=0) @ np.sum(right, axis=1))
