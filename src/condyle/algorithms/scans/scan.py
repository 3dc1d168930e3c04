"""Scans: all x_0, x_0 x_1, x_0 x_1 x_2, ... of a row of elements, in few steps, each on many elements at once.

Elements are values whose scalars are arrays, the row along the first axis. A row holds segments one after the other;
position[k] is the place of element k in its own segment, and nothing is carried from one segment to the next.

| scan | steps | compositions | source |
|---|---|---|---|
| `kogge_stone` | log2 n | n log2 n | Kogge, Stone 1973 |
| `blelloch` | 2 log2 n | 2 n | Blelloch 1990, with inclusive results as in Brent, Kung 1982 |
| `chunked` | n / lanes + log2 lanes + 1 | 2 n | serial in each of `lanes` chunks, then over the chunks |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.scans.semigroup import Semigroup
from condyle.algorithms.values import flat, refilled
from condyle.scalar import Scalar, number

T = TypeVar("T")
Index: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[np.floating]
Scan: TypeAlias = Callable[[Semigroup[T], T, Index], T]
"""Called with a semigroup, a row of elements and their positions; gives the row of their products."""


def kogge_stone(semigroup: Semigroup[T], elements: T, position: Index) -> T:
    """Every element is composed with what is 1, 2, 4, ... places before it."""
    step = 1
    while step <= position.max(initial=0):
        late = np.flatnonzero(position >= step)
        elements = _composed(semigroup, elements, late - step, late)
        step *= 2
    return elements


def blelloch(semigroup: Semigroup[T], elements: T, position: Index) -> T:
    """Up: products of 2, 4, 8, ... neighbours. Down: what stands between them."""
    step, place = 1, position + 1
    while step <= position.max(initial=0):
        late = np.flatnonzero(place % (2 * step) == 0)
        elements = _composed(semigroup, elements, late - step, late)
        step *= 2
    while step > 1:
        step //= 2
        late = np.flatnonzero((place % (2 * step) == step) & (place > step))
        elements = _composed(semigroup, elements, late - step, late)
    return elements


def chunked(semigroup: Semigroup[T], elements: T, position: Index, lanes: int = 8) -> T:
    """Each chunk serially, all chunks side by side; then the chunks' products; then both together."""
    length = max(1, -(-int(position.max(initial=0) + 1) // lanes))
    place, chunk = position % length, position // length
    for k in range(1, length):
        late = np.flatnonzero(place == k)
        elements = _composed(semigroup, elements, late - 1, late)
    last = np.flatnonzero(place == length - 1)
    products = kogge_stone(semigroup, taken(elements, last), chunk[last])
    elements = stored(elements, last, products)
    rest = np.flatnonzero((place < length - 1) & (chunk > 0))
    return _composed(semigroup, elements, rest - place[rest] - 1, rest)


def _composed(semigroup: Semigroup[T], elements: T, before: Index, late: Index) -> T:
    """elements[late] = elements[before] elements[late]."""
    if not late.size:
        return elements
    return stored(elements, late, semigroup.combine(taken(elements, before), taken(elements, late)))


def array(x: Scalar) -> Array:
    """A scalar as the array it is."""
    return cast(Array, np.asarray(x))


def taken(value: T, index: Index | slice) -> T:
    """These rows; a scalar that is no array is the same in every row."""
    return refilled(value, [_row(x, index) for x in flat(value)])


def _row(x: Scalar, index: Index | slice) -> Scalar:
    return x if isinstance(x, float) else number(array(x)[index])


def stored(value: T, index: Index, part: T) -> T:
    """The value with these rows replaced; the value's own arrays stay as they are."""
    return refilled(value, [_with_row(x, index, y) for x, y in zip(flat(value), flat(part), strict=True)])


def _with_row(x: Scalar, index: Index, part: Scalar) -> Scalar:
    result = widened(array(x), array(part))
    result[index] = array(part)
    return number(result)


def widened(old: Array, new: Array) -> Array:
    """A copy of `old` with room for the columns and states of `new`."""
    return np.array(np.broadcast_to(old, (*old.shape[:1], *np.broadcast_shapes(old.shape[1:], new.shape[1:]))))


def zeros_like(value: T) -> T:
    """Zeros of the same shapes."""
    return refilled(value, [number(np.zeros_like(array(x))) for x in flat(value)])
