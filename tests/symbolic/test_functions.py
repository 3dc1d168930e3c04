"""NumPy's other functions and the methods of arrays: on symbols as on numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.symbolic import linear
from condyle.symbolic.arrays import FUNCTIONS, UNIVERSAL
from condyle.symbolic.reductions import pairwise, total
from tests.symbolic.traced import Source, check, traced

RNG = np.random.default_rng(5)
C = RNG.normal(size=(3, 3))
PLACES = [0.0, 0.5, 2.0]

# By name: what is done with a matrix A (3, 3) and vectors x, y (3,).
CASES: dict[str, Callable[..., Any]] = {
    "append": lambda A, x, y: np.append(x, [y[0], 1.0]),
    "array_split": lambda A, x, y: np.array_split(x, 2)[0] + np.array_split(x, 2)[1],
    "atleast_1d": lambda A, x, y: np.atleast_1d(x[0]),
    "atleast_2d": lambda A, x, y: np.atleast_2d(x),
    "atleast_3d": lambda A, x, y: np.atleast_3d(A),
    "block": lambda A, x, y: np.block([[A, x[:, None]], [y, 1.0]]),
    "broadcast_arrays": lambda A, x, y: np.broadcast_arrays(A, x)[1] + 0.0,
    "broadcast_to": lambda A, x, y: np.broadcast_to(x, (2, 3)),
    "column_stack": lambda A, x, y: np.column_stack([x, y]),
    "concatenate": lambda A, x, y: np.concatenate([A, x[None], C]),
    "convolve": lambda A, x, y: np.convolve(x, y),
    "copy": lambda A, x, y: np.copy(A),
    "cross": lambda A, x, y: np.cross(A, x) + np.cross(y, [1.0, 2.0, 3.0]),
    "cumprod": lambda A, x, y: np.cumprod(A, axis=1),
    "cumsum": lambda A, x, y: np.cumsum(A, axis=0),
    "delete": lambda A, x, y: np.delete(A, 1, axis=0),
    "diag": lambda A, x, y: np.diag(A) @ np.diag(x),
    "diagflat": lambda A, x, y: np.diagflat(x),
    "diagonal": lambda A, x, y: np.diagonal(A, 1),
    "diff": lambda A, x, y: np.diff(A, axis=0),
    "dsplit": lambda A, x, y: np.dsplit(A[None], 3)[1],
    "dstack": lambda A, x, y: np.dstack([A, C]),
    "ediff1d": lambda A, x, y: np.ediff1d(x),
    "expand_dims": lambda A, x, y: np.expand_dims(x, 1),
    "flip": lambda A, x, y: np.flip(A, 0),
    "fliplr": lambda A, x, y: np.fliplr(A),
    "flipud": lambda A, x, y: np.flipud(A),
    "hsplit": lambda A, x, y: np.hsplit(A, 3)[2],
    "hstack": lambda A, x, y: np.hstack([x, 0.5, y]),
    "inner": lambda A, x, y: np.inner(A, x),
    "insert": lambda A, x, y: np.insert(x, 1, 4.0),
    "kron": lambda A, x, y: np.kron(A, x),
    "meshgrid": lambda A, x, y: np.meshgrid(x, y)[1],
    "moveaxis": lambda A, x, y: np.moveaxis(A[None], 0, 2),
    "outer": lambda A, x, y: np.outer(x, y) + np.outer([1.0, 2.0, 3.0], y),
    "polyval": lambda A, x, y: np.polyval(x, y) + np.polyval([1.0, 2.0, 0.5], x),
    "ravel": lambda A, x, y: np.ravel(A),
    "repeat": lambda A, x, y: np.repeat(x, 2),
    "reshape": lambda A, x, y: np.reshape(A, (9, 1)),
    "resize": lambda A, x, y: np.resize(x, (2, 2)),
    "roll": lambda A, x, y: np.roll(x, 1),
    "rollaxis": lambda A, x, y: np.rollaxis(A, 1),
    "rot90": lambda A, x, y: np.rot90(A),
    "split": lambda A, x, y: np.split(x, 3)[1],
    "squeeze": lambda A, x, y: np.squeeze(A[:1]),
    "stack": lambda A, x, y: np.stack([x, y], axis=1),
    "swapaxes": lambda A, x, y: np.swapaxes(A, 0, 1),
    "take": lambda A, x, y: np.take(A, [2, 0], axis=1),
    "take_along_axis": lambda A, x, y: np.take_along_axis(A, np.array([[0], [2], [1]]), 1),
    "tensordot": lambda A, x, y: np.tensordot(A, C, 2),
    "tile": lambda A, x, y: np.tile(x, 2),
    "trace": lambda A, x, y: np.trace(A),
    "transpose": lambda A, x, y: np.transpose(A),
    "tril": lambda A, x, y: np.tril(A),
    "triu": lambda A, x, y: np.triu(A, 1),
    "vsplit": lambda A, x, y: np.vsplit(A, 3)[0],
    "vstack": lambda A, x, y: np.vstack([A, y]),
    "shape": lambda A, x, y: x * np.shape(A)[0],
    "ndim": lambda A, x, y: x * np.ndim(A),
    "size": lambda A, x, y: x * np.size(A) + np.size(A, 1),
    "zeros_like": lambda A, x, y: np.zeros_like(A) + x,
    "empty_like": lambda A, x, y: np.ones(np.empty_like(x, shape=(2, 3)).shape),
    "ones_like": lambda A, x, y: np.ones_like(x, shape=(2, 3)),
    "full_like": lambda A, x, y: np.full_like(A, x[0]) + np.full_like(x, fill_value=2.0),
    "sum": lambda A, x, y: np.sum(A) + np.sum(A, axis=0) + np.sum(A, axis=(0, 1)) + np.sum(A, -1, keepdims=True),
    "prod": lambda A, x, y: np.prod(A, axis=0) + x.prod(),
    "mean": lambda A, x, y: np.mean(A, axis=1) + A.mean(),
    "var": lambda A, x, y: np.var(A, axis=0) + np.var(A, ddof=1),
    "std": lambda A, x, y: np.std(A, axis=1),
    "max": lambda A, x, y: np.max(A, axis=0) + A.max(),
    "min": lambda A, x, y: np.min(A, axis=0, keepdims=True) + A.min(),
    "any": lambda A, x, y: np.where(np.any(x < A, axis=1), x, y) + np.where((A > 2).any(), 1, 2),
    "all": lambda A, x, y: np.where(np.all(-x < A, axis=0), x, y) + np.where((A > -2).all(), 1, 2),
    "where": lambda A, x, y: np.where(A > 0, x, np.where(x < y, 1, [4.0, 5.0, 6.0]))
    + np.where([True, False, True], x, y),
    "select": lambda A, x, y: np.select([x > 1, x > 0, x > -1], [x, y, x * y], 7.0),
    "clip": lambda A, x, y: np.clip(x, -0.5, y) + x.clip(None, 1.0) + np.clip(A, 0.0, None),
    "interp": lambda A, x, y: np.interp(x, PLACES, [1.0, 3.0, 2.0]) + np.interp(A, PLACES, y)
    + np.interp(x, PLACES, y, left=-1.0, right=9.0),
    "dot": lambda A, x, y: np.dot(A, C).dot(x) + np.dot(2.0, y) + np.dot(x, y),
    "vdot": lambda A, x, y: np.vdot(A, C),
    "einsum": lambda A, x, y: np.einsum("ij,j->i", A, x) + np.einsum("ii", A) + np.einsum("i,ij,j", x, C, y)
    + np.einsum("ij->j", A) + np.einsum("ij,jk->ki", A, A)[0],
    "norm": lambda A, x, y: np.linalg.norm(x) + np.linalg.norm(A, axis=1) + np.linalg.norm(A) + np.linalg.norm(x, 1)
    + np.linalg.norm(x, np.inf) + np.linalg.norm(A, "fro"),
    "solve": lambda A, x, y: np.linalg.solve(A, x) + np.linalg.solve(A, C)[0] + np.linalg.solve(C, y),
    "cholesky": lambda A, x, y: np.linalg.cholesky(A @ A.T + 0.1 * np.eye(3)),
    "inv": lambda A, x, y: np.linalg.inv(A),
    "det": lambda A, x, y: np.linalg.det(A) + np.linalg.det(A[:2, :2]),
    "matmul": lambda A, x, y: A @ x + x @ A + x @ y + (A @ C)[0] + C @ y
    + (np.stack([A, C]) @ A)[1, 2] + np.matmul(A, A)[1],
    "vecdot": lambda A, x, y: np.vecdot(A, x),
}  # fmt: skip


def states() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 3, 3)), rng.normal(size=(8, 3)), rng.normal(size=(8, 3))


@pytest.mark.parametrize("name", CASES)
def test_a_function_is_numpys(name: str) -> None:
    if name == "vecdot" and not hasattr(np, name):
        pytest.skip("this NumPy has none")
    check(CASES[name], *states(), rtol=1e-10, atol=1e-11)


def test_every_function_has_a_case() -> None:
    aliases = {"amax": "max", "amin": "min"}
    names = {aliases.get(function.__name__, function.__name__) for function in (*FUNCTIONS, *UNIVERSAL)}
    assert names | {"vecdot"} == set(CASES)


METHODS: dict[str, Callable[..., Any]] = {
    "T": lambda A, x, y: A.T,
    "arrangement": lambda A, x, y: A.reshape(9).reshape((3, 3)).transpose().ravel().reshape(3, -1).flatten() * A.size,
    "copies": lambda A, x, y: A.copy().astype(np.float64) + A.astype(float),
    "entries": lambda A, x, y: x.item(1) + A.item(2, 1) + A[1, 2] + A[-1][0],
    "slices": lambda A, x, y: A[1:, ::2] + A[:2, [0, 2]] + A[[0, 2]][:, [1, 1]] + x[..., :2] + x[None, :2],
    "masks": lambda A, x, y: A[np.array([True, False, True])].sum(axis=0) + x[x.shape[0] - 1],
    "pairs": lambda A, x, y: A[[0, 1, 2], [2, 1, 0]],
    "names": lambda A, x, y: A.sum(axis=1) + A.mean() + A.dot(x) + A.trace() + A.diagonal() + A.swapaxes(0, 1)[0],
    "more": lambda A, x, y: (
        A.squeeze().cumsum(axis=0).take([0], axis=1) + A.repeat(1).sum() + A.std() + A.var() + A.prod()
    ),
    "iteration": lambda A, x, y: sum(row * k for k, row in enumerate(A)) + sum(x) + [*y][1] + len(A),
    "unpacking": lambda A, x, y: (lambda a, b, c: a * b + c)(*x),
    "written": lambda A, x, y: written(A, x, y),
}


def written(A: Any, x: Any, y: Any) -> Any:
    B = np.zeros_like(A)
    B[0], B[1, 1], B[2, :2] = x, y[0], 3.0
    view = B[1:]
    view[0, 0] = x[2]
    B += A
    B[0] *= y
    return B


@pytest.mark.parametrize("name", METHODS)
def test_methods_and_indexing_are_numpys(name: str) -> None:
    check(METHODS[name], *states(), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 6, 8])
def test_systems_are_solved_with_pivots(n: int) -> None:
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(20, n, n)), rng.normal(size=(20, n))
    A[:10, 0, 0] = 0.0  # the first pivot cannot stay
    check(np.linalg.solve, A, b, rtol=1e-9, atol=1e-9) if n > 1 else check(np.linalg.solve, A[10:], b[10:])


def test_zeros_that_are_known_are_no_pivots() -> None:
    def f(x: Any) -> Any:
        A = np.zeros_like(x, shape=(3, 3))
        A[0, 1], A[1, 2], A[2, 0] = x[0], x[1], x[2]
        return np.linalg.solve(A, x) + np.linalg.inv(A)[0] + np.linalg.det(A)

    check(f, np.random.default_rng(0).uniform(1.0, 2.0, (5, 3)))
    program, _ = traced(f, [(3,)])
    assert "select" not in {node[0] for node in program.nodes}
    with pytest.raises(UnsupportedError, match="singular in every state"):
        traced(lambda x: np.linalg.solve(np.outer(x, [1.0, 0.0]), x), [(2,)])


def test_a_sum_is_added_in_pairs() -> None:
    program, _ = traced(np.sum, [(64,)])
    depth: list[int] = []
    for node in program.nodes:
        depth.append(0 if node[0] == "input" else 1 + max(depth[int(k)] for k in node[1:]))
    assert max(depth) <= 10
    check(np.sum, np.random.default_rng(0).normal(size=(4, 203)), rtol=1e-12)


def test_a_large_product_is_offered_to_the_trace() -> None:
    class Keeps(Source):
        def __init__(self) -> None:
            super().__init__()
            self.offered: list[tuple[Any, Any]] = []

        def product(self, left: Any, right: Any) -> Any:
            self.offered.append((left, right))
            return np.full((left.shape[0], right.shape[1]), 7.0, object)

    source = Keeps()
    A, B, x = source.input((20, 20)), source.input((20, 4)), source.input((20,))
    assert (
        (A @ x).shape == (20,)
        and (x @ A).shape == (20,)
        and (C @ np.ones((3, 3)))[0, 0]
        and A.T.dot(B).shape == (20, 4)
    )
    assert float((A @ x)[3]) == 7.0
    assert [(left.shape, right.shape) for left, right in source.offered][:3] == [
        ((20, 20), (20, 1)),
        ((1, 20), (20, 20)),
        ((20, 20), (20, 4)),
    ]
    count = len(source.offered)
    A[:4, :4] @ x[:4] + x @ x
    assert len(source.offered) == count


def test_symmetric_systems_of_numbers() -> None:
    """Any leading dimensions; what is not positive definite is NaN and spoils no other."""
    rng = np.random.default_rng(0)
    half, b = rng.normal(size=(2, 3, 4, 4)), rng.normal(size=(2, 3, 4, 2))
    S = half @ half.swapaxes(-1, -2) + np.eye(4)
    S[1, 2] = -S[1, 2]
    x = condyle.solve_symmetric(np.tril(S), b)
    assert np.isnan(x[1, 2]).all()
    x[1, 2] = np.linalg.solve(S[1, 2], b[1, 2])
    np.testing.assert_allclose(S @ x, b, rtol=1e-12, atol=1e-12)
    assert condyle.solve_symmetric(S[0, 0], [1, 2, 3, 4]).shape == (4,)
    assert condyle.solve_symmetric(S[:0], b[:0]).shape == (0, 3, 4, 2)
    for wrong in ((S[0, 0], np.ones(3)), (np.ones(3), np.ones(3)), (np.ones((2, 3)), np.ones(3)), (S[0, 0], 1.0)):
        with pytest.raises(ValueError, match=r"condyle\.solve_symmetric: shapes .* do not fit"):
            condyle.solve_symmetric(*wrong)


def test_matrices_of_numbers_are_solved_before_there_is_a_state() -> None:
    half = np.random.default_rng(0).normal(size=(70, 70))
    S = half @ half.T + np.eye(70)
    x = np.random.default_rng(1).normal(size=(3, 70))
    check(lambda x: np.linalg.solve(half, x), x, rtol=1e-9, atol=1e-9)
    check(lambda x: condyle.solve_symmetric(S, x), x, rtol=1e-9, atol=1e-9)
    program, _ = traced(lambda x: np.linalg.solve(half, x), [(70,)])
    assert {node[0] for node in program.nodes} <= {"const", "input", "mul", "neg", "add", "sub"}


class Word(str):
    """Written as the order in which it was put together."""

    def __add__(self, other: object) -> Word:  # type: ignore[override]
        return Word(f"({self}{other})")

    def __radd__(self, other: object) -> Word:
        return self  # of the zero that a block begins with


@pytest.mark.parametrize(
    ("n", "blocks"),
    [(1, [1]), (8, [8]), (9, [8, 1]), (16, [8, 8]), (17, [8, [8, 1]]), (24, [[8, 8], 8]), (40, [[[8, 8], 8], [8, 8]])],
)
def test_blocks_of_eight_are_added_in_pairs(n: int, blocks: list[Any]) -> None:
    """In a block one after the other."""
    letters = iter(map(chr, range(200, 200 + n)))

    def written(part: Any) -> str:
        if isinstance(part, int):
            return reduce(lambda x, y: f"({x}{y})", [next(letters) for _ in range(part)])
        return "(" + "".join(map(written, part)) + ")"

    want = written(blocks[0] if len(blocks) == 1 else blocks)
    assert total([Word(chr(k)) for k in range(200, 200 + n)]) == want


def test_extremes_and_products_are_joined_in_halves() -> None:
    assert pairwise(lambda x, y: f"({x}{y})", list("abcde")) == "((ab)(c(de)))"
    assert total([]) == 0.0


def test_a_product_of_more_than_256_terms_is_offered() -> None:
    class Offered(Source):
        count = 0

        def product(self, left: Any, right: Any) -> None:
            self.count += 1

    source = Offered()
    A, row, column = source.input((16, 16)), source.input((257,)), source.input((16,))
    A @ column + row[:256] @ row[:256]
    assert source.count == 0
    assert (row @ row).shape == () and (source.input((17, 16)) @ column).shape == (17,)
    assert source.count == 2


def test_rows_of_the_largest_systems() -> None:
    entries = Source().input((65, 65)).entries
    assert linear._check_square("f", entries[:64, :64]) == 64 == linear.SOLVED
    assert linear._check_square("f", entries[:8, :8], linear.PIVOTED) == 8
    for n, most in ((65, linear.SOLVED), (9, linear.PIVOTED)):
        with pytest.raises(UnsupportedError, match=rf"f: a matrix of {n} rows; {most} are the most"):
            linear._check_square("f", entries[:n, :n], most)
    assert linear._check_square("f", np.eye(65).astype(object)) == 65  # of numbers any
    for shape in ((0, 0), (2, 3), (4,), (2, 2, 2)):
        with pytest.raises(ValueError, match="give one square matrix"):
            linear._check_square("f", np.empty(shape, object))


def test_products_of_more_dimensions_are_refused_by_dot() -> None:
    for f in (lambda x: np.dot(x, np.ones((2, 2, 2))), lambda x: np.dot(np.ones((2, 2, 2)), x)):
        with pytest.raises(UnsupportedError, match=r"np\.dot of arrays with more than two dimensions; use np\.einsum"):
            traced(f, [(2,)])


@pytest.mark.parametrize("ord", [0, 3, -np.inf, "nuc", "fro"])
def test_other_norms_of_vectors_are_refused(ord: Any) -> None:
    with pytest.raises(
        UnsupportedError, match=r"np.linalg.norm: ord=.*; allowed is 1, 2, inf of vectors, 'fro' of matrices"
    ):
        traced(lambda x: np.linalg.norm(x, ord), [(2,)])
    with pytest.raises(UnsupportedError, match=r"np.linalg.norm: ord=1;"):
        traced(lambda x: np.linalg.norm(x, 1), [(2, 2)])


def test_norms_along_axes() -> None:
    A = np.random.default_rng(0).normal(size=(4, 2, 3))
    check(lambda A: np.linalg.norm(A, axis=(0, 1)) + np.linalg.norm(A, "fro", (1, 0)), A)
    check(lambda A: np.linalg.norm(A, 2, axis=0, keepdims=True) + np.linalg.norm(A, np.inf, 0, True), A)


def test_arrays_are_appended_flat_or_along_an_axis() -> None:
    A = np.random.default_rng(0).normal(size=(4, 2, 3))
    check(lambda A: np.append(A, [1.0, 2.0]), A)
    check(lambda A: np.append(A, np.ones((2, 1)), 1), A)
    check(lambda A: np.append(A, A[:1], axis=0), A)
