"""Where the matrices of a Program and its products lie: behind the Program's own slots, row after row."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.backends.common.chunks import Lowered
from condyle.ir.sweep import Multiplied


@dataclass(frozen=True)
class Matrices:
    """bases: the first slot of each matrix by name. copies: (slot of each entry, first slot) of arrays of the head.

    tables: the slot of every entry of each output. size: slots in all.
    """

    bases: dict[str, int]
    copies: tuple[tuple[tuple[int, ...], int], ...]
    tables: tuple[tuple[int, ...], ...]
    size: int


def matrices(code: Multiplied, low: Lowered, size: int) -> Matrices:
    """Places from slot `size` on; the head's arrays are copied, as equal entries share a slot there."""
    bases = {array.name: base for array, base in zip(code.inputs, low.bases, strict=True)}
    of_head = {array.name: table for array, table in zip(code.head.arrays, low.tables, strict=True)}
    results = {product.result for product in code.products}
    used = [name for product in code.products for name in (product.left, product.right, product.result)]
    copies: list[tuple[tuple[int, ...], int]] = []
    for name in dict.fromkeys(name for name in used if name not in bases):
        bases[name] = size
        if name not in results:
            copies.append((of_head[name], size))
        size += len(code.products[0].rows) ** 2
    tables = tuple(
        tuple(range(bases[array.name], bases[array.name] + array.size))
        if array.name in results
        else of_head[array.name]
        for array in code.arrays
    )
    return Matrices(bases, tuple(copies), tables, size)
