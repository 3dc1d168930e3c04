"""The integers of the FPGA accelerator in Python: their errors, a rollout, the Verilog on the same call."""

from __future__ import annotations

import shutil

import numpy as np

import condyle

robot = condyle.load("iiwa14")
dyn = robot.compile()
fx = condyle.fixed_point(robot, word="27x18", box={"v": 10.0, "a": 100.0}, step=1e-3)

q, v = robot.random_state(1000, 0)
v = np.clip(v, -10.0, 10.0)
tau = dyn.generalized_gravity(q)
a, flag = fx.forward_dynamics(q, v, tau)
error = np.abs(a - dyn.forward_dynamics(q, v, tau)).max(axis=-1)
print(
    f"forward dynamics: median error {np.median(error[~flag]):.1e} rad/s^2, {flag.sum()} of {flag.size} states flagged"
)

# a rollout of one second: each step is a task of the accelerator, the state goes back as floats
state, exact = (q[0], 0.1 * v[0]), (q[0], 0.1 * v[0])
step = robot.compile(integrator="rk4").step
for _ in range(1000):
    torque = dyn.generalized_gravity(state[0]) - 2.0 * state[1]
    state, left = fx.rk4(*state, torque)
    assert not left
    exact = step(*exact, dyn.generalized_gravity(exact[0]) - 2.0 * exact[1], np.array(1e-3))
print(f"after 1000 steps q is off by {np.abs(state[0] - exact[0]).max():.1e} rad")

width, point = fx.formats("id")["q"][0]
word = fx.words("id", q[0], v[0], a[0])["q"][0]
print(f"the first angle as a word of {width} bits, {point} of them behind the point: {word}")

if shutil.which("iverilog"):
    simulated, _ = fx.simulate("id", q[:20], v[:20], a[:20])
    print("the Verilog answers the same:", np.array_equal(simulated, fx.inverse_dynamics(q[:20], v[:20], a[:20])[0]))
