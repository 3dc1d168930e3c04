"""Tracing of `links.algorithms` to operations of `ir.link_parallel`: a lane is a link, or a segment of a chain."""

from __future__ import annotations

from condyle.ir.count import work
from condyle.ir.link_parallel import EachJoint, LinkParallel, Scan
from condyle.links.algorithms.links import ParallelRoute
from condyle.links.trace.functions import by_links, pairs, solve
from condyle.links.trace.traced_segments import TracedSegments, floats, has_branches, is_chain
from condyle.model.tree import Tree
from condyle.specification import Function


def segmented(tree: Tree, function: Function, route: ParallelRoute, lanes: int, guard: float) -> LinkParallel:
    """The function of a chain, or of a tree's branches, in at most `lanes` segments. guard: see
    `articulated.Segments`."""
    assert route.segments is not None
    segments = TracedSegments(tree, function.has_forces, lanes, guard)
    route.segments(segments)
    return segments.finished(function)


LANES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of lanes to choose from on a GPU; 128 is one warp for each of the four schedulers of a multiprocessor."""


def best_lanes(tree: Tree, function: Function, route: ParallelRoute) -> int:
    """The number of lanes with the fewest operations in sequence: within a segment, plus in the scans."""
    ops = segmented(tree, function.without_forces, route, 1, 0.0).ops
    inside = sum(work(op.stage) for op in ops if isinstance(op, EachJoint))
    across = sum(work(op.stage) for op in ops if isinstance(op, Scan))
    return min(LANES, key=lambda lanes: -(-len(tree.links) // lanes) * inside + (lanes - 1).bit_length() * across)


__all__ = ["best_lanes", "by_links", "floats", "has_branches", "is_chain", "pairs", "segmented", "solve"]
