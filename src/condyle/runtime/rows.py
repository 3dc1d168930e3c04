"""Arrays as rows (n, size): whether they lie in memory so, copies where they do not, and what overlaps what."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Shape = tuple[int, ...]
MOST_DIMS = 64 if hasattr(np, "isdtype") else 32
"""Dimensions that arrays may have: NumPy 2 has more, and `isdtype`."""
_OVERLAP_WORK = 10_000


def shaped(array: Floats, shape: Shape) -> Floats:
    return array.reshape(shape)  # pyright: ignore[reportUnknownMemberType]


def broadcast(shapes: Iterable[Shape]) -> Shape | None:
    """The common shape; None where there is none. NumPy's own stops at 32 dimensions and at the largest size."""
    result: list[int] = []
    for lengths in itertools.zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        longer = {length for length in lengths if length != 1}
        if len(longer) > 1:
            return None
        result.append(longer.pop() if longer else 1)
    return tuple(result[::-1])


def spelled(array: Floats, dtype: np.dtype[np.floating]) -> Floats:
    """The same memory by the dtype itself: kernels refuse one that is equal but names this machine's byte order."""
    plain = array.dtype.byteorder == "=" or array.dtype != dtype
    return array if plain else array.view(dtype)  # pyright: ignore[reportUnknownMemberType]


def has_rows(rows: Floats) -> bool:
    """Whether a kernel can walk these rows: contiguous, aligned, a whole number of entries apart."""
    flags = rows.flags
    if flags.c_contiguous and flags.aligned:
        return True
    strides = rows.strides
    item = rows.itemsize
    return (rows.shape[1] <= 1 or strides[1] == item) and strides[0] % item == 0 and flags.aligned


def copied(array: Floats, dims: Shape, batch: Shape) -> int:
    """Entries that `rows_of` copies, at most."""
    own = array.shape[: array.ndim - len(dims)]
    flags = array.flags
    if array.size == 0 or (own == batch and flags.c_contiguous and flags.aligned):
        return 0
    if math.prod(own) == 1:
        return array.size
    fill = (0,) * (len(batch) - len(own))
    steps = (*fill, *(step if length > 1 else 0 for length, step in zip(own, array.strides, strict=False)))
    view = _merges(batch, steps) and _merges((*dims, 1), (*array.strides[len(own) :], array.itemsize))
    return 0 if view and flags.aligned else math.prod(batch) * math.prod(dims)


def _merges(shape: Shape, strides: Shape) -> bool:
    """Whether one step, that of the last entry, leads through all entries in C order."""
    pairs = list(zip(shape, strides, strict=True))
    long = [(length, step) for length, step in pairs[:-1] if length > 1] + pairs[-1:]
    return all(step == length * inner for (_, step), (length, inner) in itertools.pairwise(long))


def rows_of(array: Floats, dims: Shape, batch: Shape, n: int) -> Floats:
    """(n, size) of an array (*own, *dims) that broadcasts to the batch; (1, size) where one row serves all."""
    size = math.prod(dims)
    own = array.shape[: array.ndim - len(dims)]
    if own == batch:
        if array.ndim == 2 and len(own) == 1 and has_rows(array):
            return array
        rows = shaped(array, (n, size))
    elif math.prod(own) == 1:
        rows = shaped(array, (1, size))
    else:
        rows = shaped(np.broadcast_to(array, batch + dims), (n, size))
    return rows if has_rows(rows) else np.array(rows, order="C")


def one_row(array: object, dims: Shape, dtype: np.dtype[np.floating]) -> Floats | None:
    """(1, size) of an array without batch dimensions, or of a plain number; None for anything else."""
    if isinstance(array, (float, int)):
        array = np.asarray(array, dtype)
    if not isinstance(array, np.ndarray):
        return None
    given = cast(Floats, array)
    if given.shape != dims or given.dtype != dtype:
        return None
    return np.require(shaped(given, (1, math.prod(dims))), requirements=["C", "A"])


def overlaps_itself(array: Floats) -> bool:
    """Whether two entries may be one: steps must each reach beyond all that smaller steps reach."""
    reach = array.itemsize
    for step, length in sorted((abs(step), length) for step, length in zip(array.strides, array.shape, strict=True)):
        if length > 1 and step < reach:
            return array.size > 0
        reach += step * (length - 1)
    return False


def overlap(a: Floats, b: Floats) -> bool:
    """Whether two arrays share an entry; true where that is too hard to say."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_OVERLAP_WORK)  # pyright: ignore[reportArgumentType]
    except RuntimeError:
        return True
