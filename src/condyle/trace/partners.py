"""Whom the links of a tree meet in scans, row after row: lanes by number, NONE for nobody."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.scans.paths import Level, levels
from condyle.ir.chunked import NONE

Row = tuple[int, ...]


def partners(parents: Sequence[int], lanes: int) -> dict[str, tuple[Row, ...]]:
    """Rows by name.

    parents: the link before each. ancestors: those 1, 2, 4, ... links before. children: all, one a row. behind: such
    that adding row after row gives every link the sum over all that it carries, each link that begins a branch named
    -2 - link.
    """
    some = [row for level in reversed(levels(parents)) for row in _behind(level, len(parents))]
    pairs = [(parent, child) for child, parent in enumerate(parents) if parent >= 0]
    found = {
        "parents": [list(parents)],
        "ancestors": _ancestors(parents),
        "children": _spread(pairs, len(parents)),
        "behind": some,
    }
    return {name: tuple((*row, *[NONE] * (lanes - len(row))) for row in rows) for name, rows in found.items()}


def _ancestors(parents: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    row = list(parents)
    while any(ancestor >= 0 for ancestor in row):
        rows.append(row)
        row = [row[ancestor] if ancestor >= 0 else NONE for ancestor in row]
    return rows


def _behind(level: Level, links: int) -> list[list[int]]:
    """Sums along the paths of one level, then what they hand to the links that they hang on."""
    rows: list[list[int]] = []
    path, left = [int(i) for i in level.links], [int(k) for k in level.left]
    step = 1
    while step <= max(left):
        row = [NONE] * links
        for k, i in enumerate(path):
            if left[k] >= step:
                row[i] = path[k + step]
        rows.append(row)
        step *= 2
    position, parents = [int(k) for k in level.position], [int(level.parents[k]) for k in level.path]
    heads = [(parents[k], i) for k, i in enumerate(path) if position[k] == 0]
    return rows + _spread([(parent, -2 - head) for parent, head in heads if parent >= 0], links)


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
