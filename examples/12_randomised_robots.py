"""Four thousand different quadrupeds: every state has its own inertias, and one compiled robot serves them all."""

from __future__ import annotations

import numpy as np

import condyle

N, STEPS, H = 4096, 100, 2e-3
robot = condyle.load("hyq", floating_base=True)
dyn = robot.compile(inputs=("inertias",))
rng = np.random.default_rng(0)

# Each link is heavier or lighter by up to 20 %, and the trunk carries up to 15 kg somewhere on its back.
pi = robot.inertias * rng.uniform(0.8, 1.2, (N, len(robot.bodies), 1))
mass = rng.uniform(0.0, 15.0, N)
at = rng.uniform((-0.3, -0.1, 0.1), (0.3, 0.1, 0.2), (N, 3))
pi[:, 0, 0] += mass
pi[:, 0, 1:4] += mass[:, None] * at
square = np.sum(at**2, axis=-1)[:, None, None] * np.eye(3) - at[:, :, None] * at[:, None, :]  # about the link's origin
pi[:, 0, 4:] += mass[:, None] * square[:, [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]  # Ixx Ixy Iyy Ixz Iyz Izz
assert condyle.physical_inertias(pi).all()

# One state and one set, against a robot that is built with it.
q, v = robot.random_state(N, 1)
tau = rng.uniform(-20.0, 20.0, v.shape)
a = dyn.forward_dynamics(q, v, tau, inertias=pi)
rebuilt = robot.with_inertias(pi[7]).compile(target="numpy").forward_dynamics(q[7], v[7], tau[7])
assert np.allclose(a[7], rebuilt, rtol=0, atol=1e-8 * np.abs(rebuilt).max())

# Legs kick in the air; torques by time are the same for all, so they have no batch dimension.
q, v = robot.neutral(), np.zeros(robot.nv)
kick = np.zeros((STEPS, robot.nv))
kick[:, 6:] = 15.0 * np.sin(2.0 * np.pi * np.arange(STEPS) / STEPS)[:, None] * rng.uniform(-1.0, 1.0, robot.nv - 6)
end = dyn.rollout(q, v, kick, H, inertias=pi, last=True)

turned = np.linalg.norm(dyn.difference(q, end.q)[:, 3:6], axis=-1)
print(f"trunks have turned by {turned.min():.3f} to {turned.max():.3f} rad, {turned.mean():.3f} on average")
assert turned.std() > 0.01 * turned.mean()

# The kicks do not change the fall: every centre of mass has the same acceleration.
fallen = dyn.center_of_mass(end.q, inertias=pi) - dyn.center_of_mass(q, inertias=pi)
t = STEPS * H
assert np.allclose(fallen, 0.5 * np.array(robot.gravity) * t * (t + H), rtol=0, atol=5e-3)
