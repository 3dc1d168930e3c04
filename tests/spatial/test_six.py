"""Vectors and matrices of six against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.spatial import six
from tests.accuracies import FEW_ROUNDINGS

rng = np.random.default_rng(6)
A, B = rng.uniform(-1, 1, (2, 6))
M, N = rng.uniform(-1, 1, (2, 6, 6))
S = M + M.T
UPPER = np.triu_indices(6)


def vector(x: np.ndarray) -> six.Six:
    return six.six(x.tolist())


def rows(x: np.ndarray) -> six.Rows:
    return six.six_rows(map(vector, x))


def same(got: object, want: np.ndarray) -> None:
    np.testing.assert_allclose(np.array(got, dtype=float), want, rtol=0, atol=4 * FEW_ROUNDINGS)


def test_vectors() -> None:
    same(six.add(vector(A), vector(B)), A + B)
    same(six.scale(2.5, vector(A)), 2.5 * A)
    same(six.minus_scaled(vector(A), 2.5, vector(B)), A - 2.5 * B)
    assert float(six.dot(vector(A), vector(B))) == pytest.approx(A @ B, abs=FEW_ROUNDINGS)


def test_matrices() -> None:
    same(six.times(rows(M), vector(A)), M @ A)
    same(six.transpose(rows(M)), M.T)
    same(six.product(rows(M), rows(N)), M @ N)


def test_symmetric_matrices_are_their_upper_triangles_row_by_row() -> None:
    same([S[UPPER][six.upper_index(i, j)] for i, j in zip(*UPPER, strict=True)], S[UPPER])
    same(six.congruence(rows(M), rows(S)), (M.T @ S @ M)[UPPER])
    same(six.add_outer(tuple(S[UPPER].tolist()), 2.5, vector(A)), (S + 2.5 * np.outer(A, A))[UPPER])


def test_pairs_are_halves() -> None:
    assert six.halves(vector(A)) == (tuple(A[:3].tolist()), tuple(A[3:].tolist()))
    assert six.joined(six.halves(vector(A))) == vector(A)


def test_constants() -> None:
    same(six.ZERO, np.zeros(6))
    same(six.ZERO_UPPER, np.zeros(21))
    same(six.IDENTITY_MATRIX, np.eye(6))
