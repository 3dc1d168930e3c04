"""Sums over batch dimensions, in an order that depends on shapes alone."""

from __future__ import annotations

import math

import numpy as np

from condyle.runtime.rows import Floats, Shape, shaped


def summed(array: Floats, shape: Shape) -> Floats:
    """An array that `shape` was broadcast to, with its entries added up where it was; `array` is used as room.

    Halves are added to halves, so that errors grow with the logarithm of the number of terms.
    """
    if array.shape == shape:
        return array
    extra = array.ndim - len(shape)
    over = [k for k, n in enumerate(array.shape) if k < extra or (shape[k - extra] == 1 and n != 1)]
    n = math.prod(array.shape[k] for k in over)
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    leading = list(range(len(over)))
    rows = shaped(array if over == leading else np.moveaxis(array, over, leading), (n, -1))
    while n > 1:
        half = n // 2
        rows[:half] += rows[n - half : n]
        n -= half
    return shaped(rows[0].copy(), shape)
