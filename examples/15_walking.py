"""A quadruped walks on a smooth ground: model predictive path integral control, its rollouts with feet that touch."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from condyle.ground import Foot, Ground

SAMPLES, H, EACH, KNOTS, CONTROLS = 192, 5e-4, 60, 10, 60  # rollouts; [s]; steps between knots; knots ahead; of these
SPREAD, TEMPERATURE = 0.12, 0.1  # of random joint angles [rad]; the lower, the more the best samples count
SPEED, PERIOD, LIFT = 0.4, 0.4, 0.28  # forward [m/s]; of the trot [s]; of a leg, by its angles [rad]
robot = condyle.load("hyq", floating_base=True)
LEGS, SIGN, PHASE = ("lf", "lh", "rf", "rh"), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 0.5, 0.5, 0.0])
FEET = [Foot(f"{leg}_lowerleg", (0.35, 0.0, 0.0)) for leg in LEGS]
ground = Ground(FEET, stiffness=4e4, damping=0.3, friction=0.8, slip=0.3)
STAND = np.stack([0.0 * SIGN, 0.75 * SIGN, -1.5 * SIGN], axis=1)  # of each leg: hip out, hip, knee


def move(at: Any, angles: Any, dt: Any) -> dict[str, Any]:
    """A step with joints held at angles by springs and dampers; its cost: speed, height, upright, straight on."""
    tau = np.concatenate([np.zeros(6), 600.0 * (angles - at.q[7:]) - 40.0 * at.v[6:]])
    after = at.step(tau, dt, f_ext=ground.f_ext(at))
    off = at.v[:2] - np.array([SPEED, 0.0])
    cost = 4.0 * (off @ off) + 0.1 * (at.v[3:6] ** 2).sum() + 20.0 * (at.q[3:6] ** 2).sum()
    cost = cost + 40.0 * (at.q[2] - 0.56) ** 2 + 5.0 * at.q[1] ** 2 + 0.05 * ((angles - STAND.ravel()) ** 2).sum()
    return {"q": after.q, "v": after.v, "cost": cost * dt}


def trot(time: np.ndarray) -> np.ndarray:
    """Angles (T, 12) that lift two feet at a time, on the spot; how to go on is for the samples."""
    lift = LIFT * np.maximum(np.sin(2.0 * np.pi * (time[:, None] / PERIOD + PHASE)), 0.0) * SIGN
    return (STAND + np.stack([0.0 * lift, lift, -2.0 * lift], axis=-1)).reshape(-1, 12)


def between(knots: np.ndarray) -> np.ndarray:
    """Lines between knots (..., KNOTS + 1, 12), a value for each step."""
    share = (np.arange(EACH) / EACH)[:, None]
    lines = knots[..., :-1, None, :] * (1.0 - share) + knots[..., 1:, None, :] * share
    return lines.reshape(*knots.shape[:-2], KNOTS * EACH, 12)


model = robot.function(move, inputs={"q": "nq", "v": "nv", "angles": 12, "dt": ()}).compile()
rng = np.random.default_rng(0)
q, v, plan = robot.neutral(), np.zeros(robot.nv), np.zeros((KNOTS + 1, 12))
q[2], q[7:] = 0.585, STAND.ravel()
for k in range(CONTROLS):
    gait = trot(H * (k * EACH + np.arange(KNOTS * EACH)))
    noise = SPREAD * rng.standard_normal((SAMPLES, KNOTS + 1, 12))
    every = gait + between(plan + noise)
    price = model.rollout(q, v, every, H, by_time=("angles",), sum=("cost",), last=True).cost
    weights = np.exp(-(price - price.min()) / (TEMPERATURE * (np.median(price) - price.min())))
    plan += np.einsum("s,skn->kn", weights / weights.sum(), noise)
    first = (gait + between(plan))[:EACH]
    q, v, _ = model.rollout(q, v, first, H, by_time=("angles",), sum=("cost",), last=True)
    plan = 0.95 * np.concatenate((plan[1:], plan[-1:]))
    if k % 10 == 9:
        print(f"after {(k + 1) * EACH * H:.1f} s: at {q[0]:.2f} m, {v[0]:.2f} m/s, base {q[2]:.2f} m high")

assert q[0] > 0.5 and abs(q[1]) < 0.1 and 0.5 < q[2] < 0.6 and np.abs(q[3:6]).max() < 0.1
