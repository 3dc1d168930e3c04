"""Shooting: slow motions of an arm from rest to rest, sixty-four at once, and the proof by gradients through rollouts.

A plan is the best one if no change of its torques makes it cheaper that ends at the goal too. So the gradient of cost
and end together is zero, if the end is weighted by the multipliers of the goal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

N, STEPS, H, WEIGHT = 64, 50, 0.01, 0.01
robot = condyle.load("iiwa14")
start, rest = np.array([0.0, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0]), np.zeros(robot.nv)
goal = start + np.random.default_rng(0).uniform(-0.4, 0.4, (N, robot.nv))


def slow(at: Any, u: Any) -> dict[str, Any]:
    """Half the sum of squares: of speeds, and of torques with a small weight."""
    return {"residual": [at.v, WEIGHT * u]}


def arrived(at: Any, goal: Any) -> dict[str, Any]:
    return {"equal": [at.q - goal, at.v]}


problem = condyle.OptimalControl(robot, slow, arrived, knots=STEPS, dt=H, inputs={"goal": "nq"}, bounds={})
plan = problem.compile().solve(start, rest, goal=goal, tolerance=1e-9)
print(f"{plan.iterations.max():.0f} iterations at the most, torques of at most {np.abs(plan.u).max():.0f} N m")
assert plan.solved.all()

dyn = robot.compile()
way = dyn.rollout(start, rest, plan.u, H)  # states after each step: (64, 50, 7)
miss = np.abs(way.q[:, -1] - goal).max(), np.abs(way.v[:, -1]).max()
print(f"rolled out, they end {miss[0]:.1e} rad from the goals at {miss[1]:.1e} rad/s")
assert max(miss) < 1e-7

q_bar, v_bar = np.zeros_like(way.q), way.v.copy()  # the cost's slope by each state, and at the end the multipliers
q_bar[:, -1], v_bar[:, -1] = np.split(plan.multipliers["last_equal"], 2, axis=-1)
slope = dyn.vjp("rollout")(start, rest, plan.u, H, q_bar, v_bar).tau + WEIGHT**2 * plan.u
part = np.abs(WEIGHT**2 * plan.u).max()
print(f"the gradient by torques is {np.abs(slope).max():.1e}; that of the torques' cost alone {part:.1e}")
assert np.abs(slope).max() < 1e-3 * part
