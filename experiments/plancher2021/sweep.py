"""Which words of a fixed-point gradient an optimal control tolerates: an iiwa14 moved from a start to a goal.

The instance is that of the paper's own code (robot-acceleration/rbd-accelerator-harness, fixedPointTests.cpp): 64 knots
in 0.5 s, explicit Euler, 40 iterations, 100 seeded trials. The cost is either that of the end effector or that of the
joints; the paper does not say which it used. The method is that of `condyle.OptimalControl`: an iteration is one
`step` with shift=0, and the states of all knots are variables. Theirs is an iLQR with 4 backward and 2 forward blocks.

The dynamics have the exact value, and the derivative that is given: dc/du = (dtau/dq, dtau/dv) of the inverse dynamics
is an input of each knot, computed from the plan before each iteration. Fixed point is that derivative alone, from the
accelerator's own integers (`did`). The product with -M^-1 stays in floating point, as in the paper's code. The
accelerator's `difd` does that product too, in its integers: rows that end in "difd" take that answer, and a product
with -M brings it back. Rows "solve" are `solve` with the robot's own dynamics and semi-implicit steps, with its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.cli.bound import Sampling, interleaved

Array = NDArray[np.floating]
Slope = Callable[[Array, Array, Array], Array]
"""(q, v, a) to [dtau/dq, dtau/dv] (..., nv, 2 nv), the derivatives of the inverse dynamics."""

TIP = "iiwa_link_7"
START = np.array([-0.5, 0.25, 0.167, -0.167, 0.125, 0.167, 0.5]) * np.pi
TORQUE = np.array([0.005, -62.278, 4.178, 21.519, -0.084, -0.886, 0.005])
"""N m at every knot of the first trajectory: what holds the start against gravity, nearly."""
GOAL = np.array([0.3638, 0.0, 1.0628])
GOAL_Q = np.array([0.0, 0.0, 0.0, -0.25, 0.0, 0.25, 0.5]) * np.pi
"""The tip is at GOAL there, to 0.1 mm."""
INTERVALS, H = 63, 0.5 / 63
CONVERGED, HELD = 1.05, 1e-3
"""A trial has converged where its last cost is at most so many times that of the same trial in float64, and its motion
is off by at most HELD [rad, rad/s] at a knot."""


class Weights(NamedTuple):
    """Of |tip - goal|^2 [1/m^2], |q - GOAL_Q|^2, |v|^2 and |u|^2, each halved in the cost."""

    tip: float
    q: float
    v: float
    u: float


COSTS = {
    "tip": (Weights(0.1, 0.0, 0.1, 1e-5), Weights(1000.0, 0.0, 100.0, 0.0)),
    "joint": (Weights(0.0, 0.1, 1e-3, 1e-4), Weights(0.0, 1000.0, 1000.0, 0.0)),
}
"""On the way and at the end. The velocity of the end effector's cost is that of the joints."""

BOX = {"tip": {"v": 10.0, "a": 600.0}, "joint": {"v": 20.0, "a": 4000.0}}
"""Largest inputs of the accelerator [rad/s, rad/s^2]: above what any plan of the float64 runs has."""

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
)
SOLVES = tuple(f"{cost} solve {dtype}" for cost in COSTS for dtype in ("float64", "float32"))
ROWS = (*(f"{cost} {word}" for cost in COSTS for word in WORDS), *TRAPS, *SOLVES)
QUICK = ("tip float64", "tip q16.16", "joint q16.16", "tip 27x18 difd", "joint solve float64")


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


def residuals(at: Any, weights: Weights) -> list[Any]:
    """What both costs are made of, but for the torque."""
    w = Weights(*np.sqrt(weights))
    tip = [w.tip * (at.frame(TIP).translation - GOAL)] if w.tip else []
    return [*tip, *([w.q * (at.q - GOAL_Q)] if w.q else []), w.v * at.v]


def costs(cost: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions of a knot on the way and of the last one."""
    on_the_way, at_end = COSTS[cost]

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [*residuals(at, on_the_way), np.sqrt(on_the_way.u) * u]}

    def last(at: Any) -> dict[str, Any]:
        return {"residual": residuals(at, at_end)}

    return running, last


def constant(x: Any) -> Any:
    """x to 1e-12, as a number without a derivative."""
    return np.floor(x * 2.0**40) * 2.0**-40


def reach(cost: str, damping: float | None = None) -> condyle.OptimalControl:
    """The paper's problem with one of the two costs; damping [N m s]: with a given derivative, the input "slope"."""

    def move(at: Any, u: Any, slope: Any) -> dict[str, Any]:
        """An explicit Euler step: its derivatives are M^-1 and -M^-1 slope."""
        q, v, tau = constant(at.q), constant(at.v), constant(u)
        there = at.moved_to(q, v)
        change = (u - tau) - slope @ np.concatenate([at.q - q, at.v - v])
        a = there.forward_dynamics(tau - (damping or 0.0) * v) + there.mass_matrix_inverse() @ change
        return {"q": at.q + H * at.v, "v": at.v + H * a}

    options: dict[str, Any] = {}
    if damping is not None:
        options = {"inputs": {"slope": (7, 14)}, "by_knot": ("slope",), "dynamics": move, "controls": 7}
    return condyle.OptimalControl(condyle.load("iiwa14"), *costs(cost), knots=INTERVALS, dt=H, bounds={}, **options)


def first(trials: int) -> tuple[Array, Array, Array]:
    """q, v, u of every trial, the start at every knot; v is 0.01 + N(0, 0.001) rad/s, seeded by the trial."""
    noise = np.stack([np.random.default_rng(seed).normal(0.0, 1e-3, 7) for seed in range(trials)])
    v = np.repeat(0.01 + noise[:, None], INTERVALS + 1, axis=1)
    q, u = (np.tile(x, (trials, knots, 1)) for x, knots in ((START, INTERVALS + 1), (TORQUE, INTERVALS)))
    return q, v, u


class Solved(NamedTuple):
    """The last plan, and costs and largest errors of the motion after 1, 2, ... iterations (trials, iterations)."""

    plan: Any
    cost: Array
    violation: Array


def solved(cost: str, gradient: Slope, damping: float, trials: int, iterations: int) -> Solved:
    """All trials with derivatives of the inverse dynamics from elsewhere."""
    problem, dynamics = reach(cost, damping), condyle.load("iiwa14").compile()
    solver, (q, v, u) = problem.compile(), first(trials)

    def slope(q: Array, v: Array, u: Array) -> Array:
        """At each knot; no step follows the last one."""
        a = dynamics.forward_dynamics(q[:, :-1], v[:, :-1], u - damping * v[:, :-1])
        return gradient(q, v, np.concatenate([a, np.zeros_like(a[:, :1])], axis=1))

    plans = [solver.solve(q[:, 0], v[:, 0], start=(q, v, u), most=1, slope=slope(q, v, u))]
    for _ in range(iterations - 1):
        plan = plans[-1]
        given = slope(plan.q, plan.v, plan.u)
        plans.append(solver.step(plan, q[:, 0], v[:, 0], shift=0, slope=given))
    costs, off = np.stack([plan.cost for plan in plans], -1), np.stack([plan.violation for plan in plans], -1)
    return Solved(plans[-1], costs, off)


def measure(row: str, quick: bool) -> dict[str, Any]:
    """A word and float64, on the same trials."""
    if row in SOLVES:
        return alone(*row.split(" solve "), quick)
    cost, word, *what = row.split(" ", 2)
    trap = what[0] if what else ""
    damping, size = 0.5 if trap == "damping" else 0.0, (4, 15) if quick else (100, 40)
    exact = solved(cost, of_slope(gradient_of("float64", cost, "", damping)), damping, *size)
    gradient = Gradient(gradient_of(word, cost, trap, damping))
    return {**answer(cost, solved(cost, gradient, damping, *size), exact), **asked(gradient, word, cost)}


def of_slope(gradient: Callable[..., tuple[Array, Array]]) -> Slope:
    return lambda q, v, a: gradient(q, v, a)[0]


def alone(cost: str, dtype: str, quick: bool) -> dict[str, Any]:
    """`solve` from the same starts with the robot's own dynamics: the time of one trial, and of all in one call."""
    solver, starts = reach(cost).compile(dtype=dtype, threads=1), first(4 if quick else 100)
    q, v, u = (x.astype(dtype) for x in starts)
    tolerance = 1e-6 if dtype == "float64" else 1e-4

    def solve(trials: slice) -> Any:
        return solver.solve(q[trials, 0], v[trials, 0], start=(q[trials], v[trials], u[trials]), tolerance=tolerance)

    plan, each = solve(slice(None)), Sampling("cpu", 3 if quick else 20)
    times = interleaved({"one": lambda: solve(slice(1)), "all": lambda: solve(slice(None))}, each)
    return {
        "trials": len(q),
        "solved": float(plan.solved.mean()),
        "iterations": spread(plan.iterations),
        "final_cost": spread(plan.cost),
        **errors(cost, plan),
        "us": {"one": times["one"].minimum / 1e3, "one median": times["one"].median / 1e3}
        | {"each of all": times["all"].minimum / 1e3 / len(q)},
    }


def asked(gradient: Gradient, word: str, cost: str) -> dict[str, Any]:
    """What the gradient was asked, and how often its integers were clamped."""
    share = gradient.flagged / gradient.asked
    box = None if word.startswith("float") else box_of(word, cost)
    return {"flagged": share, "largest_v": gradient.largest["v"], "largest_a": gradient.largest["a"], "box": box}


def answer(cost: str, found: Solved, exact: Solved) -> dict[str, Any]:
    """Costs over iterations, the share of trials that converged, errors at the end."""
    reached = np.isfinite(found.cost) & (found.cost <= CONVERGED * exact.cost[:, -1:]) & (found.violation <= HELD)
    needed = 1 + reached.argmax(axis=1)[reached.any(axis=1)]
    return {
        "trials": len(found.cost),
        "iterations": found.cost.shape[1],
        "converged": float(reached[:, -1].mean()),
        "diverged": int(np.count_nonzero(~np.isfinite(found.cost[:, -1]))),
        "iterations_needed": float(np.median(needed)) if needed.size else None,
        "final_cost": spread(found.cost[:, -1]),
        "final_cost_float64": spread(exact.cost[:, -1]),
        **errors(cost, found.plan),
        "largest_defect": float(found.violation[:, -1].max()),
        "cost_low": np.min(found.cost, axis=0).tolist(),
        "cost_median": np.median(found.cost, axis=0).tolist(),
        "cost_high": np.max(found.cost, axis=0).tolist(),
    }


def errors(cost: str, plan: Any) -> dict[str, Any]:
    """How far the ends are from the goal."""
    ends = plan.q[:, -1].astype(np.float64)
    tip = condyle.load("iiwa14").compile(frames=(TIP,)).frame_placements(ends).translation[:, 0]
    joints = spread(np.linalg.norm(ends - GOAL_Q, axis=1)) if COSTS[cost][1].q else None
    return {"tip_error_m": spread(np.linalg.norm(tip - GOAL, axis=1)), "joint_error_rad": joints}


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
