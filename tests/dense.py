"""Products of matrices of symbols: large ones are operations of their own, small ones straight-line code.

`matmul` takes arrays of symbols and numbers as `@` takes arrays of numbers. Symbols of a `SegmentGraph` record products
that are large; its `code` is a Program where there were none, else segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array

LEAST = 1024
"""Products of two entries from which on a product of matrices is an operation: see docs/decisions/0045."""

Scalars: TypeAlias = "NDArray[np.object_]"
"""Symbols and numbers."""

Entry: TypeAlias = "Expr | float"


@dataclass(frozen=True)
class Recorded:
    """A product left right whose result is input number `number` of whatever reads it."""

    left: Scalars
    right: Scalars
    number: int


class SegmentGraph(Graph):
    """The nodes of one trace, with the large products that were met; least: see LEAST."""

    def __init__(self, inputs: Sequence[Array], least: int = LEAST) -> None:
        super().__init__()
        self.inputs, self.least = tuple(inputs), least
        self.products: list[Recorded] = []

    def symbols(self) -> Mapping[str, Scalars]:
        """An array of symbols for every input, by name."""
        return {array.name: self._leaves(k, array.shape) for k, array in enumerate(self.inputs)}

    def product(self, left: Scalars, right: Scalars) -> Scalars:
        """The m x n result of a recorded product; entries without terms are zero."""
        number = len(self.inputs) + len(self.products)
        self.products.append(Recorded(left, right, number))
        shape = len(left), right.shape[1]
        return np.where(_terms(left, right) > 0, self._leaves(number, shape), 0.0)

    def _leaves(self, number: int, shape: tuple[int, ...]) -> Scalars:
        leaves = np.empty(shape, dtype=object)
        leaves.ravel()[:] = [self.input(number, k) for k in range(leaves.size)]
        return leaves


def matmul(left: ArrayLike, right: ArrayLike) -> Scalars:
    """left @ right of vectors and matrices of symbols and numbers; an array of them, or one of no dimensions.

    ValueError for shapes that do not fit, and for arrays of no or more than two dimensions.
    """
    x, y = (cast(Scalars, np.asarray(array, dtype=object)) for array in (left, right))
    if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit: vectors or matrices, (.., k) and (k, ..)")
    product = _product(x if x.ndim == 2 else x[None, :], y if y.ndim == 2 else y[:, None])
    return np.reshape(product, (*x.shape[:-1], *y.shape[1:]))


def entries(array: Scalars) -> list[Entry]:
    """All entries, row major."""
    return cast("list[Entry]", array.ravel().tolist())


def nonzero(array: Scalars) -> NDArray[np.bool_]:
    """Which entries can differ from zero."""
    return np.reshape(np.array([isinstance(x, Expr) or x != 0.0 for x in entries(array)], np.bool_), array.shape)


def _product(x: Scalars, y: Scalars) -> Scalars:
    """Numbers stand on the left of products that are recorded: x y = (y' x')'."""
    graph = next((entry.graph for array in (x, y) for entry in entries(array) if isinstance(entry, Expr)), None)
    if not isinstance(graph, SegmentGraph) or _terms(x, y).sum() < graph.least:
        return _straight(x, y)
    if not any(isinstance(entry, Expr) for entry in entries(y)):
        return np.transpose(graph.product(np.transpose(y), np.transpose(x)))
    return graph.product(x, y)


def _terms(x: Scalars, y: Scalars) -> NDArray[np.int64]:
    """For each entry of the product the terms that can differ from zero."""
    return nonzero(x).astype(np.int64) @ nonzero(y).astype(np.int64)


def _straight(x: Scalars, y: Scalars) -> Scalars:
    result = np.empty((len(x), y.shape[1]), dtype=object)
    rows, columns = [entries(row) for row in x], [entries(column) for column in np.transpose(y)]
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            total: Entry = 0.0
            for a, b in zip(row, column, strict=True):
                total = total + a * b
            result[i, j] = total
    return result
