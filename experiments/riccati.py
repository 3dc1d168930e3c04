"""The backward pass of iLQR: one knot, by the textbook for any A and B, and compiled for a double integrator.

With x = (q, v) and the acceleration a as the input, the explicit Euler step is linear and the same for every robot:

    A = [I, h I; 0, I],   B = [0; h I],

so that products with A and B are sums, and the model of a knot (`problems.knot_model`) holds all of the dynamics.
Gains by u follow from those by a: K_u = M K + [dtau/dq, dtau/dv], k_u = M k. Both forms give the same torques.

The regularisation rho is that of Tassa, Erez and Todorov (2012): it penalises rho/2 |x_{k+1} - its nominal|^2 in the
choice of the gains, and not in the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Knot:
    """Answer of `textbook`: the gains K, k, the value V, p of the knot, and g: the cost changes by s g1 + s^2/2 g2."""

    K: Array
    k: Array
    V: Array
    p: Array
    g: Array


def textbook(V: Array, p: Array, A: Array, B: Array, H: Array, g: Array, rho: Any = 0.0) -> Knot:
    """One knot, (...) batched: from the value p^T dx + 1/2 dx^T V dx behind it, the value before it and u = k + K dx.

    H (..., n + m, n + m) and g (..., n + m) are the knot's cost in (dx, du). A (..., n, n), B (..., n, m). With s k in
    place of k the cost changes by s g1 + s^2/2 g2.
    """
    n = A.shape[-1]
    AB = np.concatenate([A, B], axis=-1)
    Q = H + transposed(AB) @ V @ AB
    q = g + (transposed(AB) @ p[..., None])[..., 0]
    reg = np.asarray(rho)[..., None, None] * (transposed(B) @ AB)
    gains = -np.linalg.solve(
        Q[..., n:, n:] + reg[..., n:], np.concatenate([Q[..., n:, :n] + reg[..., :n], q[..., n:, None]], axis=-1)
    )
    K, k = gains[..., :n], gains[..., n:]
    Qux, Quu, qu = Q[..., n:, :n], Q[..., n:, n:], q[..., n:, None]
    value = Q[..., :n, :n] + transposed(K) @ Quu @ K + transposed(K) @ Qux + transposed(Qux) @ K
    slope = q[..., :n, None] + transposed(K) @ (Quu @ k + qu) + transposed(Qux) @ k
    change = np.concatenate([transposed(k) @ qu, transposed(k) @ Quu @ k], axis=-1)[..., 0, :]
    return Knot(K, k[..., 0], value, slope[..., 0], change)


def transposed(X: Array) -> Array:
    return np.swapaxes(X, -1, -2)


def double_integrator(n: int, h: float) -> tuple[Array, Array]:
    """A (2n, 2n) and B (2n, n) of an Euler step with the acceleration as the input."""
    A = np.eye(2 * n) + h * np.eye(2 * n, k=n)
    return A, h * np.eye(2 * n, n, k=-n)


def knot(V: Any, p: Any, Hxx: Any, Hax: Any, Haa: Any, gx: Any, ga: Any, h: Any, rho: Any, gain: Any) -> dict[str, Any]:
    """One knot of a double integrator, on symbols: V, p, and the gains K (n, 2n) and k (n) by the acceleration.

    gain (3): g1 and g2 of the knots so far (see `textbook`), and the least pivot, which is not above zero where the
    Hessian by a was not positive; K and k are no numbers then. The last knot has no step: h = 0, V = 0, p = 0.
    """
    n = len(ga)
    r, s = rho * h * h, rho * h
    P = symmetric(V, 2 * n)
    Pqq, Pqv, Pvv = P[:n, :n], P[:n, n:], P[n:, n:]
    Qqv = h * Pqq + Pqv
    Qvv = h * Qqv + (h * Pqv).T + Pvv
    Qxx = symmetric(Hxx, 2 * n) + np.block([[Pqq, Qqv], [Qqv.T, Qvv]])
    Qax = Hax + h * np.concatenate([Pqv.T, h * Pqv.T + Pvv], axis=1)
    Qaa = symmetric(Haa, n) + (h * h) * Pvv
    qx = gx + np.concatenate([p[:n], h * p[:n] + p[n:]])
    qa = ga + h * p[n:]
    sides = np.concatenate([Qax + s * np.eye(n, 2 * n, n), qa[:, None]], axis=1)
    solved, least = cholesky_solve(Qaa + r * np.eye(n), sides)
    K, k = -solved[:, : 2 * n], -solved[:, 2 * n]
    W = Qax - r * K  # K^T Qaa K + K^T Qax = -(r K^T + s [0 I]^T) K, as K solves the regularised system
    value = Qxx + (W[:, :, None] * K[:, None, :]).sum(axis=0)
    value = value - s * np.concatenate([np.zeros((2 * n, n)), K.T], axis=1)
    linear = (k * qa).sum()
    changes = [gain[0] + linear, gain[1] - linear - r * (k * k).sum(), np.minimum(gain[2], least)]
    slope = qx + (W * k[:, None]).sum(axis=0)
    return {"V": value[np.triu_indices(2 * n)], "p": slope, "K": K, "k": k, "gain": np.stack(changes)}


def torque_gains(K: Any, k: Any, M: Any, slope: Any) -> dict[str, Any]:
    """Gains K (n, 2n) and k (n) by u of those by a: du = M da + slope dx."""
    return {"K": (M[:, :, None] * K[None, :, :]).sum(axis=1) + slope, "k": (M * k[None, :]).sum(axis=1)}


def symmetric(upper: Any, n: int) -> Any:
    """The matrix (..., n, n) of an upper triangle (..., n (n + 1) / 2), row by row."""
    place = np.zeros((n, n), dtype=int)
    place[np.triu_indices(n)] = np.arange(n * (n + 1) // 2)
    return upper[..., np.maximum(place, place.T)]


def cholesky_solve(S: Any, sides: Any) -> tuple[Any, Any]:
    """S^-1 sides by S = L L^T, on symbols, and the least pivot: without a choice of pivots there are no branches."""
    n = len(S)
    L: list[list[Any]] = [[None] * n for _ in range(n)]
    scale: list[Any] = []
    least: Any = None
    for j in range(n):
        pivot = S[j, j] - sum(L[j][k] * L[j][k] for k in range(j))
        least = pivot if least is None else np.minimum(least, pivot)
        scale.append(1.0 / np.sqrt(pivot))
        for i in range(j + 1, n):
            L[i][j] = (S[i, j] - sum(L[i][k] * L[j][k] for k in range(j))) * scale[j]
    rows: list[Any] = []
    for i in range(n):
        rows.append((sides[i] - sum(L[i][j] * rows[j] for j in range(i))) * scale[i])
    for i in reversed(range(n)):
        rows[i] = (rows[i] - sum(L[j][i] * rows[j] for j in range(i + 1, n))) * scale[i]
    return np.stack(rows), least
