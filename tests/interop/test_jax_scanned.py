"""Rollouts of JAX arrays in forward mode and twice: derivatives of a scan of the function that is repeated."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import condyle
from tests.interop.jax_cases import Case, fixed, floating, jax, jnp, wide, wrap
from tests.processor import slow

__all__ = ["fixed", "floating", "wide"]
STEPS, BOTH = 4, (jax.jacfwd, jax.jacrev)


def states(far: Any, rows: list[int]) -> tuple[Any, Any]:
    """Velocities after these steps, by a rollout of every third and by a scan of steps."""

    def rolled(q: Any, v: Any, tau: Any) -> Any:
        return far.rollout(q, v, tau, 0.01, every=3).v

    def scanned(q: Any, v: Any, tau: Any) -> Any:
        def body(state: Any, u: Any) -> Any:
            after = far.step(*state, u, 0.01)
            return tuple(after), after.v

        return jax.lax.scan(body, (q, v), tau)[1][jnp.array(rows)]

    return rolled, scanned


def of_one(case: Case) -> tuple[Any, Any, Any]:
    return case.q[0], case.v[0], np.random.default_rng(1).normal(size=(STEPS, case.robot.nv))


def same(x: Any, y: Any) -> bool:
    return np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-9, atol=1e-9)


MORE = [pair for pair in itertools.product(BOTH, BOTH) if pair != (jax.jacfwd, jax.jacrev)]


def second(case: Case, f: Any, outer: Any, inner: Any) -> Any:
    return jax.jit(outer(inner(lambda *x: (f(*x) ** 2).sum(), 0), (1, 2)))(*of_one(case))


@pytest.mark.slow
@pytest.mark.parametrize(("outer", "inner"), [(jax.jacfwd, jax.jacrev), *(slow(*pair) for pair in MORE)])
def test_second_derivatives_are_those_of_a_scan_of_steps(fixed: Case, outer: Any, inner: Any) -> None:
    rolled, scanned = states(fixed.far, [2, 3])
    assert all(map(same, second(fixed, rolled, outer, inner), second(fixed, scanned, outer, inner)))


def test_first_derivatives_are_those_of_a_scan_of_steps(fixed: Case) -> None:
    for mode in BOTH:
        assert all(map(same, *(jax.jit(mode(f, (0, 1, 2)))(*of_one(fixed)) for f in states(fixed.far, [2, 3]))))


@pytest.mark.slow
@pytest.mark.parametrize("q_gradient", [slow("ambient"), "tangent"])
def test_quaternions(q_gradient: str) -> None:
    case = Case(condyle.random_tree(1, 1, types=("revolute",), floating_base=True))
    rolled, scanned = states(wrap(case.dyn, q_gradient), [2, 3])
    assert all(map(same, *(second(case, f, jax.jacfwd, jax.jacrev) for f in (rolled, scanned))))


def test_hessian_of_a_cost_is_that_of_differences(fixed: Case) -> None:
    q, v, tau = of_one(fixed)

    def cost(tau: Any) -> Any:
        return (fixed.far.rollout(q, v, tau, 0.05, last=True).q ** 2).sum()

    slope, h, along = jax.jit(jax.grad(cost)), 1e-5, np.random.default_rng(2).normal(size=tau.shape)
    hessian = jax.jit(jax.hessian(cost))(tau)
    assert np.allclose(
        np.tensordot(hessian, along), (slope(tau + h * along) - slope(tau - h * along)) / (2 * h), rtol=1e-6
    )


@pytest.mark.slow
def test_many_states_and_one_for_all(floating: Case) -> None:
    """Batches of two dimensions, an initial velocity for all, tangents of some inputs alone."""
    n, nv, far = 3, floating.robot.nv, floating.far
    q = np.stack([floating.q] * n)
    tau = np.random.default_rng(1).normal(size=(n, 2, STEPS, nv))

    def along(q: Any, v: Any, tau: Any) -> Any:
        return jax.jvp(lambda t: tuple(far.rollout(q, v, t, 0.01)), (tau,), (tau,))[1]

    alone = jax.jit(along)
    found = alone(q, floating.v[0], tau)
    for k, j in itertools.product(range(n), range(2)):
        assert all(same(x[k, j], y) for x, y in zip(found, alone(q[k, j], floating.v[0], tau[k, j]), strict=True))
    none = along(q[:, :0], floating.v[0], tau[:, :0])
    assert [x.shape for x in none] == [(n, 0, STEPS, floating.robot.nq), (n, 0, STEPS, nv)]
    mapped = jax.jit(jax.vmap(along, (0, None, 0)))(q, floating.v[0], tau)
    assert all(map(same, mapped, found))


def test_numbers_of_the_robot(floating: Case) -> None:
    """By the inertias, which each step reads."""
    q, v, tau = of_one(floating)
    pi = jnp.asarray(floating.robot.inertias)

    def end(pi: Any) -> Any:
        return floating.far.rollout(q, v, tau, 0.01, last=True, inertias=pi).v

    assert same(jax.jit(jax.jacfwd(end))(pi), jax.jit(jax.jacrev(end))(pi))


def test_functions_of_users_with_sums() -> None:
    f = condyle.function(lambda x, u: {"x": x + 0.1 * u * x, "cost": (x * u).sum()}, {"x": 2, "u": 2})
    far, x, u = wrap(f.compile(threads=1)), jnp.ones(2), jnp.asarray(np.random.default_rng(1).normal(size=(4, 2)))

    def by_hand(u: Any) -> Any:
        at, total = x, 0.0
        for row in u:
            at, total = at + 0.1 * row * at, total + (at * row).sum()
        return total

    def rolled(u: Any) -> Any:
        return far.rollout(x, u, by_time="u", sum="cost").cost

    assert same(jax.jit(jax.hessian(rolled))(u), jax.jit(jax.hessian(by_hand))(u))


def test_the_last_answer_of_what_is_not_carried() -> None:
    f = condyle.function(lambda x, u: {"x": x + 0.1 * u, "cost": (x * u).sum()}, {"x": 2, "u": 2}).compile(threads=1)
    x, u, far = np.ones(2), np.random.default_rng(2).normal(size=(STEPS, 2)), wrap(f)

    def cost(u: Any) -> Any:
        return far.rollout(jnp.asarray(x), u, by_time="u", last=True).cost

    assert np.allclose(cost(u), f.rollout(x, u, by_time="u", last=True).cost)
    want = f.vjp("rollout")(x, u, np.zeros(2), np.ones(()), by_time="u", last=True).u
    assert all(np.allclose(mode(cost)(jnp.asarray(u)), want) for mode in BOTH)
