"""The reference: an algorithm run on NumPy arrays, a batch at a time. Tests compare every target with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.specification import Function

Array = NDArray[np.floating]
Output: TypeAlias = "Sequence[Scalar] | SparseMatrix"
"""An output of a route on `Unrolled`: all entries of an array, row by row, or a joint-space matrix."""


def evaluate(tree: Tree, function: Function, route: str, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs, each flat (n, size), for inputs by name, each flat (n or 1, size), in the inputs' dtype."""
    columns = {name: [number(rows[:, k]) for k in range(rows.shape[1])] for name, rows in inputs.items()}
    n = max(len(rows) for rows in inputs.values())
    dtype = next(iter(inputs.values())).dtype
    with np.errstate(all="ignore"):
        outputs = function.routes[route].run(Unrolled(tree, columns))
    return [_dense(cast("Output", output), n, dtype) for output in outputs]


def _dense(output: Output, n: int, dtype: np.dtype[np.floating]) -> Array:
    if isinstance(output, SparseMatrix):
        result = np.zeros((n, output.size, output.size), dtype)
        for row, column, value in output:
            result[:, row, column] = cast(Array, value)
        return np.reshape(result, (n, -1))
    result = np.zeros((n, len(output)), dtype)
    for k, value in enumerate(output):
        result[:, k] = cast(Array, value)
    return result
