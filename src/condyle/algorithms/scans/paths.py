"""A tree as paths: what a scan, which knows rows only, does about branches.

Heavy paths (Sleator, Tarjan 1983): every link goes on to the child that carries most; other children begin paths of
their own, one level further out. Between a leaf and the root lie at most log2 n + 1 levels, and a level is one scan
over all its paths. In a tree of short limbs it takes fewer steps to call every link a path, which is a level for every
depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condyle.algorithms.scans.scan import Index
from condyle.model.tree import carried


@dataclass(frozen=True)
class Level:
    """Paths that a scan runs side by side, one after the other, each from its base to its tip.

    links: their links. position, left: links of the path before and behind each. parents: the link that each path hangs
    on, -1 for the world; parents[path[k]] is that of the path of links[k].
    """

    links: Index
    position: Index
    left: Index
    path: Index
    parents: Index

    @property
    def steps(self) -> int:
        """Steps of a scan in ceil(log2) steps, and one to join the paths to their parents."""
        return int(self.position.max()).bit_length() + 1


def levels(parents: Sequence[int]) -> list[Level]:
    """The levels of a tree, the root's first: heavy paths, or a level for every depth if that takes fewer steps."""
    heavy, single = _heavy(parents), _single(parents)
    return min((heavy, single), key=lambda levels: sum(level.steps for level in levels))


def _heavy(parents: Sequence[int]) -> list[Level]:
    n = len(parents)
    weights = carried(parents, [1] * n)
    heavy = [-1] * n
    for i in range(n):
        parent = parents[i]
        if parent >= 0 and (heavy[parent] < 0 or weights[i] > weights[heavy[parent]]):
            heavy[parent] = i
    level = [0] * n
    paths: list[list[list[int]]] = []
    for i in range(n):
        parent = parents[i]
        if parent >= 0:
            level[i] = level[parent] + (heavy[parent] != i)
        if parent < 0 or heavy[parent] != i:
            if level[i] == len(paths):
                paths.append([])
            paths[level[i]].append(_path(i, heavy))
    return [_level(some, parents) for some in paths]


def _path(head: int, heavy: Sequence[int]) -> list[int]:
    path = [head]
    while heavy[path[-1]] >= 0:
        path.append(heavy[path[-1]])
    return path


def _single(parents: Sequence[int]) -> list[Level]:
    paths: list[list[list[int]]] = []
    depth: list[int] = []
    for i, parent in enumerate(parents):
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
        if depth[i] == len(paths):
            paths.append([])
        paths[depth[i]].append([i])
    return [_level(some, parents) for some in paths]


def _level(paths: Sequence[Sequence[int]], parents: Sequence[int]) -> Level:
    lengths = [len(path) for path in paths]
    return Level(
        np.array([i for path in paths for i in path]),
        np.array([k for length in lengths for k in range(length)]),
        np.array([length - 1 - k for length in lengths for k in range(length)]),
        np.repeat(np.arange(len(paths)), lengths),
        np.array([parents[path[0]] for path in paths]),
    )
