"""Chains of calls on packed arrays: no transposes between calls, no zeros stored."""

from __future__ import annotations

import numpy as np

import condyle

robot = condyle.load("hyq")
dyn = robot.compile()
q, v = robot.random_state(1000, 0)

packed_q, packed_v = dyn.pack(q), dyn.pack(v)
tau = dyn.inverse_dynamics(packed_q, packed_v, dyn.pack(np.zeros_like(v)))  # packed arguments, packed results
a = dyn.forward_dynamics(packed_q, packed_v, tau)  # and results are arguments
print("largest acceleration that should be zero:", np.abs(a.dense()).max())

derivatives = dyn.forward_dynamics_derivatives(packed_q, packed_v, tau)
print(derivatives.da_dq)
print(f"{derivatives.da_dq.nbytes} bytes, {derivatives.da_dq.dense().nbytes} dense: a leg does not see the others")
print(derivatives.da_dq[7][:3, :6].round(2))  # the first leg's rows in one state, as NumPy has them

again = dyn.forward_dynamics_derivatives(packed_q, packed_v, tau, out=derivatives)
assert again.da_dq is derivatives.da_dq
