"""`matmul` of arrays of symbols and numbers, as `@` is of arrays of numbers."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from condyle.derivatives.products import Entries, ProductGraph, entries, multiplied, written_out
from condyle.ir.expr import Expr


def matmul(left: ArrayLike, right: ArrayLike) -> Entries:
    """left @ right of vectors and matrices of symbols and numbers; an array of them, or one of no dimensions.

    ValueError for shapes that do not fit, and for arrays of no or more than two dimensions.
    """
    x, y = (cast(Entries, np.asarray(array, dtype=object)) for array in (left, right))
    if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit: vectors or matrices, (.., k) and (k, ..)")
    rows, columns = x if x.ndim == 2 else x[None, :], y if y.ndim == 2 else y[:, None]
    graph = next((entry.graph for array in (x, y) for entry in entries(array) if isinstance(entry, Expr)), None)
    product = multiplied(graph, rows, columns) if isinstance(graph, ProductGraph) else written_out(rows, columns)
    return np.reshape(product, (*x.shape[:-1], *y.shape[1:]))
