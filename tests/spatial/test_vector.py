"""Small vectors and spatial vectors against NumPy and against what defines them."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.spatial import twist
from condyle.spatial import vector as vec
from tests.accuracies import FEW_ROUNDINGS

rng = np.random.default_rng(0)
A, B, C = rng.uniform(-1, 1, (3, 3))
M = rng.uniform(-1, 1, (3, 3))
S = M + M.T
UPPER = tuple(S[np.triu_indices(3)].tolist())


def t(x: np.ndarray) -> tuple:
    return tuple(t(row) for row in x) if x.ndim > 1 else tuple(x.tolist())


def same(got: object, want: object) -> None:
    np.testing.assert_allclose(np.array(got, dtype=float), np.array(want, dtype=float), rtol=0, atol=FEW_ROUNDINGS)


def test_vectors() -> None:
    same(vec.add(t(A), t(B)), A + B)
    same(vec.sub(t(A), t(B)), A - B)
    same(vec.scale(2.5, t(A)), 2.5 * A)
    same(vec.dot(t(A), t(B)), A @ B)
    same(vec.cross(t(A), t(B)), np.cross(A, B))


def test_matrices() -> None:
    same(vec.times(t(M), t(A)), M @ A)
    same(vec.transposed_times(t(M), t(A)), M.T @ A)
    same(vec.transpose(t(M)), M.T)
    same(vec.outer(t(A), t(B)), np.outer(A, B))
    same(vec.add_matrix(t(M), t(S)), M + S)


def test_symmetric_matrices() -> None:
    same(vec.symmetric_times(UPPER, t(A)), S @ A)
    same(vec.symmetric_rows(UPPER), S)
    both = np.outer(A, B) + np.outer(B, A)
    same(vec.outer_symmetric(t(A), t(B)), both[np.triu_indices(3)])
    same(vec.add_symmetric(UPPER, UPPER), 2 * S[np.triu_indices(3)])


def pair(x: np.ndarray, y: np.ndarray) -> twist.Pair:
    return t(x), t(y)


def test_cross_products_are_dual() -> None:
    """(v x m) . f = -m . (v x* f): power does not depend on the frame."""
    v, m, f = pair(A, B), pair(B, C), pair(C, A)
    assert twist.dot(f, twist.cross_motion(v, m)) == pytest.approx(
        -twist.dot(twist.cross_force(v, f), m), abs=FEW_ROUNDINGS
    )


def test_a_motion_does_not_move_itself() -> None:
    same(twist.cross_motion(pair(A, B), pair(A, B)), np.zeros((2, 3)))


def test_pairs() -> None:
    same(twist.add(pair(A, B), pair(B, C)), (A + B, B + C))
    same(twist.scale(3.0, pair(A, B)), (3 * A, 3 * B))
    same(twist.dot(pair(A, B), pair(B, C)), A @ B + B @ C)
    same(twist.cross_force(pair(A, B), pair(C, A)), (np.cross(B, C), np.cross(B, A) + np.cross(A, C)))


def test_sums_of_columns_and_columns_of_symmetric_matrices() -> None:
    same(twist.combined((2.0, -3.0), (pair(A, B), pair(B, C))), (2 * A - 3 * B, 2 * B - 3 * C))
    same(vec.map_columns(lambda x: vec.scale(2.0, x), UPPER), 2 * S)
    same(vec.cross_symmetric(t(A), UPPER), np.cross(A, S, axisb=0).T)


def test_three_of_many_and_constants() -> None:
    assert vec.three((1.0, 2.0, 3.0, 4.0)) == (1.0, 2.0, 3.0)
    assert vec.three((1.0, 2.0, 3.0, 4.0), 1) == (2.0, 3.0, 4.0)
    for got, want in (
        (vec.ZERO, np.zeros(3)),
        (vec.ZERO_SYMMETRIC, np.zeros(6)),
        (vec.ZERO_MATRIX, np.zeros((3, 3))),
        (vec.IDENTITY_MATRIX, np.eye(3)),
        (twist.ZERO, np.zeros((2, 3))),
    ):
        same(got, want)


def test_scalars_may_be_batches() -> None:
    batch = tuple(rng.uniform(-1, 1, (3, 4)))
    crossed = np.stack(vec.cross(batch, t(A)), axis=-1)
    same(crossed, np.cross(np.stack(batch, axis=-1), A))
