"""Functions of contacts as CasADi has them."""

from __future__ import annotations

import numpy as np
import pytest

import condyle

pytest.importorskip("casadi")

from condyle.interop.casadi import wrap


@pytest.mark.slow
def test_functions_of_contacts_and_steps_with_flags() -> None:
    robot = condyle.chain(2, 0)
    dyn = robot.compile(contacts=[condyle.Contact(robot.body_names[-1])])
    F, (q, v) = wrap(dyn), (x[0] for x in robot.random_state(1, 0))
    tau, active = np.ones(2), np.ones(1)
    found = F.constrained_forward_dynamics(q, v, tau, active)
    for x, want in zip(found, dyn.constrained_forward_dynamics(q, v, tau, active), strict=True):
        assert np.allclose(x.full().ravel(order="F" if want.ndim == 1 else "C"), np.ravel(want), atol=1e-9)
    after = F.step(q, v, tau, 1e-3, active)
    assert np.allclose(after[1].full().ravel(), dyn.step(q, v, tau, 1e-3, active=active).v, atol=1e-12)
