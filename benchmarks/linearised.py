"""A and B of Runge-Kutta's fourth-order step in NumPy, on fd and dfd of all knots: what a user writes who has no dstep.

For robots whose q is a plain vector. Tangents of the state have 3 nv columns: by q, by v and by tau.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import condyle

Array = NDArray[np.floating]
WEIGHTS, PARTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)


def rk4(dynamics: condyle.Dynamics, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
    """A (n, 2 nv, 2 nv) and B (n, 2 nv, nv)."""
    n, nv = v.shape
    by_q, by_v = (np.broadcast_to(np.eye(nv, 3 * nv, k * nv), (n, nv, 3 * nv)) for k in range(2))
    velocity, a = v, np.zeros_like(v)
    dq_rate, dv_rate = by_v, np.zeros((n, nv, 3 * nv))
    dq_end, dv_end = by_q.copy(), by_v.copy()
    for part, weight in zip(PARTS, WEIGHTS, strict=True):
        q_at, v_at = q + part * dt * velocity, v + part * dt * a
        dq, dv = by_q + part * dt * dq_rate, by_v + part * dt * dv_rate
        slopes = dynamics.forward_dynamics_derivatives(q_at, v_at, tau)
        velocity, a = v_at, dynamics.forward_dynamics(q_at, v_at, tau)
        dq_rate, dv_rate = dv, slopes.da_dq @ dq + slopes.da_dv @ dv
        dv_rate[..., 2 * nv :] += slopes.da_dtau
        dq_end += weight * dt * dq_rate
        dv_end += weight * dt * dv_rate
    both = np.concatenate((dq_end, dv_end), axis=-2)
    return both[..., : 2 * nv], both[..., 2 * nv :]
