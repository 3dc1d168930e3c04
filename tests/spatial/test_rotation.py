"""Rotations by structure do what their dense matrices do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from condyle.spatial.rotation import (
    AboutX,
    AboutZ,
    Axes,
    Full,
    Identity,
    Product,
    Rotation,
    composed,
    from_quaternion,
    from_two_turns,
)
from tests.accuracies import FEW_ROUNDINGS

pytestmark = pytest.mark.smoke

Array = np.ndarray


def rows(m: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in m.tolist())


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array(((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)))


def any_rotation(seed: int) -> Array:
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return q * np.sign(np.linalg.det(q))


def about_x(angle: float) -> Array:
    return np.roll(about_z(angle), 1, axis=(0, 1))


ROTATION_KINDS: dict[str, Callable[[], tuple[Rotation, Array]]] = {
    "identity": lambda: (Identity(), np.eye(3)),
    "about_z": lambda: (AboutZ(float(np.cos(0.7)), float(np.sin(0.7))), about_z(0.7)),
    "about_x": lambda: (AboutX(float(np.cos(0.7)), float(np.sin(0.7))), about_x(0.7)),
    "two_turns": lambda: (from_two_turns(rows(about_z(2.5) @ about_x(-1.9))), about_z(2.5) @ about_x(-1.9)),
    "after": lambda: (
        AboutZ(float(np.cos(0.7)), float(np.sin(0.7))).after(AboutZ(float(np.cos(2.0)), float(np.sin(2.0)))),
        about_z(2.7),
    ),
    "full": lambda: (Full(rows(any_rotation(1))), any_rotation(1)),
    "axes": lambda: (Axes(rows(any_rotation(1).T)), any_rotation(1)),
    "chain": lambda: (
        Product(Full(rows(any_rotation(2))), AboutZ(float(np.cos(-2.0)), float(np.sin(-2.0)))),
        about_z(-2.0) @ any_rotation(2),
    ),
}


@pytest.fixture(params=ROTATION_KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Rotation, Array]:
    return ROTATION_KINDS[request.param]()


def close(got: object, want: Array) -> bool:
    return bool(np.abs(np.array(got, dtype=float) - want).max() < FEW_ROUNDINGS)


def test_vectors(pair: tuple[Rotation, Array]) -> None:
    rotation, E = pair
    v = np.array((0.3, -1.2, 0.8))
    assert close(rotation.into(tuple(v.tolist())), E @ v)
    assert close(rotation.back(tuple(v.tolist())), E.T @ v)


def test_matrices(pair: tuple[Rotation, Array]) -> None:
    rotation, E = pair
    M = np.random.default_rng(3).uniform(-1, 1, (3, 3))
    assert close(rotation.back_matrix(rows(M)), E.T @ M @ E)


def test_symmetric_matrices(pair: tuple[Rotation, Array]) -> None:
    rotation, E = pair
    M = np.random.default_rng(4).uniform(-1, 1, (3, 3))
    S = M + M.T
    upper = np.triu_indices(3)
    assert close(rotation.back_symmetric(tuple(S[upper].tolist())), (E.T @ S @ E)[upper])


def test_what_is_composed_keeps_its_structure() -> None:
    """Two turns about z are one, two matrices of axes are one, and what does nothing is left out."""
    turn, axes, full = AboutZ(0.6, 0.8), Axes(rows(any_rotation(1))), Full(rows(any_rotation(2)))
    kinds = [composed(first, second) for first, second in ((turn, Identity()), (axes, axes), (axes, turn))]
    assert kinds[0] is turn and isinstance(kinds[1], Axes) and kinds[2] == Product(axes, turn)
    both = composed(Product(full, turn), turn)
    assert isinstance(both, Product) and both.first is full and close(both.second, np.array((-0.28, 0.96)))


@pytest.mark.parametrize("seed", range(5))
def test_quaternions(seed: int) -> None:
    """Against Rodrigues' formula: axis sin(angle / 2), cos(angle / 2)."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    angle = float(rng.uniform(-np.pi, np.pi))
    K = np.array(((0, -axis[2], axis[1]), (axis[2], 0, -axis[0]), (-axis[1], axis[0], 0)))
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K  # child axes -> parent axes
    quaternion = [*(axis * np.sin(angle / 2)).tolist(), float(np.cos(angle / 2))]
    assert close(from_quaternion(quaternion).rows, R.T)


def test_identity_quaternion_is_exact() -> None:
    assert from_quaternion([0.0, 0.0, 0.0, 1.0]).rows == rows(np.eye(3))
