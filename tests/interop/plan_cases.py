"""Small problems of optimal control for the tests of frameworks: an arm, and a ball joint with a second body."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import condyle
from condyle.jobs.optimal_control import OptimalControl


@cache
def solver(is_plain: bool = True, dtype: str = "float64") -> Any:
    robot = condyle.chain(2, 3) if is_plain else condyle.random_tree(2, 7, types=("spherical",))
    tip = list(robot.frames)[-1]

    def running(at: Any, u: Any, goal: Any, weight: Any) -> dict[str, Any]:
        return {"residual": [weight * (at.frame(tip).translation - goal), 0.3 * at.v, 0.3 * u]}

    inputs = {"goal": 3, "weight": ()}
    job = OptimalControl(robot, running, knots=4, dt=0.05, inputs=inputs, by_knot=("goal",), bounds={"u": False})
    return job.compile(dtype=dtype, threads=1)


def state(is_plain: bool = True, dtype: str = "float64") -> dict[str, Any]:
    """Two problems that share a weight."""
    q, v = solver(is_plain).problem.robot.random_state(2, 3)
    goal = 0.1 * np.sin(np.arange(30.0)).reshape(2, 5, 3)
    values = {"q": 0.5 * q if is_plain else q, "v": 0.1 * v, "goal": goal, "weight": np.array(1.3)}
    return {name: np.asarray(value, dtype) for name, value in values.items()}
