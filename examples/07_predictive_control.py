"""iLQR on an arm, in three calls an iteration: slopes of a trajectory, backwards through it, and the line search.

A step backwards and a step of the trajectory under feedback are functions of one knot; `rollout` repeats them in
compiled code. The same iteration as two loops of NumPy, around `dyn.step` and products of matrices, took 15 times as
long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

N, H = 60, 0.02  # steps of Runge and Kutta's fourth order, and their length [s]
robot = condyle.load("iiwa14")
n = robot.nv
goal = np.concatenate(([0.5, 0.6, -0.5, -1.2, 0.3, 0.8, 0.2], np.zeros(n)))
along, at_end, effort = H * np.repeat([1.0, 0.1], n), np.repeat([200.0, 20.0], n), 1e-3 * H  # weights of squares
part = 0.6 ** np.arange(8)  # lengths of a step that are tried, side by side


def follow(at: Any, x0: Any, u0: Any, k: Any, K: Any, part: Any) -> dict[str, Any]:
    """A step with feedback around x0, and its cost; outputs that are called like inputs are those of the next step."""
    x = np.concatenate([at.q, at.v])
    u = u0 + part * k + K @ (x - x0)
    after = at.step(u, H)
    return {"q": after.q, "v": after.v, "u": u, "cost": 0.5 * (along @ (x - goal) ** 2 + effort * (u @ u))}


def backwards(S: Any, s: Any, x: Any, u: Any, A: Any, B: Any) -> dict[str, Any]:
    """From the cost behind a knot, to second order, the better input u + k + K (x' - x) and the cost before it."""
    slope, curve = effort * u + B.T @ s, effort * np.eye(n) + B.T @ S @ B
    both = condyle.solve_symmetric(curve, np.column_stack([slope, B.T @ S @ A]))
    k, K = -both[:, 0], -both[:, 1:]
    return {
        "S": np.diag(along) + A.T @ S @ (A + B @ K), "s": along * (x - goal) + A.T @ s + K.T @ slope, "k": k, "K": K
    }  # fmt: skip


X, U = 2 * n, n
dyn = robot.compile(integrator="rk4")
forward = robot.function(
    follow, {"q": "nq", "v": "nv", "x0": X, "u0": U, "k": U, "K": (U, X), "part": ()}, integrator="rk4"
).compile()
back = condyle.function(backwards, {"S": (X, X), "s": X, "x": X, "u": U, "A": (X, X), "B": (X, U)}).compile()


def run(x: np.ndarray, u: np.ndarray, k: np.ndarray, K: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, ...]:
    """The trajectories of all these parts of a step, (..., N + 1, 2n) and (..., N, n), and their costs."""
    timed = ("x0", "u0", "k", "K")
    q, v, us, cost = forward.rollout(x[0, :n], x[0, n:], x[:-1], u, k, K, part, by_time=timed, sum=("cost",))
    xs = np.concatenate((np.broadcast_to(x[:1], (*part.shape, 1, X)), np.concatenate((q, v), axis=-1)), axis=-2)
    return xs, us, cost + 0.5 * (xs[..., -1, :] - goal) ** 2 @ at_end


def gains(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k (N, n) and K (N, n, 2n): the last knot is the first step."""
    A, B = dyn.step_derivatives(x[:-1, :n], x[:-1, n:], u, H)  # of all steps in one call
    given = (each[::-1] for each in (x[:-1], u, A, B))
    found = back.rollout(np.diag(at_end), at_end * (x[-1] - goal), *given, by_time=("x", "u", "A", "B"))
    return found.k[::-1], found.K[::-1]


start = np.concatenate((robot.neutral(), np.zeros(n)))
hold = dyn.inverse_dynamics(start[:n], start[n:], np.zeros(n))
x, u, first = run(np.tile(start, (N + 1, 1)), np.tile(hold, (N, 1)), np.zeros((N, n)), np.zeros((N, n, X)), np.ones(()))
price = [float(first)]
while len(price) < 3 or price[-1] < 0.9999 * price[-2]:
    xs, us, costs = run(x, u, *gains(x, u), part)
    best = int(np.argmin(np.nan_to_num(costs, nan=np.inf)))
    x, u = xs[best], us[best]
    price.append(float(costs[best]))
    print(f"cost {price[-1]:9.4f}, {np.abs(x[-1, :n] - goal[:n]).max():.4f} rad from the goal")

assert price[-1] < 0.05 * price[0]
assert np.abs(x[-1, :n] - goal[:n]).max() < 0.05
