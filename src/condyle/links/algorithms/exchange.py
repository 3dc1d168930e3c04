"""The lane-exchange map of a tree: which links a prefix scan combines in each of its steps.

The link that a link is combined with is called its partner. Outward, a link's partners are its ancestors 1, 2, 4, ...
links away: Kogge and Stone's scan along every path from the root. Inward, where branches join, the scan goes along
heavy paths (Sleator, Tarjan 1983): a path continues with the child that carries the most links, and the other children
begin paths of the next level. A leaf is at most log2 n + 1 levels from the root. In a tree of short branches a level
for every depth takes fewer steps; then every link is a path of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from condyle.model.tree import carried

NONE = -1
"""No partner."""
Row: TypeAlias = tuple[int, ...]
Path: TypeAlias = list[int]


def exchange_map(parents: Sequence[int], lanes: int) -> dict[str, tuple[Row, ...]]:
    """{name: rows}, a row being the partner of every lane; the first lanes are the links, NONE is no partner.

    parents: one row, each link's parent. ancestors: rows of the ancestors 1, 2, 4, ... links away. children: one child
    in each row. behind: combining row after row gives every link the product of all links that it carries. A partner
    that is the first link of a branch is written as -2 - link there.
    """
    return _exchange_map(tuple(parents), lanes)


@lru_cache(maxsize=64)
def _exchange_map(parents: Row, lanes: int) -> dict[str, tuple[Row, ...]]:
    pairs = [(parent, child) for child, parent in enumerate(parents) if parent >= 0]
    found = {
        "parents": [list(parents)],
        "ancestors": _ancestors(parents),
        "children": _spread(pairs, len(parents)),
        "behind": [row for level in reversed(levels(parents)) for row in _behind(level, parents)],
    }
    return {name: tuple((*row, *[NONE] * (lanes - len(row))) for row in rows) for name, rows in found.items()}


def _ancestors(parents: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    row = list(parents)
    while any(ancestor >= 0 for ancestor in row):
        rows.append(row)
        row = [row[ancestor] if ancestor >= 0 else NONE for ancestor in row]
    return rows


def _behind(level: Sequence[Path], parents: Sequence[int]) -> list[list[int]]:
    """The rows of one level: products along its paths, then the paths' products for the links that they begin at."""
    rows: list[list[int]] = []
    step = 1
    while step < max(map(len, level)):
        row = [NONE] * len(parents)
        for path in level:
            for link, partner in zip(path, path[step:], strict=False):
                row[link] = partner
        rows.append(row)
        step *= 2
    return rows + _spread([(parents[path[0]], -2 - path[0]) for path in level if parents[path[0]] >= 0], len(parents))


def _spread(pairs: Sequence[tuple[int, int]], links: int) -> list[list[int]]:
    """Rows of (link, partner) pairs: in each row a link has the next of its partners."""
    rows: list[list[int]] = []
    met = [0] * links
    for parent, child in pairs:
        if met[parent] == len(rows):
            rows.append([NONE] * links)
        rows[met[parent]][parent] = child
        met[parent] += 1
    return rows


def levels(parents: Sequence[int]) -> list[list[Path]]:
    """The levels of a tree, the root's first: heavy paths, or a level for every depth if that takes fewer steps."""
    return min((_levels(parents, _heavy(parents)), _levels(parents, [NONE] * len(parents))), key=_steps)


def _steps(levels: Sequence[Sequence[Path]]) -> int:
    """The steps of a scan: of each level ceil(log2(longest path)), and one to combine paths with their parents."""
    return sum(max(len(path) - 1 for path in level).bit_length() + 1 for level in levels)


def _heavy(parents: Sequence[int]) -> list[int]:
    """For every link the child that carries the most links."""
    weights = carried(parents, [1] * len(parents))
    heavy = [NONE] * len(parents)
    for i, parent in enumerate(parents):
        if parent >= 0 and (heavy[parent] < 0 or weights[i] > weights[heavy[parent]]):
            heavy[parent] = i
    return heavy


def _levels(parents: Sequence[int], heavy: Sequence[int]) -> list[list[Path]]:
    """Paths that continue with the heavy child, by level: the number of paths between them and the root."""
    level = [0] * len(parents)
    found: list[list[Path]] = []
    for i, parent in enumerate(parents):
        begins = parent < 0 or heavy[parent] != i
        if parent >= 0:
            level[i] = level[parent] + begins
        if begins:
            if level[i] == len(found):
                found.append([])
            found[level[i]].append(_path(i, heavy))
    return found


def _path(head: int, heavy: Sequence[int]) -> Path:
    path = [head]
    while heavy[path[-1]] >= 0:
        path.append(heavy[path[-1]])
    return path
