"""Segments: straight-line Programs, dense matrix products and loops over time in order, with arrays between them.

The form for functions with large products and with iterations. They stay loops, while each instruction of straight-line
code would be fetched from memory and used once. Every array is written by one segment and read by later ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from condyle.ir.program import Array, Program


class View(NamedTuple):
    """A matrix in an array: entry (i, j) is entry offset + i row + j column of the array, counted row major."""

    array: str
    offset: int
    row: int
    column: int

    def entry(self, i: int, j: int) -> int:
        return self.offset + i * self.row + j * self.column


def whole(array: str, columns: int) -> View:
    """The view of a whole array as a matrix with this number of columns."""
    return View(array, 0, columns, 1)


@dataclass(frozen=True)
class Product:
    """result = left right, or - left right where `minus`; the result is a whole matrix.

    rows[c]: the rows of column c of `right` that can differ from zero, in ascending order. Others are not read.
    across[i]: the columns of row i of `left` that can differ from zero; the others may be read, and are zero.
    """

    left: View
    right: View
    result: str
    rows: tuple[tuple[int, ...], ...]
    across: tuple[tuple[int, ...], ...]
    minus: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return len(self.across), len(self.rows)

    @property
    def array(self) -> Array:
        """The array of the result."""
        return Array(self.result, self.shape)

    @property
    def inner(self) -> int:
        """Columns of `left` and rows of `right` that are read, up to the last one."""
        return max((rows[-1] + 1 for rows in self.rows if rows), default=0)

    def terms(self) -> int:
        """Number of multiplications of two entries."""
        across = [frozenset(columns) for columns in self.across]
        return sum(len(columns.intersection(rows)) for rows, n in Counter(self.rows).items() for columns in across * n)

    def entries_of_right(self) -> frozenset[int]:
        """The entries of the right array that are read."""
        return frozenset(self.right.entry(k, c) for c, rows in enumerate(self.rows) for k in rows)

    def blocks(self, at_once: Mapping[int, int]) -> list[Block]:
        """Blocks that cover the result: columns with the same rows, and at_once[number of columns] lines at a time.

        Where the number of lines is no multiple, some lines are in two blocks; one line at a time if there are fewer.
        """
        columns: dict[tuple[int, ...], list[int]] = {}
        for c, rows in enumerate(self.rows):
            columns.setdefault(rows, []).append(c)
        most = max(at_once)
        return [
            Block(lines, tuple(of[k : k + most]), terms)
            for rows, of in columns.items()
            for k in range(0, len(of), most)
            for lines, terms in self._lines(rows, at_once[len(of[k : k + most])])
        ]

    def _lines(self, rows: tuple[int, ...], step: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(first lines, terms): groups of `step` adjacent lines, those with the same terms together."""
        found: dict[tuple[int, ...], list[int]] = {}
        n = len(self.across)
        step = step if step <= n else 1
        for first in range(0, n, step):
            first = min(first, n - step)
            read = {k for i in range(first, first + step) for k in self.across[i]}
            found.setdefault(tuple(k for k in rows if k in read), []).append(first)
        return [(tuple(lines), terms) for terms, lines in found.items()]


class Block(NamedTuple):
    """Entries of a product that sum the same terms.

    first: the first line of each group of lines. columns: columns of the result. terms: k of left[line, k].
    """

    first: tuple[int, ...]
    columns: tuple[int, ...]
    terms: tuple[int, ...]


class Constant(NamedTuple):
    """An array of numbers that are the same for every state: a table in memory, not immediates in code."""

    name: str
    values: tuple[float, ...]


class Iteration(NamedTuple):
    """A Program applied to its own outputs, in place.

    body: its output arrays are the answers; each is carried into the input of its number. Inputs behind these are
    arrays of earlier segments, by their names. starts: names of arrays of earlier segments that carried inputs are at
    the first time. most: how many times at most. until: number of an output of one entry, -1 for none: the loop ends
    where it is above 0 in all states that run together; the body keeps the answers of a state where it is.
    """

    body: Program
    starts: tuple[str, ...]
    most: int
    until: int = -1

    @property
    def carried(self) -> tuple[Array, ...]:
        """The inputs of the body that are its outputs of the time before."""
        return self.body.inputs[: len(self.starts)]

    @property
    def held(self) -> tuple[Array, ...]:
        """The other ones."""
        return self.body.inputs[len(self.starts) :]


Segment: TypeAlias = Program | Product | Iteration


@dataclass(frozen=True)
class Segmented:
    """One function as segments in order.

    A Program reads inputs of the function and arrays of earlier segments, by their names, and writes arrays; so does an
    iteration. The left operand of a product may also be a constant. The function's outputs are arrays that segments
    write.

    held: inputs that usually have one value for all states of a call, such as weights. With one value, products read
    the caller's array in place; a value for each state gives the same results. In exported code they are one row.
    """

    name: str
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]
    constants: tuple[Constant, ...]
    segments: tuple[Segment, ...]
    held: frozenset[str] = frozenset()

    @property
    def programs(self) -> Iterator[Program]:
        return (segment for segment in self.segments if isinstance(segment, Program))

    @property
    def iterations(self) -> Iterator[Iteration]:
        return (segment for segment in self.segments if isinstance(segment, Iteration))

    @property
    def products(self) -> Iterator[Product]:
        return (segment for segment in self.segments if isinstance(segment, Product))

    def rewritten(self, rewrite: Callable[[Program], Program]) -> Segmented:
        """The same code with every Program rewritten."""
        return replace(self, segments=tuple(_rewritten(part, rewrite) for part in self.segments))


def _rewritten(segment: Segment, rewrite: Callable[[Program], Program]) -> Segment:
    if isinstance(segment, Iteration):
        return segment._replace(body=rewrite(segment.body))
    return rewrite(segment) if isinstance(segment, Program) else segment


def gives(segment: Segment) -> tuple[Array, ...]:
    """The arrays that a segment writes."""
    if isinstance(segment, Iteration):
        return segment.body.arrays
    return segment.arrays if isinstance(segment, Program) else (segment.array,)


def reads(segment: Segment) -> tuple[str, ...]:
    """The names of the arrays that a segment reads."""
    if isinstance(segment, Program):
        return tuple(array.name for array in segment.inputs)
    if isinstance(segment, Iteration):
        return (*segment.starts, *(array.name for array in segment.held))
    return segment.left.array, segment.right.array


def verify_segments(code: Segmented) -> Segmented:
    """The code itself; AssertionError (a bug of ours) where a segment breaks a rule. Programs: see `verify`."""
    sizes = {array.name: array.size for array in code.inputs}
    constants = {constant.name: len(constant.values) for constant in code.constants}
    assert code.held <= set(sizes), f"{code.name}: what is held is an input"
    for segment in code.segments:
        if isinstance(segment, Product):
            _verify_product(segment, sizes | constants, sizes)
        elif isinstance(segment, Iteration):
            _verify_iteration(segment, sizes)
        else:
            assert all(sizes.get(array.name) == array.size for array in segment.inputs), f"{code.name}: {segment.name}"
        for array in gives(segment):
            assert array.name not in sizes and array.name not in constants, f"{code.name}: {array.name} is given twice"
            sizes[array.name] = array.size
    assert all(sizes.get(array.name) == array.size for array in code.arrays), f"{code.name}: an answer is missing"
    return code


def _verify_iteration(iteration: Iteration, sizes: Mapping[str, int]) -> None:
    """Checks that what is carried fits, and that what is read is there."""
    body, until = iteration.body, iteration.until
    assert iteration.most >= 1 and len(iteration.starts) == len(body.arrays), body.name
    for start, before, after in zip(iteration.starts, iteration.carried, body.arrays, strict=True):
        assert sizes.get(start) == before.size == after.size, f"{body.name}: {before.name}"
    assert all(sizes.get(array.name) == array.size for array in iteration.held), body.name
    assert until < 0 or body.arrays[until].size == 1, f"{body.name}: until"


def _verify_product(product: Product, left: Mapping[str, int], right: Mapping[str, int]) -> None:
    """Checks that both views are inside their arrays."""
    m, n = product.shape
    assert m and n and product.inner, product.result
    for view, sizes, lines, columns in (
        (product.left, left, m, product.inner),
        (product.right, right, product.inner, n),
    ):
        assert min(view[1:]) >= 0, view
        assert view.entry(lines - 1, columns - 1) < sizes.get(view.array, 0), view
    ascending = all(list(kept) == sorted(set(kept)) for kept in chain(product.rows, product.across))
    assert ascending and min(chain(*product.rows), default=0) >= 0, product.result
