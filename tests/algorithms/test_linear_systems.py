"""Linear systems on batches of numbers, against NumPy: every size that users' functions may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.algorithms.linear_systems import Cholesky, Eliminated, Panel, scales
from condyle.errors import UnsupportedError
from condyle.scalar import Scalar, number

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(40)


def scalars(array: np.ndarray) -> list[Any]:
    """A batch (N, n, ...) as entries, each a batch (N)."""
    return [scalars(x) if x.ndim > 1 else number(x) for x in np.moveaxis(array, 1, 0)]


def together(entries: list[Scalar]) -> np.ndarray:
    return np.stack(np.broadcast_arrays(*entries), 1)  # pyright: ignore[reportArgumentType]


def backward_error(A: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    """The largest change of A, relative to its size, of whose system x is the solution."""
    rest = np.linalg.norm(np.einsum("kij,kj->ki", A, x) - b, axis=1)
    sizes = np.linalg.norm(A, axis=(1, 2)) * np.linalg.norm(x, axis=1) + np.linalg.norm(b, axis=1)
    return float((rest / sizes).max())


@pytest.mark.slow
def test_symmetric_systems_of_every_size() -> None:
    """Backward stable: 10 n roundings."""
    for n in range(1, 65):
        half, b = RNG.normal(size=(3, n, n)), RNG.normal(size=(3, n))
        S = (half @ half.swapaxes(1, 2) + 1e-3 * np.eye(n)) * np.array([1e-8, 1.0, 1e8])[:, None, None]
        factor = Cholesky(scalars(S + np.triu(half, 1)))  # above the diagonal nothing is read
        assert backward_error(S, together(factor.solve(scalars(b))), b) < 10 * n * EPS
        for i, row in enumerate(np.linalg.cholesky(S).transpose(1, 0, 2)):
            assert np.allclose(together(factor.L[i]), row, rtol=1e-9, atol=1e-9 * np.abs(row).max())


def test_elimination_of_every_size() -> None:
    """Of both the matrix and its transpose; the growth with row pivots of random matrices is about n^(2/3)."""
    for n in range(1, 25):
        A, b = RNG.normal(size=(6, n, n)), RNG.normal(size=(6, n))
        A *= np.logspace(-8, 8, 6)[:, None, None]
        if n > 1:
            A[:3, 0, 0] = 0.0  # the first pivot cannot stay
        made = Eliminated(scalars(A))
        assert backward_error(A, together(made.solve(scalars(b))), b) < 100 * n * EPS
        assert backward_error(A.swapaxes(1, 2), together(made.solve_transposed(scalars(b))), b) < 100 * n * EPS
        assert np.allclose(made.determinant, np.linalg.det(A), rtol=1e-9)  # pyright: ignore[reportArgumentType]


def test_a_panel_is_an_orthogonal_factor_and_a_triangle() -> None:
    for m, n in ((1, 1), (8, 8), (20, 8), (33, 5)):
        A = RNG.normal(size=(4, m, n))
        panel = Panel(scalars(A.swapaxes(1, 2)))
        R, V = (np.stack([together(column) for column in columns], 2) for columns in (panel.columns, panel.V))
        assert not np.tril(R, -1).any()
        for backwards, start, end in ((False, A, R), (True, R, A)):
            products = np.einsum("kij,kil->kjl", V, start)
            weights = [panel.weights(scalars(products[:, :, j]), backwards) for j in range(n)]
            turned = start - V @ np.stack([together(column) for column in weights], 2)
            assert np.abs(turned - end).max() < 100 * EPS * m


def test_singular_states_spoil_no_other() -> None:
    A, b = RNG.normal(size=(5, 6, 6)), RNG.normal(size=(5, 6))
    A[2], A[3, 4], S = 0.0, 0.0, A @ A.swapaxes(1, 2)
    S[1, 5, 5] = -1.0
    with np.errstate(all="ignore"):
        x, y = together(Eliminated(scalars(A)).solve(scalars(b))), together(Cholesky(scalars(S)).solve(scalars(b)))
    assert np.isfinite(x).all(1).tolist() == [True, True, False, False, True]
    assert np.allclose(x[[0, 1, 4]], np.linalg.solve(A[[0, 1, 4]], b[[0, 1, 4], :, None])[..., 0])
    assert np.isfinite(y).all(1).tolist() == [True, False, True, True, True] and np.isnan(y[1]).all()


def test_known_zeros_cost_nothing() -> None:
    """A chain: its factor has as few entries, and as few numbers are taken away."""
    S = [[number(float(2 * (i == j) - (abs(i - j) == 1))) for j in range(6)] for i in range(6)]
    factor = Cholesky(S)
    assert all(factor.L[i][j] == 0.0 for i in range(6) for j in range(6) if not i - 1 <= j <= i)
    assert np.allclose(factor.solve([number(1.0)] * 6), np.linalg.solve(np.array(S, float), np.ones(6)))  # pyright: ignore


@pytest.mark.parametrize("make", [lambda A: Eliminated(A).solve([1.0] * 3), Panel, scales, Cholesky])
def test_what_is_singular_in_every_state_is_said(make: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"singular in every state|positive definite in no state"):
        make([[0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 3.0, 4.0]])


def test_known_numbers_are_compared_at_once() -> None:
    """Rows are exchanged where the entry below is larger, and nothing is chosen later."""
    assert Eliminated([[1.0, 2.0], [1.0, 3.0]]).steps == [(0, 0, 1, 1.0)]
    assert Eliminated([[2.0, 2.0], [1.0, 3.0]]).steps == [(0, 0, 1, 0.5)]
    exchanged = Eliminated([[-1.0, 2.0], [2.0, 4.0]])
    assert exchanged.steps == [(1, 0, 1, -1.0), (0, 0, 1, -0.5)] and exchanged.U[0] == [2.0, 4.0]
    assert exchanged.determinant == -8.0
    for n in range(1, 7):
        A, b = np.random.default_rng(n).integers(-2, 3, (n, n)) + 0.1 * np.eye(n), np.arange(1.0, n + 1.0)
        made = Eliminated(A.tolist())
        np.testing.assert_allclose(np.array(made.solve(b.tolist())), np.linalg.solve(A, b), rtol=1e-9)
        np.testing.assert_allclose(np.array(made.solve_transposed(b.tolist())), np.linalg.solve(A.T, b), rtol=1e-9)
        assert made.determinant == pytest.approx(np.linalg.det(A))


def test_the_least_pivot_of_a_factor() -> None:
    """Pivots are at least a part of the diagonal's entry; without that, what is not positive is not answered."""
    S = [[4.0, 2.0], [2.0, 1.0 + 1e-9]]
    assert Cholesky(S, 1e-3).pivots == pytest.approx([4.0, 1e-3]) and Cholesky(S).pivots[1] == pytest.approx(1e-9)
    with pytest.raises(UnsupportedError, match="positive definite in no state: pivot 1 is 0; add a small"):
        Cholesky([[4.0, 2.0], [2.0, 1.0]])


def test_rows_are_scaled_by_the_sum_of_their_sizes() -> None:
    assert scales([[1.0, -3.0], [0.0, 0.5]]) == [0.25, 2.0]
