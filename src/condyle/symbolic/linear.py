"""Products of matrices, and small linear systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.symbolic.arrays import FUNCTIONS, UNIVERSAL, Held, Symbols, Trace, numbers_of
from condyle.symbolic.elementwise import Entries, as_objects, numpy
from condyle.symbolic.reductions import Axis, source_of, total

EXPANDED = 256
"""Products of two entries, up to which a product of matrices becomes sums of products."""
SOLVED, PIVOTED = 64, 8
"""Rows of the largest matrix of symbols that is solved with, and of the largest whose determinant is taken."""


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
    return _system("np.linalg.solve", "solve", a, b)


def _inv(a: Held) -> Symbols:
    n = _check_square("np.linalg.inv", numbers_of(a, a.source))
    return _system("np.linalg.inv", "solve", a, np.eye(n))


def _det(a: Held) -> Symbols:
    matrix = numbers_of(a, a.source)
    _check_square("np.linalg.det", matrix, PIVOTED)
    return Symbols(a.source.linear("det", matrix), a.source)


def _cholesky(a: Held) -> Symbols:
    matrix = numbers_of(a, a.source)
    _check_square("np.linalg.cholesky", matrix)
    return Symbols(a.source.linear("cholesky", matrix), a.source)


def solve_symmetric(S: Any, b: Any) -> Any:
    """Return x with S x = b, for symmetric positive definite S of up to 64 rows; NaN where S is not positive definite.

    S: (..., n, n); its lower triangle is read, and derivatives are by that. b: (n,), or (..., n, m). Symbols of a
    user's function have no leading dimensions. By Cholesky's factor: a third of the operations of `np.linalg.solve`,
    or less, since nothing is exchanged. Errors: ValueError for shapes that do not fit; UnsupportedError for more rows,
    and for symbols of a matrix that is positive definite in no state. Source: Golub, Van Loan 2013, section 4.2.
    """
    if isinstance(S, Held) or isinstance(b, Held):
        return _system("condyle.solve_symmetric", "solve_symmetric", S, b)
    matrix, right = np.asarray(S, np.float64), np.asarray(b, np.float64)
    is_vector, n = right.ndim == 1, matrix.shape[-1] if matrix.ndim else 0
    if matrix.ndim < 2 or matrix.shape[-2] != n or not right.ndim or right.shape[-1 if is_vector else -2] != n:
        raise ValueError(f"condyle.solve_symmetric: shapes {matrix.shape} and {right.shape} do not fit")
    whole = np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), -1, -2)
    definite: Any = np.vectorize(_is_definite, [bool], signature="(n,n)->()")(matrix)[..., None, None]
    solved = np.linalg.solve(np.where(definite, whole, np.eye(n)), right[:, None] if is_vector else right)
    return np.where(definite, solved, np.nan)[..., 0] if is_vector else np.where(definite, solved, np.nan)


def _is_definite(S: Any) -> bool:
    try:
        return bool(numpy.isfinite(numpy.linalg.cholesky(S)).all())
    except np.linalg.LinAlgError:
        return False


def _system(name: str, kind: str, a: object, b: object) -> Symbols:
    """x of a x = b, as the trace solves it."""
    source = source_of(a, b)
    matrix, right = numbers_of(a, source), numbers_of(b, source)
    n = _check_square(name, matrix)
    if right.ndim not in (1, 2) or len(right) != n:
        raise ValueError(f"{name}: shapes {matrix.shape} and {right.shape} do not fit")
    if _is_constant(matrix):
        solve: Callable[..., Any] = np.linalg.solve if kind == "solve" else solve_symmetric
        solved = times(as_objects(solve(matrix.astype(np.float64), np.eye(n))), right.reshape(n, -1), source)
    else:
        solved = source.linear(kind, matrix, right.reshape(n, -1))
    return Symbols(solved.reshape(right.shape), source)


def _check_square(name: str, matrix: Entries, most: int = SOLVED) -> int:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name}: shape {matrix.shape}; give one square matrix")
    n = len(matrix)
    if n > most and not _is_constant(matrix):
        raise UnsupportedError(
            f"{name}: a matrix of {n} rows; {most} are the most. With the mass matrix use at.forward_dynamics(tau) or "
            "at.mass_matrix_inverse(); solve blocks of larger systems"
        )
    return n


def _is_constant(matrix: Entries) -> bool:
    return all(isinstance(x, float) for x in matrix.flat)


UNIVERSAL[np.matmul] = _matmul
FUNCTIONS.update(
    {
        np.dot: _dot,
        np.vdot: _vdot,
        np.einsum: _einsum,
        np.linalg.norm: _norm,
        np.linalg.solve: _solve,
        np.linalg.cholesky: _cholesky,
        np.linalg.inv: _inv,
        np.linalg.det: _det,
    }
)
