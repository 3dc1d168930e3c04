"""Square matrices whose every entry is made from two records, all of them independently of each other."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.ir.program import Program


@dataclass(frozen=True)
class Pairs:
    """One function of records of `width` numbers, one for each row and column.

    lower, upper: banks "row" and "column" -> one number "0", "1", ... for each matrix; lower where the row is within
    the column's span, else upper where the column is within the row's; other entries are zero. spans: the first and the
    last number that belongs to a row, of which the first is its own. diagonal: an entry of records that the only
    matrix, which is symmetric then, has more on its diagonal, -1 for none.
    """

    name: str
    lower: Program
    upper: Program
    width: int
    matrices: int
    spans: tuple[tuple[int, int], ...]
    diagonal: int = -1
