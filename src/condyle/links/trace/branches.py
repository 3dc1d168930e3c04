"""A tree's branches, cut into segments of about equal length, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.model.tree import Tree

Span = tuple[int, int]
"""Consecutive links: the first one, and their number."""


class Cut(NamedTuple):
    """For each segment its links, and its parent: the segment that it begins at the tip of, -1 for the world."""

    spans: tuple[Span, ...]
    parents: tuple[int, ...]


def branches(tree: Tree) -> list[Span]:
    """Runs of consecutive links, each the only child of the one before it."""
    children = [0] * (len(tree.links) + 1)
    for link in tree.links:
        children[link.parent] += 1
    found: list[Span] = []
    for i, link in enumerate(tree.links):
        if found and link.parent == i - 1 and children[i - 1] == 1:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((i, 1))
    return found


def cut(tree: Tree, lanes: int) -> Cut:
    """Branches cut into at most `lanes` segments, with the longest one as short as possible. lanes: at least the number
    of branches."""
    runs = branches(tree)
    length = next(k for k in range(1, len(tree.links) + 1) if _pieces(runs, k) <= lanes)
    spans = [(first + at, min(length, count - at)) for first, count in runs for at in range(0, count, length)]
    segment_of = {first + count - 1: k for k, (first, count) in enumerate(spans)}
    return Cut(tuple(spans), tuple(segment_of.get(tree.links[first].parent, -1) for first, _ in spans))


def _pieces(runs: Sequence[Span], length: int) -> int:
    return sum(-(-count // length) for _, count in runs)
