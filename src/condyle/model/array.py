"""Small float64 arrays that cannot be written, so that a robot stays what it is."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]


def frozen(x: ArrayLike, *shape: int) -> Array:
    """A read-only float64 copy of x with this shape (ValueError otherwise); -0.0 becomes 0.0."""
    array = np.array(x, dtype=np.float64) + 0.0
    if array.shape != shape:
        raise ValueError(f"expected shape {shape}, got {array.shape}")
    array = np.ascontiguousarray(array).reshape(shape)
    array.setflags(write=False)
    return array
