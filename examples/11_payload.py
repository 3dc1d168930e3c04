"""What does the arm hold? A payload's ten parameters from torques, by gradients with respect to inertias."""

from __future__ import annotations

import numpy as np

import condyle

N, BODY = 2000, -1  # measured states; the last link holds the payload
robot = condyle.load("iiwa14")
flange = robot.body_names[BODY]
box = np.diag([0.004, 0.006, 0.005])
loaded = robot.attach(flange, mass=1.7, com=(0.03, -0.02, 0.11), inertia=box)

# A motion and its torques, as a log would have them.
rng = np.random.default_rng(0)
q, v = robot.random_state(N, rng)
a = rng.uniform(-10.0, 10.0, v.shape)
measured = loaded.compile().inverse_dynamics(q, v, a) + 0.02 * rng.standard_normal(v.shape)

# One compiled robot serves all parameters: they are an argument, here one set for all states.
dyn = robot.compile(inputs=("inertias",))
pull_back = dyn.vjp("id")


def torques(inertias: np.ndarray) -> np.ndarray:
    return dyn.inverse_dynamics(q, v, a, inertias=inertias)


def gradient(inertias: np.ndarray, miss: np.ndarray) -> np.ndarray:
    """Of sum(miss * torques) by the last link's parameters; summed over states, because they share them."""
    return pull_back(q, v, a, miss, inertias=inertias).inertias[BODY]


def along(step: np.ndarray) -> np.ndarray:
    """Torques depend on inertias linearly: what a step of the last link's parameters adds."""
    only = np.zeros_like(robot.inertias)
    only[BODY] = step
    return torques(only)


# Least squares by conjugate gradients: it needs torques and gradients, and no matrix.
pi = np.array(robot.inertias)
miss = measured - torques(pi)
before = np.sqrt(np.mean(miss**2))
scale = 1.0 / np.array([1.0, *3 * [0.1], *6 * [0.01]])  # kg, kg m, kg m^2: a step in each weighs alike
down = gradient(pi, miss) / scale**2
step, size = down, np.sum((down * scale) ** 2)
for _ in range(40):
    ahead = along(step)
    length = size / np.sum(ahead**2)
    pi[BODY] += length * step
    miss = miss - length * ahead
    down = gradient(pi, miss) / scale**2
    step, size = down + np.sum((down * scale) ** 2) / size * step, np.sum((down * scale) ** 2)

payload = pi[BODY] - robot.inertias[BODY]
mass, com = payload[0], payload[1:4] / payload[0]
print(f"torques were off by {before:.2f} N m, now by {np.sqrt(np.mean(miss**2)):.3f} N m")
print(f"payload: {mass:.3f} kg, its centre at {com.round(3)} m in the frame of the last link")
assert np.isclose(mass, 1.7, atol=0.01)
assert np.allclose(pi, loaded.inertias, rtol=0, atol=0.01)
assert condyle.physical_inertias(pi).all()
