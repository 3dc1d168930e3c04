"""Gradients of functions on JAX arrays: the library's vjp, JAX's own checks, second derivatives, rollouts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import condyle
from tests.interop.jax_cases import fixed, floating, hyq, jax, jnp, wide, wrap
from tests.processor import slow

__all__ = ["fixed", "floating", "hyq", "wide"]

check = partial(pytest.importorskip("jax.test_util").check_grads, rtol=1e-3, atol=1e-3)
SECOND = {
    "hessian": lambda f: jax.hessian(f),
    "reverse twice": lambda f: jax.jacrev(jax.jacrev(f)),
    "forward twice": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "forward in reverse": lambda f: jax.jacrev(jax.jacfwd(f)),
}


@pytest.mark.parametrize("case", ["fixed", slow("floating")])
def test_first_and_second_derivatives_by_differences(case, request):
    of = request.getfixturevalue(case)
    check(jax.jit(of.fd), of.args, 2, modes=("fwd", "rev"))


def test_forces_and_numbers_of_the_robot(floating):
    rng, pi = np.random.default_rng(2), np.array(floating.robot.inertias)
    f_ext = rng.normal(size=(2, len(pi), 6))

    @jax.jit
    def fd(q, v, tau, f_ext, pi, gravity):
        q = floating.unit(q)
        return 0.01 * floating.far.forward_dynamics(q, v, tau, f_ext=f_ext, inertias=pi, gravity=gravity)

    check(fd, (*floating.args, f_ext, pi, np.array(floating.robot.gravity)), 1, modes=("fwd", "rev"))


@pytest.mark.parametrize("kind", SECOND)
def test_hessians(fixed, kind):
    q, v, tau = (x[0] if x.ndim > 1 else x for x in fixed.args)
    lam = np.array([0.3, -0.7, 0.2])
    found = SECOND[kind](lambda x: lam @ fixed.far.forward_dynamics(x[:3], x[3:6], x[6:]))(np.concatenate([q, v, tau]))
    assert np.allclose(found, fixed.dyn.hessian("fd")(q, v, tau, lam), rtol=1e-8)


def test_one_call_of_the_vjp_and_no_matrix(fixed):
    loss = jax.grad(lambda q: fixed.far.forward_dynamics(q, fixed.v, fixed.tau).sum())
    calls = [
        eqn.params["what"].name for eqn in jax.make_jaxpr(loss)(fixed.q).eqns if eqn.primitive.name == "condyle_call"
    ]
    assert calls == ["fd", "vjp_fd"]


def test_transposes_of_derivatives(fixed):
    q, v, tau = (x[0] if x.ndim > 1 else x for x in fixed.args)
    jvp = partial(fixed.far.jvp("fd"), q, v, tau)
    vjp = partial(fixed.far.vjp("fd"), q, v, tau)
    zero, bar = np.zeros(3), jnp.array([1.0, 2.0, 3.0])
    (found,) = jax.linear_transpose(lambda along: jvp(along, zero, zero), zero)(bar)
    assert np.allclose(found, vjp(bar).q)
    (found,) = jax.linear_transpose(lambda bar: vjp(bar).v, bar)(bar)
    assert np.allclose(found, jvp(zero, bar, zero))
    assert np.allclose(jax.jacfwd(lambda bar: vjp(bar).q)(bar), jax.jacrev(lambda bar: vjp(bar).q)(bar))


@pytest.mark.slow
def test_rollouts(floating):
    taus = np.random.default_rng(1).normal(size=(2, 4, floating.robot.nv))

    @jax.jit
    def rolled(q, v, taus, dt):
        return floating.far.rollout(floating.unit(q), v, taus, dt)

    check(rolled, (floating.q, floating.v, taus, 0.01), 1, modes=("fwd", "rev"))
    mapped = jax.vmap(jax.grad(lambda *x: rolled(*x, 0.01).v.sum(), (0, 2)))(floating.q, floating.v, taus)
    whole = jax.grad(lambda *x: rolled(*x, 0.01).v.sum(), (0, 2))(floating.q, floating.v, taus)
    assert all(np.allclose(x, y) for x, y in zip(mapped, whole, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("q_gradient", [slow("ambient"), "tangent"])
def test_steps_one_after_the_other_have_the_gradient_of_a_rollout(floating, q_gradient):
    far, taus = wrap(floating.dyn, q_gradient), np.random.default_rng(1).normal(size=(3, floating.robot.nv))

    def scanned(q, v, taus):
        return jax.lax.scan(lambda state, tau: (tuple(far.step(*state, tau, 0.01)), None), (q, v), taus)[0][1].sum()

    def rolled(q, v, taus):
        return far.rollout(q, v, taus, 0.01, last=True).v.sum()

    given = floating.q[0], floating.v[0], taus
    found, want = (jax.jit(jax.grad(f, (0, 1, 2)))(*given) for f in (scanned, rolled))
    assert all(np.allclose(x, y) for x, y in zip(found, want, strict=True))
    along = tuple(map(jnp.ones_like, given))
    _, forward = jax.jvp(scanned, given, along)
    bent = jax.grad(lambda *x: jax.jvp(scanned, x, along)[1], (1,))(*given)
    assert np.isfinite(forward) and np.isfinite(bent[0]).all()


@pytest.mark.slow
def test_third_derivatives_are_there_or_said():
    f = condyle.function(lambda x: {"y": (x**4).sum()}, {"x": 2}).compile(threads=1)
    far, x = wrap(f), jnp.array([1.0, 2.0])
    found = jax.jacfwd(jax.hessian(far))(x)
    assert np.allclose(np.diagonal(found[0])[:1], 24.0) and np.allclose(found[1, 1, 1], 48.0)
