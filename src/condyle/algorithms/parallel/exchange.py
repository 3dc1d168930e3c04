"""The lane-exchange map of a tree: which links a prefix scan combines, step after step.

Towards the tips a link is combined with its ancestors 1, 2, 4, ... links away: Kogge and Stone's scan along every path
from the root. Towards the root, where branches meet, it goes along heavy paths (Sleator, Tarjan 1983): every link goes
on to the child that carries most, other children begin paths of their own, one level further out. Between a leaf and
the root lie at most log2 n + 1 levels. In a tree of short branches it takes fewer steps to call every link a path,
which is a level for every depth.
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
    """Rows by name, each a partner for every lane, links first.

    parents: the link before each. ancestors: those 1, 2, 4, ... links before. children: all, one a row. behind: such
    that combining row after row gives every link the product of all that it carries, each link that begins a branch
    named -2 - link.
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
    """Products along the paths of one level, then what they hand to the links that they hang on."""
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
    """Rows in which every link meets the next of those that hang on it."""
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
    """A scan of each level in ceil(log2) steps, and one to join its paths to their parents."""
    return sum(max(len(path) - 1 for path in level).bit_length() + 1 for level in levels)


def _heavy(parents: Sequence[int]) -> list[int]:
    """For every link the child that carries most."""
    weights = carried(parents, [1] * len(parents))
    heavy = [NONE] * len(parents)
    for i, parent in enumerate(parents):
        if parent >= 0 and (heavy[parent] < 0 or weights[i] > weights[heavy[parent]]):
            heavy[parent] = i
    return heavy


def _levels(parents: Sequence[int], heavy: Sequence[int]) -> list[list[Path]]:
    """Paths that go on to the heavy child, by how many paths lie before each."""
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
