"""A joint-space matrix that holds only the entries which can differ from zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeGuard, TypeVar, cast

from condyle.scalar import Scalar, number


class SparseMatrix:
    """Rows of {column: value}. `add` sums with an entry that is stored, as for joints that share a coordinate."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[dict[int, Scalar]] = [{} for _ in range(size)]

    @staticmethod
    def from_entries(size: int, entries: Iterable[tuple[int, int, Scalar]]) -> SparseMatrix:
        """The matrix of these (row, column, value)."""
        made = SparseMatrix(size)
        for row, column, value in entries:
            made.put(row, column, value)
        return made

    def add(self, row: int, column: int, value: Scalar) -> None:
        entries = self._rows[row]
        entries[column] = entries[column] + value if column in entries else value

    def put(self, row: int, column: int, value: Scalar) -> None:
        self._rows[row][column] = value

    def get(self, row: int, column: int) -> Scalar | None:
        return self._rows[row].get(column)

    def row(self, row: int) -> dict[int, Scalar]:
        """{column: value}, columns ascending."""
        return dict(sorted(self._rows[row].items()))

    def __iter__(self) -> Iterator[tuple[int, int, Scalar]]:
        """(row, column, value) in order."""
        for row in range(self.size):
            for column, value in self.row(row).items():
                yield row, column, value

    def transposed(self) -> SparseMatrix:
        return SparseMatrix.from_entries(self.size, ((column, row, value) for row, column, value in self))

    def scaled(self, factor: float) -> SparseMatrix:
        return SparseMatrix.from_entries(self.size, ((row, column, value * factor) for row, column, value in self))

    def times(self, other: SparseMatrix) -> SparseMatrix:
        """self other."""
        result = SparseMatrix(self.size)
        for row in range(self.size):
            for k, x in self.row(row).items():
                for column, y in other.row(k).items():
                    result.add(row, column, x * y)
        return result

    def connected(self, values: Sequence[Scalar]) -> SparseMatrix:
        """The matrix with these entries, row by row, without those between blocks, which must be zero.

        Two coordinates are in one block if a chain of entries of this matrix connects them.
        """
        block = list(range(self.size))
        for i, j, _ in self:
            old, new = max(block[i], block[j]), min(block[i], block[j])
            block = [new if b == old else b for b in block]
        pairs = ((i, j) for i in range(self.size) for j in range(self.size) if block[i] == block[j])
        return SparseMatrix.from_entries(self.size, ((i, j, values[i * self.size + j]) for i, j in pairs))


def dense(answer: Sequence[Scalar] | SparseMatrix) -> list[Scalar]:
    """All entries of an algorithm's output, row by row."""
    if not isinstance(answer, SparseMatrix):
        return list(answer)
    values = [number(0.0)] * answer.size**2
    for row, column, value in answer:
        values[row * answer.size + column] = value
    return values


# Values of joints: scalars in nested tuples, named or plain.


T = TypeVar("T")


def plus(a: T, b: T) -> T:
    """The sum of two values of one structure."""
    if _is_tuple(a):
        return cast(T, _rebuilt(a, [plus(x, y) for x, y in zip(a, cast("tuple[object, ...]", b), strict=True)]))
    return cast(T, cast(Scalar, a) + cast(Scalar, b))


def flat(value: object) -> list[Scalar]:
    """The scalars of a value."""
    return [scalar for part in value for scalar in flat(part)] if _is_tuple(value) else [cast(Scalar, value)]


def like(shape: object, values: Iterator[Scalar]) -> object:
    """A value of this structure, filled with these scalars."""
    return _rebuilt(shape, [like(part, values) for part in shape]) if _is_tuple(shape) else next(values)


def refilled(shape: T, values: Iterable[Scalar]) -> T:
    """The same structure, filled with these scalars."""
    return cast(T, like(shape, iter(values)))


def numbers(value: object) -> tuple[float, ...]:
    """The scalars of a value whose scalars are floats."""
    return tuple(float(cast(float, x)) for x in flat(value))


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def _rebuilt(value: object, parts: list[object]) -> object:
    """A tuple of the same type with other parts."""
    return cast("Callable[..., object]", type(value))(*parts) if hasattr(value, "_fields") else tuple(parts)
