"""One knot of a Riccati recursion by the textbook, for any A and B."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class Knot(NamedTuple):
    """The gains of u = k + K dx, and the value p^T dx + 1/2 dx^T V dx of the knot."""

    K: Array
    k: Array
    V: Array
    p: Array


def knot(V: Array, p: Array, A: Array, B: Array, H: Array, g: Array) -> Knot:
    """From the value behind the knot. H (n + m, n + m) and g (n + m) are its cost in (dx, du), A (n, n), B (n, m)."""
    n, AB = len(A), np.concatenate([A, B], axis=1)
    Q, q = H + AB.T @ V @ AB, g + AB.T @ p
    K, k = -np.linalg.solve(Q[n:, n:], Q[n:, :n]), -np.linalg.solve(Q[n:, n:], q[n:])
    return Knot(K, k, Q[:n, :n] + Q[:n, n:] @ K, q[:n] + Q[:n, n:] @ k)
