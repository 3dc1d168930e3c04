"""A chain in chunks for lanes that are links: each chunk folds to one element of a scan, and scans join the chunks.

Within a chunk everything but the folds is the serial algorithm as it stands, so that its accuracy is its own.
"""

from __future__ import annotations

from condyle.ir.chunked import Chunked, Scan, Sweep
from condyle.ir.count import work
from condyle.model.tree import Tree
from condyle.trace.chunks import forward_dynamics, inverse_dynamics
from condyle.trace.chunks.chain import Chain, floats, has_limbs, is_chain

ROUTES = {"fd": "elements", "id": "lie"}
"""The scan that each function is chunked by, as algorithms.scans.routes names it."""


def chunked(tree: Tree, function: str, f_ext: bool, chunks: int, guard: float) -> Chunked:
    """The function of a chain, fixed or floating, or of a tree's limbs, in so many chunks. guard: see `Segments`."""
    chain = Chain(tree, f_ext, chunks)
    return forward_dynamics.chunked(chain, guard) if function == "fd" else inverse_dynamics.chunked(chain)


CHUNKS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of lanes to choose from where the hardware does not fix it: one warp for each of a processor's schedulers at
most."""


def best_chunks(tree: Tree) -> int:
    """The number of chunks with the fewest operations one after the other in fd: within a chunk, and in the scans."""
    ops = chunked(tree, "fd", False, 1, 0.0).ops
    inside = sum(work(op.stage) for op in ops if isinstance(op, Sweep))
    across = sum(work(op.stage) for op in ops if isinstance(op, Scan))
    return min(CHUNKS, key=lambda chunks: -(-len(tree.links) // chunks) * inside + (chunks - 1).bit_length() * across)


__all__ = ["ROUTES", "best_chunks", "chunked", "floats", "has_limbs", "is_chain"]
