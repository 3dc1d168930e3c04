"""Which entries of an array a packed one keeps, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ShapeError

MOST = 1 << 24
"""Of a dimension, of entries and of lanes."""


@dataclass(frozen=True)
class Layout:
    """One state's array of shape `dims`, packed: column c is the entry entries[c] of the flattened array.

    symmetric: entries (i, j) that are not kept equal the kept (j, i). All other entries are zero. lanes: states that
    lie side by side. Made by `layout`, which gives equal layouts as one object.
    """

    dims: tuple[int, ...]
    entries: tuple[int, ...]
    symmetric: bool
    lanes: int

    def __post_init__(self) -> None:
        """ShapeError for entries that are not those of such an array, which a pickle may bring."""
        numbers = (*self.dims, *self.entries, self.lanes)
        whole = all(type(number) is int and 0 <= number <= MOST for number in numbers)
        square = len(self.dims) == 2 and self.dims[0] == self.dims[1]
        if not whole or self.lanes < 1 or (self.symmetric and not square) or not self._ordered():
            raise ShapeError(f"Layout: no way to pack {self.dims}, {self.lanes} states a tile; pack() makes layouts")

    def _ordered(self) -> bool:
        """Whether the entries ascend, within the array."""
        return all(a < b for a, b in pairwise((-1, *self.entries, self.size)))

    @property
    def columns(self) -> int:
        """Numbers kept of each state."""
        return len(self.entries)

    @property
    def size(self) -> int:
        """Entries of the array of one state."""
        return math.prod(self.dims)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The column of each entry of the flattened array; `columns` for one that is zero."""
        offsets = np.full(self.size, self.columns)
        entries, columns = np.array(self.entries, dtype=np.intp), np.arange(self.columns)
        offsets[entries] = columns
        if self.symmetric:
            i, j = np.divmod(entries, self.dims[-1])
            offsets[j * self.dims[-1] + i] = columns
        return tuple(offsets.tolist())

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return layout, (self.dims, self.entries, self.symmetric, self.lanes)


Layouts: TypeAlias = tuple[tuple[Layout, ...], tuple[Layout, ...]]
"""Of the inputs and of the outputs of a function."""


@lru_cache(maxsize=4096)
def layout(dims: tuple[int, ...], entries: tuple[int, ...], symmetric: bool, lanes: int) -> Layout:
    """The Layout of these fields, the same object each time; calls compare by identity first."""
    return Layout(dims, entries, symmetric, lanes)


def full(dims: Sequence[int], lanes: int) -> Layout:
    """Every entry is kept."""
    dims = tuple(dims)
    return layout(dims, tuple(range(math.prod(dims))), False, lanes)


def sparse(kept: NDArray[np.bool_], symmetric: bool, lanes: int) -> Layout:
    """The entries of a matrix where `kept` is true, row by row; of a symmetric one the upper triangle only."""
    chosen = np.triu(kept) if symmetric else kept
    return layout(kept.shape, tuple(np.flatnonzero(chosen).tolist()), symmetric, lanes)
