"""Load a robot, compile it, call a function on one state."""

from __future__ import annotations

import numpy as np

import condyle

robot = condyle.load("iiwa14")
dyn = robot.compile()

q = robot.neutral()
v = np.zeros(robot.nv)
tau = dyn.inverse_dynamics(q, v, np.zeros(robot.nv))
print("torques that hold the arm upright:", np.round(tau, 3))

a = dyn.forward_dynamics(q, v, tau)
print("accelerations under them:", np.round(a, 9))
assert np.allclose(a, 0.0, atol=1e-9)
