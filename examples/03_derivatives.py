"""The linear model that an optimal controller asks for, checked by differences."""

from __future__ import annotations

import numpy as np

import condyle

robot = condyle.load("hyq", floating_base=True)
dyn = robot.compile()
q, v = robot.random_state(1, 0)
q, v = q[0], v[0]
tau = np.zeros(robot.nv)

slopes = dyn.forward_dynamics_derivatives(q, v, tau)
print("da/dq", slopes.da_dq.shape, " da/dv", slopes.da_dv.shape, " da/dtau", slopes.da_dtau.shape)

# one step along every direction of the tangent space at once: nq is 19, nv is 18
step = 1e-6
directions = step * np.eye(robot.nv)
ahead = dyn.forward_dynamics(robot.integrate(q, directions), v, tau)
behind = dyn.forward_dynamics(robot.integrate(q, -directions), v, tau)
by_differences = ((ahead - behind) / (2.0 * step)).T

error = np.abs(by_differences - slopes.da_dq).max() / np.abs(slopes.da_dq).max()
print(f"relative difference from central differences: {error:.1e}")
assert error < 1e-5

# the derivatives of a, from an a and an Minv that are known already
a, minv = dyn.forward_dynamics(q, v, tau), dyn.mass_matrix_inverse(q)
given = dyn.dynamics_derivatives(q, v, a, minv)
assert np.allclose(given.da_dq, slopes.da_dq, rtol=0, atol=1e-8 * np.abs(slopes.da_dq).max())
