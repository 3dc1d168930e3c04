"""Values whose scalars are arrays with one row for each link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.values import flat, refilled
from condyle.scalar import Scalar, number

T = TypeVar("T")
Index: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[np.floating]


def array(x: Scalar) -> Array:
    """A scalar as the array it is."""
    return cast(Array, np.asarray(x))


def taken(value: T, index: Index) -> T:
    """These rows; a scalar that is no array is the same in every row."""
    return refilled(value, [x if isinstance(x, float) else number(array(x)[index]) for x in flat(value)])


def stored(value: T, index: Index, part: T) -> T:
    """The value with these rows replaced; the value's own arrays stay as they are."""
    return refilled(value, [_with_row(array(x), index, array(y)) for x, y in zip(flat(value), flat(part), strict=True)])


def _with_row(x: Array, index: Index, part: Array) -> Scalar:
    """The array with these rows replaced, broadcast to the columns and states of the part."""
    shape = np.broadcast_shapes(x.shape[1:], part.shape[1:])
    result = np.array(np.broadcast_to(x, (*x.shape[:1], *shape)))
    result[index] = part
    return number(result)


def assembled(parts: Sequence[tuple[Index, T]]) -> T:
    """One value, given (row numbers, these rows) that cover it."""
    indices = [index for index, _ in parts]
    columns = zip(*(flat(part) for _, part in parts), strict=True)
    return refilled(parts[0][1], [_assembled(indices, [array(x) for x in column]) for column in columns])


def _assembled(indices: Sequence[Index], arrays: Sequence[Array]) -> Scalar:
    shape = np.broadcast_shapes(*(array.shape[1:] for array in arrays))
    result: Array = np.empty((sum(len(index) for index in indices), *shape), np.result_type(*arrays))
    for index, part in zip(indices, arrays, strict=True):
        result[index] = part
    return number(result)
