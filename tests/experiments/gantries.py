"""A robot whose optimal control problems are linear and quadratic: three sliding joints at right angles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments.problems import Problem, Weights

KNOTS = 16


def gantry() -> Problem:
    builder = condyle.Builder()
    parent = "world"
    for name, axis, mass in (("x", (1, 0, 0), 3.0), ("y", (0, 1, 0), 2.0), ("z", (0, 0, 1), 0.7)):
        builder = builder.body(name, mass=mass, com=(0, 0, 0), inertia=1e-3 * mass * np.eye(3)).joint(
            f"slide_{name}", parent=parent, child=name, type="prismatic", axis=axis
        )
        parent = name
    running, final = Weights(2.0, 0.3, 0.1, 1e-2), Weights(50.0, 0.0, 5.0, 1e-2)
    return Problem(
        builder.build(), "z", KNOTS, 0.05, running, final, np.array([0.1, 0.2, 0.3]), np.array([1.0, -0.5, 0.4])
    )


def least_cost(problem: Problem, x0: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The torques (knots - 1, n) and the cost that one dense system of equations gives: cost(u) is a quadratic in u."""
    n, knots = problem.robot.nv, problem.knots
    size = (knots - 1) * n
    at_zero, basis = _cost(problem, x0, np.zeros(size)), np.eye(size)
    plus = np.array([_cost(problem, x0, e) for e in basis])
    minus = np.array([_cost(problem, x0, -e) for e in basis])
    slope = (plus - minus) / 2
    both = np.array([[_cost(problem, x0, e + f) for f in basis] for e in basis])
    H = both - plus[:, None] - plus[None] + at_zero
    u = -np.linalg.solve(H, slope)
    return u.reshape(knots - 1, n), float(at_zero + slope @ u + u @ H @ u / 2)


def _cost(problem: Problem, x0: NDArray[np.float64], u: NDArray[np.float64]) -> float:
    """The cost of torques, rolled out by hand: masses slide, gravity pulls the last one."""
    n, carried = problem.robot.nv, np.array([5.7, 2.7, 0.7])
    torques = np.vstack([u.reshape(-1, n), np.zeros(n)])
    q, v, cost = x0[:n], x0[n:], 0.0
    for torque, w in zip(torques, problem.weights(), strict=True):
        parts = (q - problem.goal, q - problem.rest, v, torque)
        cost += sum(0.5 * weight * part @ part for weight, part in zip(w, parts, strict=True))
        a = (torque - np.array([0.0, 0.0, 0.7 * 9.81])) / carried
        q, v = q + problem.h * v, v + problem.h * a
    return float(cost)
