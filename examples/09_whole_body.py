"""Momentum of a humanoid about its centre of mass: what it is, what changes it, and how a body turns without any."""

from __future__ import annotations

import numpy as np

import condyle

robot = condyle.load("atlas", floating_base=True)
dyn = robot.compile(frames=("l_foot",), reference_frame="local_world_aligned")
weight = robot.mass * np.array(robot.gravity)

# The momentum of any motion: h = A_g v. Its linear part is the mass times the velocity of the centre of mass.
q, v = robot.random_state(64, 0)
h = dyn.centroidal_momentum(q, v)
assert np.allclose(h, (dyn.centroidal_momentum_matrix(q) @ v[..., None])[..., 0])
assert np.allclose(h[:, :3], robot.mass * (dyn.center_of_mass_jacobian(q) @ v[..., None])[..., 0])

# Its rate is the sum of the external forces: gravity, and a push on a foot. Motor torques do not change it.
push = np.random.default_rng(0).uniform(-200.0, 200.0, (64, 3))  # newton, in the foot's axes, at its origin
tau = np.random.default_rng(1).uniform(-50.0, 50.0, v.shape)
tau[:, :6] = 0.0  # no force acts on the pelvis
wrench = np.concatenate((push, np.zeros_like(push)), axis=-1)
a = dyn.forward_dynamics(q, v, tau, f_ext=robot.f_ext({"l_foot": wrench}))
foot = dyn.frame_placements(q)
force = (foot.rotation[:, 0] @ push[..., None])[..., 0]
arm = foot.translation[:, 0] - dyn.center_of_mass(q)
rate = np.concatenate((weight + force, np.cross(arm, force)), axis=-1)
assert np.allclose(dyn.centroidal_momentum_rate(q, v, a), rate, rtol=0, atol=1e-6)

# In the air angular momentum stays zero, and still the pelvis turns: arms that go round turn it the other way.
STEPS, TURNS = 400, 3
arms = [robot.joint(name).v_index for name in ("l_arm_shz", "l_arm_shx", "r_arm_shz", "r_arm_shx")]
phase, q, start = np.array([0.0, 0.5, 0.5, 0.0]) * np.pi, robot.neutral(), robot.neutral()


def swing(q: np.ndarray, t: float) -> np.ndarray:
    """dq by t, while t goes from 0 to 1: the arms are told, the base follows from A_g v = 0."""
    v, A = np.zeros(robot.nv), dyn.centroidal_momentum_matrix(q)
    v[arms] = 2.0 * np.pi * TURNS * np.cos(2.0 * np.pi * TURNS * t + phase)
    v[:6] = -np.linalg.solve(A[:, :6], A @ v)
    return v


for k in range(STEPS):
    middle = dyn.integrate(q, 0.5 / STEPS * swing(q, k / STEPS))
    q = dyn.integrate(q, 1.0 / STEPS * swing(middle, (k + 0.5) / STEPS))
moved = dyn.difference(start, q)
assert np.abs(moved[6:]).max() < 1e-3  # all joints are back where they were
assert np.abs(dyn.center_of_mass(q) - dyn.center_of_mass(start)).max() < 1e-3
turned = float(np.linalg.norm(moved[3:6]))
assert turned > 0.05
print(f"after {TURNS} swings of the arms the joints are as before, and the pelvis has turned by {turned:.2f} rad")
