"""Shooting: torques that take an arm from rest to rest, sixty-four motions at once, by gradients through rollouts."""

from __future__ import annotations

import numpy as np

import condyle

N, STEPS, H = 64, 50, 0.01
robot = condyle.load("iiwa14")
n = robot.nv
dyn = robot.compile()
back = dyn.vjp("rollout")

rng = np.random.default_rng(0)
start = np.array([0.0, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0])
rest = np.zeros(n)
goal = start + rng.uniform(-0.4, 0.4, (N, n))

# The first guess: torques of smooth paths. Simulated step by step they end near the goals, not at them.
s = np.arange(STEPS)[:, None] / STEPS
path, rate, bend = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
way, T = (goal - start)[:, None], STEPS * H
tau = dyn.inverse_dynamics(start + way * path, way * rate / T, way * bend / T**2)
M = dyn.mass_matrix(start)  # changes are measured as accelerations, of which all joints have about as much

# One cotangent for each entry of the last state: the rows of the Jacobian of all motions by one call.
q_bar, v_bar = np.split(np.eye(2 * n)[:, None], 2, axis=-1)  # (2n, 1, n) each

for k in range(12):
    end = dyn.rollout(start, rest, tau, H, last=True)
    miss = np.concatenate((end.q - goal, end.v), axis=-1)
    print(f"{k:2d}: {np.abs(end.q - goal).max():.1e} rad from the goals, {np.abs(end.v).max():.1e} rad/s")
    if np.abs(miss).max() < 1e-9:
        break
    each = np.broadcast_to(tau, (2 * n, *tau.shape))
    slopes = back(start, rest, each, H, q_bar, v_bar, last=True).tau @ M
    J = slopes.swapaxes(0, 1).reshape(N, 2 * n, STEPS * n)
    # the least change of all torques that takes the whole error away, were the motion linear in them
    change = J.swapaxes(-1, -2) @ np.linalg.solve(J @ J.swapaxes(-1, -2), miss[..., None])
    tau = tau - change.reshape(N, STEPS, n) @ M

assert np.abs(miss).max() < 1e-9
print(f"torques of all motions: at most {np.abs(tau).max():.0f} N m")
