"""Which words of a fixed-point gradient an iLQR tolerates: an iiwa14 moved from a start to a goal, 100 seeded trials.

The instance is that of the paper's own code (robot-acceleration/rbd-accelerator-harness, fixedPointTests.cpp): 64 knots
in 0.5 s, explicit Euler, 40 iterations, 4 backward and 2 forward blocks, step lengths 0.5^k with k < 16, regularisation
from 12.5 by a factor of 1.25. The cost is either that of the end effector or that of the joints; the paper does not say
which it used.

Fixed point is dc/du = (dtau/dq, dtau/dv) of the inverse dynamics alone, from the accelerator's own integers (`did`).
The product with -M^-1 stays in floating point, as in the paper's code. The accelerator's `difd` does that product too,
in its integers: rows that end in "difd" take that answer, and a product with -M brings it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments.ilqr import Options, Slope, Solver
from experiments.paths import Solved
from experiments.problems import Functions, Problem, Weights

Array = NDArray[np.floating]

TIP = "iiwa_link_7"
START = np.array([-0.5, 0.25, 0.167, -0.167, 0.125, 0.167, 0.5]) * np.pi
TORQUE = np.array([0.005, -62.278, 4.178, 21.519, -0.084, -0.886, 0.005])
"""N m at every knot of the first trajectory: what holds the start against gravity, nearly."""
GOAL = np.array([0.3638, 0.0, 1.0628])
GOAL_Q = np.array([0.0, 0.0, 0.0, -0.25, 0.0, 0.25, 0.5]) * np.pi
"""The tip is at GOAL there, to 0.1 mm."""
OPTIONS = Options(backward_blocks=4, forward_blocks=2)
CONVERGED = 1.05
"""A trial has converged where its last cost is at most this many times that of the same trial in float64."""

COSTS = {
    "tip": (Weights(0.1, 0.0, 0.1, 1e-5), Weights(1000.0, 0.0, 100.0, 1e-5), np.zeros(7)),
    "joint": (Weights(0.0, 0.1, 1e-3, 1e-4), Weights(0.0, 1000.0, 1000.0, 1e-4), GOAL_Q),
}
"""Running and final weights and the joints' goal. The velocity of the end effector's cost is that of the joints."""

BOX = {"tip": {"v": 10.0, "a": 200.0}, "joint": {"v": 10.0, "a": 1000.0}}
"""Largest inputs of the accelerator [rad/s, rad/s^2]: above what any trajectory of the float64 runs has."""

PRINTED = {"chosen": "q16.16", "least bits before the point": 12, "least bits behind the point": 5}
"""Footnote 2 of the paper, of words of 32 bits: the valid range goes down to these. Criterion and cost are unstated."""

WORDS = ("float64", "float32", *(f"q{32 - f}.{f}" for f in range(5, 25)), "27x18", "27")
TRAPS = (
    "tip q16.16 difd",
    "tip 27x18 difd",
    "joint q16.16 difd",
    "joint 27x18 difd",
    "tip float64 gravity 0",
    "tip q16.16 gravity 0",
    "tip float64 damping",
    "tip q16.16 damping",
    "tip float64 one block",
    "tip q16.16 one block",
)
ROWS = (*(f"{cost} {word}" for cost in COSTS for word in WORDS), *TRAPS)
QUICK = ("tip float64", "tip q16.16", "joint q16.16", "tip 27x18 difd")


@dataclass
class Gradient:
    """dc/du from somewhere, with what was asked of it."""

    of: Callable[[Array, Array, Array], tuple[Array, Array]]
    """(q, v, a) to the slope (..., nv, 2 nv) and a flag (...)."""
    flagged: int = 0
    asked: int = 0
    largest: dict[str, float] = field(default_factory=lambda: {"v": 0.0, "a": 0.0})

    def __call__(self, q: Array, v: Array, a: Array) -> Array:
        slope, flag = self.of(q, v, a)
        self.flagged += int(np.count_nonzero(flag[:, :-1]))  # no step follows the last knot
        self.asked += flag[:, :-1].size
        for name, x in (("v", v), ("a", a)):
            self.largest[name] = max(self.largest[name], float(np.abs(x).max()))
        return slope


def reach(cost: str) -> Problem:
    """The paper's problem with one of the two costs."""
    running, final, rest = COSTS[cost]
    return Problem(condyle.load("iiwa14"), TIP, 64, 0.5 / 63, running, final, rest, GOAL)


def first(problem: Problem, trials: int) -> tuple[Array, Array, Array]:
    """q, v, u of every trial, the start at every knot; v is 0.01 + N(0, 0.001) rad/s, seeded by the trial."""
    shape = (trials, problem.knots, 7)
    noise = np.stack([np.random.default_rng(seed).normal(0.0, 1e-3, 7) for seed in range(trials)])
    return (
        np.broadcast_to(START, shape),
        np.broadcast_to(0.01 + noise[:, None], shape),
        np.broadcast_to(TORQUE, shape),
    )


def measure(row: str, quick: bool) -> dict[str, Any]:
    """A word and float64, on the same trials."""
    cost, word, *what = row.split(" ", 2)
    trap = what[0] if what else ""
    options = replace(OPTIONS, iterations=15 if quick else 40)
    if trap == "one block":
        options = replace(options, backward_blocks=1, forward_blocks=1)
    problem = reach(cost)
    functions = Functions(problem, damping=0.5 if trap == "damping" else 0.0)
    begin = first(problem, 4 if quick else 100)
    gradient = Gradient(gradient_of(word, cost, trap, functions.damping))
    exact = Solver(functions, options).solve(*begin)
    start = time.perf_counter()
    solved = Solver(functions, options, gradient).solve(*begin)
    seconds = time.perf_counter() - start
    return {**answer(problem, functions, solved, exact), **asked(gradient, word, cost), "seconds": seconds}


def asked(gradient: Gradient, word: str, cost: str) -> dict[str, Any]:
    """What the gradient was asked, and how often its integers were clamped."""
    share = gradient.flagged / gradient.asked
    box = None if word.startswith("float") else box_of(word, cost)
    return {"flagged": share, "largest_v": gradient.largest["v"], "largest_a": gradient.largest["a"], "box": box}


def answer(problem: Problem, functions: Functions, solved: Solved, exact: Solved) -> dict[str, Any]:
    """Costs over iterations, the share of trials that converged, errors at the end."""
    cost, ends = solved.cost, solved.path
    w = problem.weights()[-1]
    tip = functions.cost(ends.q[:, -1], ends.v[:, -1], ends.u[:, -1], problem.goal, problem.rest, w).tip
    limit = CONVERGED * exact.cost[:, -1:]
    reached = np.isfinite(cost) & (cost <= limit)
    first_time = np.where(reached.any(axis=1), reached.argmax(axis=1), -1)
    found = first_time[first_time >= 0]
    return {
        "trials": len(cost),
        "iterations": cost.shape[1] - 1,
        "converged": float(reached[:, -1].mean()),
        "diverged": int(np.count_nonzero(~np.isfinite(cost[:, -1]))),
        "iterations_needed": float(np.median(found)) if found.size else None,
        "steps_taken": float((solved.length > 0.0).mean()),
        "final_cost": spread(cost[:, -1]),
        "final_cost_float64": spread(exact.cost[:, -1]),
        "tip_error_m": spread(np.linalg.norm(tip - problem.goal, axis=1)),
        "joint_error_rad": spread(np.linalg.norm(ends.q[:, -1] - GOAL_Q, axis=1)) if w[1] else None,
        "largest_defect": float(np.abs(ends.defect).max(initial=0.0)),
        "cost_low": np.min(cost, axis=0).tolist(),
        "cost_median": np.median(cost, axis=0).tolist(),
        "cost_high": np.max(cost, axis=0).tolist(),
    }


def spread(x: Array) -> dict[str, float]:
    return {"min": float(np.min(x)), "median": float(np.median(x)), "max": float(np.max(x))}


def gradient_of(word: str, cost: str, trap: str, damping: float) -> Callable[..., tuple[Array, Array]]:
    """(q, v, a) to the slope and a flag, by a word and what is otherwise about the row."""
    robot = condyle.load("iiwa14", gravity=(0.0, 0.0, 0.0)) if trap == "gravity 0" else condyle.load("iiwa14")
    loss = np.concatenate([np.zeros((7, 7)), damping * np.eye(7)], axis=1)
    if word.startswith("float"):
        return lambda q, v, a: (floating(robot, word)(q, v, a) + loss, np.zeros(q.shape[:-1], bool))
    alone = "difd" if trap == "difd" else "did"
    fx = condyle.fixed_point(robot, word=word, box=box_of(word, cost), functions=(alone,))
    if trap == "difd":
        return through_difd(robot, fx)

    def slope(q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        by, flag = fx.inverse_dynamics_derivatives(q, v, a)
        return np.concatenate([by.dtau_dq, by.dtau_dv], axis=-1) + loss, flag

    return slope


def floating(robot: condyle.Robot, dtype: str) -> Slope:
    """The derivatives of the inverse dynamics in a floating-point type."""
    dynamics = robot.compile(dtype=dtype)

    def slope(q: Array, v: Array, a: Array) -> Array:
        by = dynamics.inverse_dynamics_derivatives(*(x.astype(dtype) for x in (q, v, a)))
        return np.concatenate([by.dtau_dq, by.dtau_dv], axis=-1).astype(np.float64)

    return slope


def through_difd(robot: condyle.Robot, fx: Any) -> Callable[..., tuple[Array, Array]]:
    """The same from the accelerator's difd, given M^-1: its da/dx = -M^-1 slope, all in integers, times -M."""
    dynamics = robot.compile()

    def slope(q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        by, flag = fx.dynamics_derivatives(q, v, a, dynamics.mass_matrix_inverse(q))
        return -dynamics.mass_matrix(q) @ np.concatenate([by.da_dq, by.da_dv], axis=-1), flag

    return slope


def box_of(word: str, cost: str) -> dict[str, float]:
    """The box, no larger than what the word holds: a word of 8 integer bits ends at 128."""
    if not word.startswith("q"):
        return BOX[cost]
    ends = 0.99 * 2.0 ** (int(word[1:].split(".")[0]) - 1)
    return {name: min(size, ends) for name, size in BOX[cost].items()}
