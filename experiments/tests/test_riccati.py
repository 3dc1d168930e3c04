"""The compiled knot of the backward pass is held to the textbook's, and both to one dense system of equations."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from experiments import riccati

RNG = np.random.default_rng(0)


def knots(n: int, count: int, *batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive definite H (..., count, 3n, 3n) and g (..., count, 3n)."""
    root = RNG.normal(size=(*batch, count, 3 * n, 3 * n))
    return root @ np.swapaxes(root, -1, -2) + np.eye(3 * n), RNG.normal(size=(*batch, count, 3 * n))


def compiled(n, H, g, h, rho):
    """Rolled out over knots that stand from the last to the first."""
    upper, corner = np.triu_indices(2 * n), np.triu_indices(n)
    parts = (
        H[..., : 2 * n, : 2 * n][..., upper[0], upper[1]],
        H[..., 2 * n :, : 2 * n],
        H[..., 2 * n :, 2 * n :][..., corner[0], corner[1]],
    )
    full, half = n * (2 * n + 1), n * (n + 1) // 2
    model = {"Hxx": full, "Hax": (n, 2 * n), "Haa": half, "gx": 2 * n, "ga": n, "h": ()}
    backward = condyle.function(riccati.knot, {"V": full, "p": 2 * n, **model, "rho": (), "gain": 3}).compile()
    parts += g[..., : 2 * n], g[..., 2 * n :], h
    start, gain = (np.zeros(full), np.zeros(2 * n)), np.array([0.0, 0.0, np.inf])
    return backward.rollout(*start, *parts, rho, gain, by_time=tuple(model))


@pytest.mark.parametrize("rho", [0.0, 12.5])
def test_a_compiled_knot_is_the_textbooks(rho):
    n, count = 3, 5
    H, g = knots(n, count, 6)
    h = np.full(count, 0.05)
    found = compiled(n, H, g, h, rho)
    A, B = riccati.double_integrator(n, 0.05)
    V, p, change = np.zeros((6, 2 * n, 2 * n)), np.zeros((6, 2 * n)), np.zeros((6, 2))
    for j in range(count):
        knot = riccati.textbook(V, p, A, B, H[:, j], g[:, j], rho)
        V, p, change = knot.V, knot.p, change + knot.g
        for mine, theirs in ((found.K[:, j], knot.K), (found.k[:, j], knot.k), (found.p[:, j], p)):
            assert np.allclose(mine, theirs, rtol=1e-10, atol=1e-12)
        assert np.allclose(riccati.symmetric(found.V[:, j], 2 * n), V, rtol=1e-10, atol=1e-12)
        assert np.allclose(found.gain[:, j, :2], change, rtol=1e-9, atol=1e-12)
        assert (found.gain[:, j, 2] > 0.0).all()


def test_the_textbooks_gains_solve_the_whole_problem():
    n, m, count = 4, 2, 6
    A, B = RNG.normal(size=(count, n, n)), RNG.normal(size=(count, n, m))
    root = RNG.normal(size=(count, n + m, n + m))
    H, g = root @ np.swapaxes(root, 1, 2) + np.eye(n + m), RNG.normal(size=(count, n + m))
    x0 = RNG.normal(size=n)
    V, p, gains = np.zeros((n, n)), np.zeros(n), []
    for j in reversed(range(count)):
        knot = riccati.textbook(V, p, A[j], B[j], H[j], g[j])
        V, p = knot.V, knot.p
        gains.insert(0, knot)
    x, found, cost = x0, [], 0.0
    for j in range(count):
        u = gains[j].k + gains[j].K @ x
        y = np.concatenate([x, u])
        cost += g[j] @ y + y @ H[j] @ y / 2
        found.append(u)
        x = A[j] @ x + B[j] @ u
    # all states as functions of all torques: y = S u + s, minimised at once
    S, s = np.zeros((count, n + m, count * m)), np.zeros((count, n + m))
    X, offset = np.zeros((n, count * m)), x0
    for j in range(count):
        U = np.eye(m, count * m, j * m)
        S[j], s[j] = np.vstack([X, U]), np.concatenate([offset, np.zeros(m)])
        X, offset = A[j] @ X + B[j] @ U, A[j] @ offset
    whole = sum(S[j].T @ H[j] @ S[j] for j in range(count))
    slope = sum(S[j].T @ (g[j] + H[j] @ s[j]) for j in range(count))
    assert np.allclose(np.concatenate(found), -np.linalg.solve(whole, slope), rtol=1e-9, atol=1e-10)
    assert np.isclose(cost, x0 @ V @ x0 / 2 + p @ x0 + sum(knot.g[0] + knot.g[1] / 2 for knot in gains))


def test_an_indefinite_knot_is_told_by_its_least_pivot():
    n = 2
    H, g = knots(n, 1)
    H[0, 2 * n, 2 * n] = -1.0
    found = compiled(n, H, g, np.array([0.1]), 0.0)
    assert not found.gain[0, 2] > 0.0
    assert not np.isfinite(found.k).any()


def test_gains_by_the_torque():
    K, k = RNG.normal(size=(5, 3, 6)), RNG.normal(size=(5, 3))
    M, slope = RNG.normal(size=(5, 3, 3)), RNG.normal(size=(5, 3, 6))
    sizes = {"K": (3, 6), "k": 3, "M": (3, 3), "slope": (3, 6)}
    found = condyle.function(riccati.torque_gains, sizes).compile()(K, k, M, slope)
    assert np.allclose(found.K, M @ K + slope)
    assert np.allclose(found.k, (M @ k[..., None])[..., 0])
