"""Functions of contacts on JAX arrays."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.model.placement import Placement

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

from condyle.interop import jax as interop  # noqa: E402

FOOT = Placement.from_rpy((0.33, 0.0, 0.0))
ROBOT = condyle.load("hyq", floating_base=True)
DYN = ROBOT.compile(contacts=[Contact(leg, placement=FOOT) for leg in ("lf_lowerleg", "rh_lowerleg")], threads=1)
FAR = interop.wrap(DYN, q_gradient="tangent")
N = 3


def state() -> tuple[np.ndarray, ...]:
    q, v = ROBOT.random_state(N, 0)
    return q, v, np.random.default_rng(0).standard_normal((N, ROBOT.nv)), np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])


def test_they_answer_as_the_library_does_under_jit_and_vmap() -> None:
    given = state()
    want = DYN.constrained_forward_dynamics(*given)
    for call in (jax.jit(FAR.constrained_forward_dynamics), jax.vmap(FAR.constrained_forward_dynamics)):
        found = call(*given)
        assert all(np.allclose(x, y, rtol=1e-12, atol=1e-9) for x, y in zip(found, want, strict=True))


def test_gradients_are_those_of_the_vjp() -> None:
    q, v, tau, active = state()

    def cost(tau):
        a, force = FAR.constrained_forward_dynamics(q, v, tau, active)
        return (a**2).sum() + (force[..., 2] ** 2).sum()

    a, force = DYN.constrained_forward_dynamics(q, v, tau, active)
    bar = np.zeros_like(force)
    bar[..., 2] = 2.0 * force[..., 2]
    want = DYN.vjp("cfd")(q, v, tau, active, 2.0 * a, bar).tau
    assert np.allclose(jax.grad(cost)(tau), want, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_steps_take_flags() -> None:
    q, v, tau, active = state()
    want = DYN.step(q, v, tau, 1e-3, active=active)
    found = jax.jit(lambda v: FAR.step(q, v, tau, 1e-3, active=active))(v)
    assert all(np.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in zip(found, want, strict=True))
    free = jax.grad(lambda tau: FAR.step(q, v, tau, 1e-3, active=active).v.sum())(tau)
    _, B = DYN.step_derivatives(q, v, tau, 1e-3, active=active)
    assert np.allclose(free, B[:, ROBOT.nv :].sum(1), atol=1e-12)
