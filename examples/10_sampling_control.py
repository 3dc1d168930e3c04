"""Model predictive path integral control of an arm: a thousand rollouts with their cost in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

SAMPLES, AHEAD, H, STEPS = 1000, 25, 0.02, 120  # rollouts, their steps, seconds of a step, steps of the controller
SPREAD, TEMPERATURE = 2.0, 0.03  # of random inputs [rad/s^2]; the lower, the more the best samples count
TIP, GOAL = "iiwa_link_7", np.array([0.45, 0.35, 0.6])
robot = condyle.load("iiwa14")
n = robot.nv
tip = robot.compile(frames=(TIP,))
q, v, plan = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0]), np.zeros(n), np.zeros((AHEAD, n))
weight = np.diag(tip.mass_matrix(q))  # what each joint moves, so that inputs are about accelerations


def move(at: Any, u: Any, dt: Any) -> dict[str, Any]:
    """A step under gravity compensation, damping and u; its cost. Outputs named as inputs go on to the next step."""
    after = at.step(at.generalized_gravity() + weight * (u - 2.0 * at.v), dt)
    miss = at.frame(TIP).translation - GOAL
    cost = 10.0 * (miss**2).sum() + 0.02 * (at.v**2).sum() + 1e-4 * (u**2).sum()
    return {"q": after.q, "v": after.v, "cost": cost}


model = robot.function(move, inputs={"q": "nq", "v": "nv", "u": n, "dt": ()}).compile()
rng = np.random.default_rng(0)
start = np.linalg.norm(tip.frame_placements(q).translation[0] - GOAL)
for k in range(STEPS):
    # noise that changes slowly moves an arm farther than noise that does not
    noise = np.cumsum(rng.standard_normal((SAMPLES, AHEAD, n)), axis=1) / np.sqrt(np.arange(1, AHEAD + 1))[:, None]
    u = plan + SPREAD * noise
    price = model.rollout(q, v, u, H, by_time=("u",), sum=("cost",), last=True).cost
    weights = np.exp(-(price - price.min()) / TEMPERATURE)
    plan = np.einsum("s,stn->tn", weights / weights.sum(), u)
    q, v, _ = model(q, v, plan[0], H)
    plan = np.concatenate((plan[1:], plan[-1:]))
    if k % 20 == 19:
        miss = np.linalg.norm(tip.frame_placements(q).translation[0] - GOAL)
        print(f"after {(k + 1) * H:.1f} s: {1e3 * miss:5.0f} mm from the goal, {np.abs(v).max():.2f} rad/s at most")

assert miss < 0.1 * start
