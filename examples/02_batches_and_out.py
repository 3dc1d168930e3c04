"""Many states in one call, broadcasting, answers written in place."""

from __future__ import annotations

import numpy as np

import condyle

robot = condyle.load("hyq", floating_base=True)
dyn = robot.compile()

# 4 trajectories of 25 states each
q, v = robot.random_state(100, 0)
q, v = q.reshape(4, 25, robot.nq), v.reshape(4, 25, robot.nv)

# one torque for all of them: leading dimensions are broadcast
tau = np.zeros(robot.nv)
out = np.empty((4, 25, robot.nv))
answer = dyn.forward_dynamics(q, v, tau, out=out)
assert answer is out
print("accelerations:", out.shape)

# a push on one shank, 10 N along its own z, at every state
f_ext = robot.f_ext({"lf_lowerleg": np.array([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])})
pushed = dyn.forward_dynamics(q, v, tau, f_ext=f_ext)
print("largest change by the push:", np.round(np.abs(pushed - out).max(), 3))
assert not np.allclose(pushed, out)
