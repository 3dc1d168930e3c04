"""iLQR on an arm: all slopes of a trajectory in one call, all step lengths of the line search in another."""

from __future__ import annotations

import numpy as np

import condyle

N, H = 60, 0.02  # steps of Runge and Kutta's fourth order, and their length [s]
robot = condyle.load("iiwa14")
dyn = robot.compile(integrator="rk4")
n = robot.nv
goal = np.concatenate(([0.5, 0.6, -0.5, -1.2, 0.3, 0.8, 0.2], np.zeros(n)))
along, at_end, effort = H * np.repeat([1.0, 0.1], n), np.repeat([200.0, 20.0], n), 1e-3 * H  # weights of squares


def cost(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Of trajectories x (..., N + 1, 2n) and u (..., N, n)."""
    miss = (x - goal) ** 2
    return 0.5 * ((miss[..., :-1, :] @ along).sum(-1) + miss[..., -1, :] @ at_end + effort * (u**2).sum((-1, -2)))


def gains(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The better input is u + k + K (x' - x)."""
    A, B = dyn.step_derivatives(x[:-1, :n], x[:-1, n:], u, H)  # of all steps in one call
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
        xs[:, t + 1] = np.concatenate(dyn.step(xs[:, t, :n], xs[:, t, n:], us[:, t], H), axis=-1)
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

assert price[-1] < 0.05 * price[0]
assert np.abs(x[-1, :n] - goal[:n]).max() < 0.05
