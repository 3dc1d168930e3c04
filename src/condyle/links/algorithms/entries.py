"""Matrices of records by NumPy: for all pairs of a degree of freedom and one of an ancestor or of the same joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.values import flat
from condyle.links.algorithms.arrays import ArrayLinks
from condyle.links.algorithms.derivatives import spans
from condyle.links.algorithms.phases import PairRule
from condyle.links.algorithms.rows import Array, Index, array, taken
from condyle.model.tree import Tree
from condyle.scalar import Scalar


def pairs(tree: Tree) -> tuple[Index, Index, NDArray[np.bool_]]:
    """(rows, columns, same): all pairs where the column's joint is an ancestor of the row's, or the same joint."""
    table = np.array(spans(tree), np.int64)
    first, last = table[:, 0], table[:, 1]
    row, column = np.nonzero((first <= first[:, None]) & (first[:, None] <= last))
    return row, column, first[row] == first[column]


def mass_entries(links: ArrayLinks, rule: PairRule, records: object) -> Sequence[Array]:
    """A symmetric matrix, (nv, nv, states)."""
    row, column, own = pairs(links.tree)
    kept = ~own | (column <= row)  # one triangle serves both
    row, column = row[kept], column[kept]
    (value,) = rule.entries(taken(records, column), taken(records, row))
    result = _matrix(links, value)
    result[row, column] = result[column, row] = array(value)[:, 0]
    diagonal = np.arange(links.tree.nv)
    result[diagonal, diagonal] += array(flat(records)[-1])[:, 0]
    return (result,)


def entries(links: ArrayLinks, rule: PairRule, records: object) -> Sequence[Array]:
    """Matrices, each (nv, nv, states)."""
    row, column, own = pairs(links.tree)
    values = rule.entries(taken(records, column), taken(records, row))
    result = [_matrix(links, values[0]) for _ in range(rule.matrices)]
    for k, value in enumerate(values):
        part, matrix = array(value)[:, 0], result[k % rule.matrices]
        if k < rule.matrices:
            matrix[row, column] = part
        else:
            matrix[column[~own], row[~own]] = part[~own]
    return result


def _matrix(links: ArrayLinks, like: Scalar) -> Array:
    return np.zeros((links.tree.nv, links.tree.nv, array(like).shape[-1]), links.dtype)
