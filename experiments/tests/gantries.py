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
    """The torques (knots - 1, n) and the cost by least squares: the residuals r0 + R u of all knots, 1/2 |r|^2."""
    n, knots = problem.robot.nv, problem.knots
    r0 = _residuals(problem, x0, np.zeros((knots - 1) * n))
    R = np.array([_residuals(problem, x0, e) - r0 for e in np.eye((knots - 1) * n)]).T
    u = -np.linalg.lstsq(R, r0, rcond=None)[0]
    return u.reshape(knots - 1, n), float(0.5 * ((r0 + R @ u) ** 2).sum())


def _residuals(problem: Problem, x0: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of all knots, weighted, of torques rolled out by hand: masses slide, gravity pulls the last one."""
    n, carried = problem.robot.nv, np.array([5.7, 2.7, 0.7])
    torques = np.vstack([u.reshape(-1, n), np.zeros(n)])
    q, v, found = x0[:n], x0[n:], list[NDArray[np.float64]]()
    for torque, w in zip(torques, problem.weights(), strict=True):
        parts = (q - problem.goal, q - problem.rest, v, torque)
        found += [np.sqrt(weight) * part for weight, part in zip(w, parts, strict=True)]
        a = (torque - np.array([0.0, 0.0, 0.7 * 9.81])) / carried
        q, v = q + problem.h * v, v + problem.h * a
    return np.concatenate(found)
