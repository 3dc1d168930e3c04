"""Where the matrices of a Program and its products lie: behind the Program's own slots, row after row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from condyle.backends.common.chunks import Lowered
from condyle.ir.sweep import Multiplied, Product


class Copy(NamedTuple):
    """An array of the head: the slot of each entry, where they go, and which are read; empty: all."""

    slots: tuple[int, ...]
    base: int
    read: frozenset[int]


@dataclass(frozen=True)
class Matrices:
    """bases: the first slot of each matrix by name. tables: the slot of every entry of each output.

    size: slots in all.
    """

    bases: dict[str, int]
    copies: tuple[Copy, ...]
    tables: tuple[tuple[int, ...], ...]
    size: int


def matrices(code: Multiplied, low: Lowered, size: int) -> Matrices:
    """Places from slot `size` on; the head's arrays are copied, as equal entries share a slot there.

    A matrix on the right that no later product reads gives its place to a later result, so that all stays near.
    """
    bases = {array.name: base for array, base in zip(code.inputs, low.bases, strict=True)}
    of_head = {array.name: table for array, table in zip(code.head.arrays, low.tables, strict=True)}
    answers, results = {array.name for array in code.arrays}, {product.result for product in code.products}
    copies: list[Copy] = []
    for product in code.products:
        for name, read in ((product.left, frozenset[int]()), (product.right, _entries(product))):
            if name not in bases and name not in results:
                bases[name] = size
                copies.append(Copy(of_head[name], size, read))
                size += product.size
    free: list[int] = []
    for k, product in enumerate(code.products):
        if not free:
            free, size = [size], size + product.size
        bases[product.result] = free.pop()
        if product.right not in {other.right for other in code.products[k + 1 :]} | answers:
            free.append(bases[product.right])
    tables = tuple(
        tuple(range(bases[array.name], bases[array.name] + array.size))
        if array.name in results
        else of_head[array.name]
        for array in code.arrays
    )
    return Matrices(bases, tuple(copies), tables, size)


def _entries(product: Product) -> frozenset[int]:
    """Entries of `right` that are read."""
    n = len(product.rows)
    return frozenset(row * n + c for c, rows in enumerate(product.rows) for row in rows)
