"""iLQR on an arm: all slopes of a trajectory in one call, all step lengths of the line search in another."""

from __future__ import annotations

import numpy as np

import condyle

N, H = 60, 0.02  # steps, and their length [s]
robot = condyle.load("iiwa14")
dyn = robot.compile()
n = robot.nv
goal = np.concatenate(([0.5, 0.6, -0.5, -1.2, 0.3, 0.8, 0.2], np.zeros(n)))
along, at_end, effort = H * np.repeat([1.0, 0.1], n), np.repeat([200.0, 20.0], n), 1e-3 * H  # weights of squares


def step(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The state H later, for any batch. With a floating base, q would move by robot.integrate(q, H * v)."""
    q, v = x[..., :n], x[..., n:]
    v = v + H * dyn.forward_dynamics(q, v, u)
    return np.concatenate((q + H * v, v), axis=-1)


def cost(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Of trajectories x (..., N + 1, 2n) and u (..., N, n)."""
    miss = (x - goal) ** 2
    return 0.5 * ((miss[..., :-1, :] @ along).sum(-1) + miss[..., -1, :] @ at_end + effort * (u**2).sum((-1, -2)))


def linear_model(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A (N, 2n, 2n) and B (N, 2n, n) of `step` along a trajectory."""
    slopes = dyn.forward_dynamics_derivatives(x[:-1, :n], x[:-1, n:], u)
    dv = H * np.concatenate((slopes.da_dq, slopes.da_dv, slopes.da_dtau), axis=-1)
    dv[..., n : 2 * n] += np.eye(n)
    dq = H * dv
    dq[..., :n] += np.eye(n)
    both = np.concatenate((dq, dv), axis=-2)
    return both[..., : 2 * n], both[..., 2 * n :]


def gains(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The better input is u + k + K (x' - x)."""
    A, B = linear_model(x, u)
    S, s = np.diag(at_end), at_end * (x[-1] - goal)  # the cost from here on, to second order
    k, K = np.zeros((N, n)), np.zeros((N, n, 2 * n))
    for t in reversed(range(N)):
        slope, curve = effort * u[t] + B[t].T @ s, effort * np.eye(n) + B[t].T @ S @ B[t]
        k[t], K[t] = -np.linalg.solve(curve, slope), -np.linalg.solve(curve, B[t].T @ S @ A[t])
        s = along * (x[t] - goal) + A[t].T @ s + K[t].T @ slope
        S = np.diag(along) + A[t].T @ S @ (A[t] + B[t] @ K[t])
    return k, K


def run(x: np.ndarray, u: np.ndarray, k: np.ndarray, K: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The trajectories of all these parts of a step, side by side."""
    xs, us = np.repeat(x[None], len(part), axis=0), np.repeat(u[None], len(part), axis=0)
    for t in range(N):
        us[:, t] = u[t] + part[:, None] * k[t] + (xs[:, t] - x[t]) @ K[t].T
        xs[:, t + 1] = step(xs[:, t], us[:, t])
    return xs, us


start = np.concatenate((robot.neutral(), np.zeros(n)))
hold = dyn.inverse_dynamics(start[:n], start[n:], np.zeros(n))
x, u = run(np.tile(start, (N + 1, 1)), np.tile(hold, (N, 1)), np.zeros((N, n)), np.zeros((N, n, 2 * n)), np.ones(1))
x, u, price = x[0], u[0], [float(cost(x[0], u[0]))]
while len(price) < 3 or price[-1] < 0.9999 * price[-2]:
    xs, us = run(x, u, *gains(x, u), 0.6 ** np.arange(8))
    best = int(np.argmin(np.nan_to_num(cost(xs, us), nan=np.inf)))
    x, u = xs[best], us[best]
    price.append(float(cost(x, u)))
    print(f"cost {price[-1]:9.4f}, {np.abs(x[-1, :n] - goal[:n]).max():.4f} rad from the goal")

assert np.abs(x[-1, :n] - goal[:n]).max() < 0.05
