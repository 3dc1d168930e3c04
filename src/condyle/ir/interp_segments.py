"""The meaning of segments: their interpreter, Programs and products of matrices in order, on batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir import interp
from condyle.ir.program import Program
from condyle.ir.segments import Product, Segmented, View

Array = NDArray[np.floating]


def run_segments(code: Segmented, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    n = max((len(array) for array in inputs), default=1)
    known = {constant.name: np.asarray([constant.values], dtype) for constant in code.constants}
    for array, values in zip(code.inputs, inputs, strict=True):
        known[array.name] = np.reshape(np.asarray(values, dtype), (len(values), array.size))
    for segment in code.segments:
        if isinstance(segment, Program):
            given = [known[array.name] for array in segment.inputs]
            found = interp.run(segment, given or [np.zeros((n, 0), dtype)], dtype)
            known |= {a.name: np.reshape(x, (len(x), a.size)) for a, x in zip(segment.arrays, found, strict=True)}
        else:
            made = product(segment, known[segment.left.array], known[segment.right.array])
            known[segment.result] = np.reshape(made, (len(made), segment.array.size))
    return [
        np.broadcast_to(np.reshape(x, (len(x), *array.shape)), (n, *array.shape))
        for array in code.arrays
        for x in (known[array.name],)
    ]


def product(what: Product, left: Array, right: Array) -> Array:
    """The product of matrices in arrays (n, size) or (1, size)."""
    m, n = what.shape
    x, y = matrix(what.left, left, m, what.inner), matrix(what.right, right, what.inner, n)
    result = np.zeros((max(len(x), len(y)), m, n), x.dtype)
    groups: dict[tuple[int, ...], list[int]] = {}
    for c, rows in enumerate(what.rows):
        groups.setdefault(rows, []).append(c)
    for rows, columns in groups.items():
        result[:, :, columns] = x[:, :, rows] @ y[:, rows, :][:, :, columns]
    return -result if what.minus else result


def matrix(view: View, array: Array, m: int, n: int) -> Array:
    """The m x n matrix of a view."""
    return array[:, view.offset + view.row * np.arange(m)[:, None] + view.column * np.arange(n)]
