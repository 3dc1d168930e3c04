"""Products of matrices, and small linear systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.symbolic.arrays import FUNCTIONS, UNIVERSAL, Held, Symbols, Trace, numbers_of
from condyle.symbolic.comparisons import Entries, numpy
from condyle.symbolic.reductions import Axis, source_of, total

EXPANDED = 256
"""Products of two entries, up to which a product of matrices becomes sums of products."""
SOLVED = 8
"""Rows of the largest matrix of symbols that is solved with."""


def _matmul(left: object, right: object) -> Symbols:
    source = source_of(left, right)
    a, b = numbers_of(left, source), numbers_of(right, source)
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(f"np.matmul: shapes {a.shape} and {b.shape} do not fit{_missed(a, b)}")
    rows, columns = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    try:
        lead = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    except ValueError as error:
        raise ValueError(
            f"np.matmul: shapes {a.shape} and {b.shape}: the leading dimensions do not broadcast"
        ) from error
    rows = np.broadcast_to(rows, lead + rows.shape[-2:])
    columns = np.broadcast_to(columns, lead + columns.shape[-2:])
    made: Entries = np.empty((*lead, rows.shape[-2], columns.shape[-1]), object)
    for index in numpy.ndindex(lead):
        made[index] = times(rows[index], columns[index], source)
    made = made[..., 0, :] if a.ndim == 1 else made
    return Symbols(made[..., 0] if b.ndim == 1 else made, source)


def _missed(a: Entries, b: Entries) -> str:
    """Why two shapes do not fit."""
    if not a.ndim or not b.ndim:
        return ": a number has no rows; multiply by it with *"
    row = -2 if b.ndim > 1 else 0
    return f": rows of the first have {a.shape[-1]} entries, columns of the second {b.shape[row]}"


def times(left: Entries, right: Entries, source: Trace) -> Entries:
    """A product of two matrices: sums of products, or one operation where it is large."""
    if left.shape[0] * right.size > EXPANDED:
        kept = source.product(left, right)
        if kept is not None:
            return kept
    return expanded(left, right)


def expanded(left: Entries, right: Entries) -> Entries:
    """A product of two matrices as sums of products."""
    made: Entries = np.empty((left.shape[0], right.shape[1]), object)
    made[...] = scalar.matrix_product(left.tolist(), right.T.tolist())
    return made


def _dot(a: Any, b: Any, out: None = None) -> object:
    """Of vectors and matrices; a number times an array."""
    if out is not None:
        raise UnsupportedError("np.dot of symbols takes no out=: use its result")
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return numpy.multiply(a, b)
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise UnsupportedError("np.dot of arrays with more than two dimensions; use np.einsum or np.tensordot")
    return numpy.matmul(a, b)


def _vdot(a: Any, b: Any) -> object:
    return numpy.matmul(numpy.ravel(a), numpy.ravel(b))


def _einsum(subscripts: object, *operands: object, **options: object) -> Symbols:
    """Sums over the letters that the answer does not have."""
    if not isinstance(subscripts, str) or "." in subscripts:
        raise UnsupportedError("np.einsum of symbols: write every letter, such as 'ij,j->i'")
    if options.get("out") is not None:
        raise UnsupportedError("np.einsum of symbols takes no out=: use its result")
    source = source_of(*operands)
    arrays = [numbers_of(x, source) for x in operands]
    given, arrow, kept = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow:
        kept = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    lengths = _lengths(terms, arrays)
    if len(set(kept)) < len(kept):
        raise ValueError(f"np.einsum: the result {kept!r} has a letter twice; give each once")
    if unknown := [letter for letter in kept if letter not in lengths]:
        raise ValueError(f"np.einsum: the result has {unknown[0]!r}, which none of {given!r} has")
    summed = [c for c in lengths if c not in kept]
    made: Entries = np.empty([lengths[c] for c in kept], object)
    for index in numpy.ndindex(made.shape):
        at = dict(zip(kept, index, strict=True))
        values: list[Any] = []
        for more in product(*(range(lengths[c]) for c in summed)):
            at.update(zip(summed, more, strict=True))
            factors = [array[tuple(at[c] for c in term)] for array, term in zip(arrays, terms, strict=True)]
            value = factors[0]
            for factor in factors[1:]:
                value = value * factor
            values.append(value)
        made[index] = total(values)
    return Symbols(made, source)


def _lengths(terms: Sequence[str], arrays: Sequence[Entries]) -> dict[str, int]:
    """How long each letter is."""
    lengths: dict[str, int] = {}
    if len(terms) != len(arrays):
        raise ValueError(
            f"np.einsum: {','.join(terms)!r} is for {len(terms)} arrays, got {len(arrays)}; separate terms by commas"
        )
    for term, array in zip(terms, arrays, strict=True):
        if len(term) != array.ndim:
            raise ValueError(
                f"np.einsum: {term!r} has {len(term)} letters, its array has shape {array.shape}; give a letter for "
                "each dimension"
            )
        for letter, length in zip(term, array.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ValueError(
                    f"np.einsum: dimensions {letter!r} must have one length, got {lengths[letter]} and {length}"
                )
    return lengths


def _norm(x: Any, ord: object = None, axis: Axis = None, keepdims: bool = False) -> object:
    """Of vectors 1, 2 and infinity; of matrices Frobenius'."""
    matrix = bool((x.ndim == 2 and axis is None) or (isinstance(axis, tuple) and len(axis) == 2))
    if ord in ((None, "fro") if matrix else (None, 2)):
        return numpy.sqrt(numpy.sum(numpy.square(x), axis=axis, keepdims=keepdims))
    if not matrix and ord in (1, np.inf):
        of: Callable[..., object] = np.sum if ord == 1 else np.max
        return of(numpy.abs(x), axis=axis, keepdims=keepdims)
    raise UnsupportedError(f"np.linalg.norm: ord={ord!r}; allowed is 1, 2, inf of vectors, 'fro' of matrices")


def _solve(a: object, b: object) -> Symbols:
    source = source_of(a, b)
    matrix, right = numbers_of(a, source), numbers_of(b, source)
    n = _check_square("solve", matrix)
    if right.ndim not in (1, 2) or len(right) != n:
        raise ValueError(f"np.linalg.solve: shapes {matrix.shape} and {right.shape} do not fit")
    columns = right.reshape(n, -1)
    made: Entries = np.empty(columns.shape, object)
    made[:] = _solved(matrix.tolist(), columns.tolist())
    return Symbols(made.reshape(right.shape), source)


def _inv(a: Held) -> Symbols:
    matrix = numbers_of(a, a.source)
    n = _check_square("inv", matrix)
    made: Entries = np.empty((n, n), object)
    made[:] = _solved(matrix.tolist(), np.eye(n).tolist())
    return Symbols(made, a.source)


def _det(a: Held) -> Symbols:
    matrix = numbers_of(a, a.source)
    _check_square("det", matrix)
    rows: list[list[Any]] = matrix.tolist()
    value: Any = _eliminated(rows, len(rows))
    for k, row in enumerate(rows):
        value = value * row[k]
    return Symbols(value, a.source)


def _check_square(name: str, matrix: Entries) -> int:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"np.linalg.{name}: shape {matrix.shape}; give one square matrix")
    n = len(matrix)
    if n > SOLVED and not all(isinstance(x, float) for x in matrix.flat):
        raise UnsupportedError(
            f"np.linalg.{name}: a matrix of {n} rows; {SOLVED} are the most, since every step chooses a pivot. With "
            "the mass matrix use at.forward_dynamics(tau) or at.mass_matrix_inverse(); solve blocks of larger systems"
        )
    return n


def _solved(rows: list[list[Any]], right: list[list[Any]]) -> list[list[Any]]:
    """By elimination with row pivots, and backwards."""
    n = len(rows)
    both = [[*row, *more] for row, more in zip(rows, right, strict=True)]
    _eliminated(both, n)
    for k in reversed(range(n)):
        if isinstance(both[k][k], float) and both[k][k] == 0.0:
            raise UnsupportedError("np.linalg.solve, inv: the matrix is singular in every state")
        inverse = 1.0 / both[k][k]
        for c in range(n, len(both[k])):
            rest = total([both[k][j] * both[j][c] for j in range(k + 1, n)])
            both[k][c] = (both[k][c] - rest) * inverse
    return [row[n:] for row in both]


def _eliminated(rows: list[list[Any]], n: int) -> Any:
    """Makes the first n columns an upper triangle; the determinant's sign by exchanges of rows."""
    sign: Any = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            sign = _exchanged(rows, k, i, sign)
        if isinstance(rows[k][k], float) and rows[k][k] == 0.0:
            continue  # zeros below too
        inverse = 1.0 / rows[k][k]
        for i in range(k + 1, n):
            factor = rows[i][k] * inverse
            if not isinstance(factor, float) or factor != 0.0:
                rows[i][k + 1 :] = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
    return sign


def _exchanged(rows: list[list[Any]], k: int, i: int, sign: Any) -> Any:
    """Puts the row with the larger entry of column k into place k; the sign so far, changed where they change."""
    upper, lower = rows[k], rows[i]
    if isinstance(lower[k], float) and lower[k] == 0.0:
        return sign
    none = isinstance(upper[k], float) and upper[k] == 0.0
    ahead: Any = -1.0 if none else _magnitude(upper[k]) - _magnitude(lower[k])
    if isinstance(ahead, float):  # known in every state
        if ahead >= 0.0:
            return sign
        rows[k], rows[i] = lower, upper
        return -sign
    first = [scalar.select(ahead, x, y) for x, y in zip(upper[k:], lower[k:], strict=True)]
    second = [scalar.select(ahead, y, x) for x, y in zip(upper[k:], lower[k:], strict=True)]
    rows[k], rows[i] = [*upper[:k], *first], [*lower[:k], *second]
    return scalar.select(ahead, sign, -sign)


def _magnitude(x: Any) -> Any:
    return abs(x) if isinstance(x, float) else scalar.absolute(x)


UNIVERSAL[np.matmul] = _matmul
FUNCTIONS.update(
    {
        np.dot: _dot,
        np.vdot: _vdot,
        np.einsum: _einsum,
        np.linalg.norm: _norm,
        np.linalg.solve: _solve,
        np.linalg.inv: _inv,
        np.linalg.det: _det,
    }
)
