"""Predictive control of eight arms at once: each is pushed, keeps its limits, and comes to its goal; one call a period.

A problem is the cost of one knot. `solve` makes the first plans, until they are optimal. Then each period has one
iteration from the states that were measured, and the gains of the plan act between two of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

N, H, ARMS, FINE = 60, 0.02, 8, 10  # intervals of a plan, their length [s], arms, and steps of the arms in each
robot = condyle.load("iiwa14")
n = robot.nv
start, goal = robot.neutral(), np.array([0.5, 0.6, -0.5, -1.2, 0.3, 0.8, 0.2])
hold = robot.compile().generalized_gravity(goal)


def along(at: Any, u: Any) -> dict[str, Any]:
    """Near the goal, slowly, with torques near those that hold the arm there."""
    return {"residual": [at.q - goal, 0.3 * at.v, 3e-3 * (u - hold)]}


def at_end(at: Any) -> dict[str, Any]:
    return {"residual": [10.0 * (at.q - goal), 3.0 * at.v]}


torque, speed = 0.6 * robot.effort, np.full(n, 1.5)
limits = {"u": (-torque, torque), "v": (-speed, speed), "q": True}
control = condyle.OptimalControl(robot, along, at_end, knots=N, dt=H, bounds=limits).compile()
arm = robot.compile(integrator="rk4")  # the arms are not quite the model: finer steps of another integrator

q, v = np.tile(start, (ARMS, 1)), np.zeros((ARMS, n))
plan = control.solve(q, v)
print(f"{plan.iterations[0]:.0f} iterations; plans end {np.abs(plan.q[:, -1] - goal).max():.4f} rad from the goal")
assert plan.solved.all()

random, most = np.random.default_rng(0), 0.0
for k in range(120):
    plan = control.step(plan, q, v, shift=min(k, 1))
    gains = plan.K[:, 0]
    for _ in range(FINE):
        beside = np.concatenate([q - plan.q[:, 0], v - plan.v[:, 0]], axis=-1)
        tau = plan.u[:, 0] + (gains @ beside[..., None])[..., 0]
        q, v = arm.step(q, v, tau, H / FINE)
    most = max(most, float(np.abs(plan.u[:, 0] / torque).max()))
    if k in (20, 40):
        v = v + random.normal(0.0, 0.4, v.shape)  # a push
    if k % 20 == 19:
        print(f"{H * (k + 1):.1f} s: {np.abs(q - goal).max():.4f} rad from the goal, {np.abs(v).max():.2f} rad/s")

assert most <= 1.0
assert np.abs(q - goal).max() < 0.05 and np.abs(v).max() < 0.1
