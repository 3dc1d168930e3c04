"""Matrices as lists of sparse rows, {column: entry}, on any scalar: ones and zeros that are numbers cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from condyle.scalar import is_zero

Row: TypeAlias = "dict[int, Any]"
Rows: TypeAlias = "list[Row]"


@dataclass(frozen=True)
class Combination:
    """base + the sum of weight rows: what is multiplied keeps its dense parts as they are.

    without: rows in which the parts do not count.
    """

    base: Rows
    parts: tuple[tuple[Any, Rows], ...] = ()
    without: frozenset[int] = frozenset()

    def scaled(self, weight: Any) -> Combination:
        parts = tuple((times(weight, w), part) for w, part in self.parts)
        return replace(self, base=scaled(weight, self.base), parts=parts)

    def plus(self, weight: Any, other: Combination) -> Combination:
        assert self.without == other.without
        found = list(self.parts)
        for w, part in other.scaled(weight).parts:
            same = next((k for k, (_, known) in enumerate(found) if known is part), None)
            if same is None:
                found.append((w, part))
            else:
                found[same] = (total(found[same][0], w), part)
        return replace(self, base=added(self.base, weight, other.base), parts=tuple(found))

    def row(self, k: int) -> Row:
        found = self.base[k]
        for weight, part in () if k in self.without else self.parts:
            found = plus(found, weight, part[k])
        return found

    @property
    def rows(self) -> Rows:
        return [self.row(k) for k in range(len(self.base))]


def dense(rows: Sequence[Sequence[Any]]) -> Any:
    """As an array of objects."""
    made = np.empty((len(rows), len(rows[0])), object)
    for k, row in enumerate(rows):
        made[k] = row
    return made


def nothing(n: int) -> Rows:
    return [{} for _ in range(n)]


def unit(n: int, first: int) -> Rows:
    return [{first + k: 1.0} for k in range(n)]


def matrix(entries: Sequence[Any], n: int) -> list[list[Any]]:
    width = len(entries) // n if n else 0
    return [list(entries[k * width : (k + 1) * width]) for k in range(n)]


def transposed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def shifted(rows: Sequence[Sequence[Any]], first: int) -> Rows:
    return [{first + k: x for k, x in enumerate(row) if not is_zero(x)} for row in rows]


def plus(row: Row, weight: Any, other: Row) -> Row:
    """row + weight other."""
    found = dict(row)
    for k, x in other.items():
        found[k] = total(found.get(k, 0.0), times(weight, x))
    return found


def added(rows: Rows, weight: Any, others: Rows) -> Rows:
    return [plus(row, weight, other) for row, other in zip(rows, others, strict=True)]


def scaled(weight: Any, rows: Rows) -> Rows:
    return [{k: times(weight, x) for k, x in row.items()} for row in rows]


def product(left: Sequence[Sequence[Any]], right: Rows) -> Rows:
    found = nothing(len(left))
    for k, row in enumerate(left):
        for x, other in zip(row, right, strict=True):
            if not is_zero(x):
                found[k] = plus(found[k], x, other)
    return found


def total(x: Any, y: Any) -> Any:
    return y if is_zero(x) else x if is_zero(y) else x + y


def times(x: Any, y: Any) -> Any:
    """Ones and zeros cost nothing, also where they are numbers and the others are arrays."""
    if is_zero(x) or is_zero(y):
        return 0.0
    return y if isinstance(x, float) and x == 1.0 else x if isinstance(y, float) and y == 1.0 else x * y
