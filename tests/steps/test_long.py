"""Steps of robots that are too long for straight code: calls of forward dynamics and integrate."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.specification.integrators import METHODS
from tests.laws.robots import relative
from tests.steps.test_step import BY_COST, drawn


@pytest.fixture(scope="module")
def long() -> condyle.Robot:
    return condyle.chain(120, rng=1)


@pytest.mark.parametrize("integrator", BY_COST)
def test_a_long_chain_takes_steps(long: condyle.Robot, integrator: str) -> None:
    q, v, tau = drawn(long, 3)
    v *= 0.01
    dyn = long.compile(integrator=integrator)
    assert "calls" in dyn.explain(1, ("step",)) and "loops over 120 links" in dyn.explain(1, ("step",))
    want = long.compile(integrator=integrator, target="numpy").step(q, v, tau, 1e-4)
    found = dyn.step(q, v, tau, 1e-4)
    assert relative(found.q, want.q) < 1e-12 and relative(found.v, want.v) < 1e-9
    one = dyn.step(q[1], v[1], tau[1], 1e-4)
    assert np.array_equal(one.q, found.q[1]) and np.array_equal(one.v, found.v[1])
    packed = dyn.step(*(dyn.pack(x) for x in (q, v, tau)), 1e-4)
    assert np.array_equal(packed.q.dense(), found.q)
    forces = np.ones((3, len(long.bodies), 6))
    pushed = dyn.step(q, v, tau, 1e-4, f_ext=forces)
    a = dyn.forward_dynamics(q, v, tau, f_ext=forces)
    if METHODS[integrator].order == 1:
        assert relative(pushed.v, v + 1e-4 * a) < 1e-12
    assert dyn.step(q[:0], v[:0], tau[:0], 1e-4).q.shape == (0, 120)


def test_derivatives_of_its_steps(long: condyle.Robot) -> None:
    q, v, tau = drawn(long, 2)
    v *= 0.01
    A, B = long.compile().step_derivatives(q, v, tau, 1e-4)
    da = long.compile().forward_dynamics_derivatives(q, v, tau)
    n = long.nv
    assert relative(A[:, n:, :n], 1e-4 * da.da_dq) < 1e-12 and relative(B[:, n:], 1e-4 * da.da_dtau) < 1e-12
    assert relative(A[:, n:, n:] - np.eye(n), 1e-4 * da.da_dv) < 1e-9
    assert (
        relative(A[:, :n] - np.eye(n, 2 * n) - np.eye(n, 2 * n, n) * 1e-4, 1e-4 * (A[:, n:] - np.eye(n, 2 * n, n)))
        < 1e-9
    )
