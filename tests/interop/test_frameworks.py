"""What functions on JAX arrays and on PyTorch tensors have in common: answers, derivatives, batches, rollouts.

What one of them alone has is in test_jax*.py and test_torch*.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.interop.gradients import layout_of, tangent_gradient
from tests.interop.frameworks import FRAMEWORKS, ROBOTS, Case, Framework, case
from tests.processor import slow

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's own


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Iterator[Framework]:
    yield from FRAMEWORKS[request.param]()


@pytest.fixture(scope="module")
def fixed(framework: Framework) -> Case:
    return case(framework, "fixed")


@pytest.fixture(scope="module", params=["fixed", "floating", slow("hyq")])
def either(framework: Framework, request: pytest.FixtureRequest) -> Case:
    return case(framework, request.param)


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (0,)])
def test_answers_are_those_of_arrays(framework: Framework, either: Case, batch: tuple[int, ...]) -> None:
    robot, dyn, far = either[:3]
    q, v = robot.random_state(int(np.prod(batch, dtype=int)), 5)
    q, v, tau = q.reshape(*batch, robot.nq), v.reshape(*batch, robot.nv), either.tau[0]
    Q, V, T = map(framework.array, (q, v, tau))
    for call in (far.forward_dynamics, framework.jit(far.forward_dynamics)):
        assert np.array_equal(np.asarray(call(Q, V, T)), dyn.forward_dynamics(q, v, tau))
    found, want = far.inverse_dynamics_derivatives(Q, V, V), dyn.inverse_dynamics_derivatives(q, v, v)
    assert type(found) is type(want)
    assert all(np.array_equal(np.asarray(x), y) for x, y in zip(found, want, strict=True))
    assert np.array_equal(np.asarray(far.kinetic_energy(q=Q, v=V)), dyn.kinetic_energy(q, v))


def test_single_precision(framework: Framework) -> None:
    single = case(framework, "fixed", "float32")
    given = single.q, single.v, single.tau
    a = np.asarray(framework.jit(single.far.forward_dynamics)(*map(framework.array, given)))
    assert a.dtype == np.float32 and np.array_equal(a, single.dyn.forward_dynamics(*given))


@pytest.mark.parametrize("shared", [False, True])
def test_gradients_are_those_of_the_vjp(framework: Framework, either: Case, shared: bool) -> None:
    """By tangents, and by the entries of q; with one velocity for all states, whose gradient is the sum."""
    q, v, tau, nv = either.q, either.v[:1] if shared else either.v, either.tau[0], either.robot.nv
    given = tuple(map(framework.array, (q, v, tau)))
    want = either.dyn.vjp("fd")(q, v, tau, 2 * either.dyn.forward_dynamics(q, v, tau))
    tangent = framework.wrap(either.dyn, q_gradient="tangent")
    found = framework.jit(framework.of.grad(lambda *x: (tangent.forward_dynamics(*x) ** 2).sum(), (0, 1, 2)))(*given)
    found = [np.asarray(x) for x in found]
    assert [x.shape for x in found] == [x.shape for x in (q, v, tau)]
    assert np.allclose(found[0][..., :nv], want.q, rtol=1e-9) and not found[0][..., nv:].any()
    assert all(np.allclose(x, y, rtol=1e-9) for x, y in zip(found[1:], want[1:], strict=True))
    ambient = framework.of.grad(lambda *x: (either.far.forward_dynamics(*x) ** 2).sum())(*given)
    assert np.allclose(tangent_gradient(np, layout_of(either.robot), q, np.asarray(ambient)), want.q, rtol=1e-9)


@pytest.mark.smoke
def test_jacobians_and_hessians_are_the_closed_ones(framework: Framework, fixed: Case) -> None:
    of, fd, one = framework.of, fixed.far.forward_dynamics, (fixed.q[0], fixed.v[0], fixed.tau[0])
    given, lam = tuple(map(framework.array, one)), framework.array(fixed.v[1])
    want = fixed.dyn.forward_dynamics_derivatives(*one)
    batches = tuple(map(framework.array, (fixed.q, fixed.v, fixed.tau)))
    for mode in (of.jacfwd, of.jacrev):
        found = mode(fd, (0, 1, 2))(*given)
        assert all(np.allclose(np.asarray(x), y, rtol=1e-9, atol=1e-9) for x, y in zip(found, want, strict=True))
        mapped = np.asarray(of.vmap(mode(fd))(*batches))
        assert np.allclose(mapped, fixed.dyn.jacobian("fd", by="q")(fixed.q, fixed.v, fixed.tau), atol=1e-9)
    hessian = fixed.dyn.hessian("fd")(*one, fixed.v[1])[:3, :3]
    for outer in (of.jacfwd, of.jacrev):
        for inner in (of.jacfwd, of.jacrev):
            found = outer(inner(lambda q: (fd(q, *given[1:]) * lam).sum()))(given[0])
            assert np.allclose(np.asarray(found), hessian, rtol=1e-8, atol=1e-8)


def test_maps_in_maps_and_what_is_one_for_all(framework: Framework, either: Case) -> None:
    of, fd = framework.of, either.far.forward_dynamics
    q, v, tau = either.q, either.v, either.tau
    Q, V, T = map(framework.array, (q, v, tau))
    both = of.vmap(of.vmap(fd, (0, None, None)), (None, 0, None))(Q, V, T[0])
    assert np.array_equal(np.asarray(both), either.dyn.forward_dynamics(q[None], v[:, None], tau[0]))
    last = of.vmap(fd, (0, 1, None), 1)(Q, framework.array(np.ascontiguousarray(v.T)), T[0])
    assert np.array_equal(np.asarray(last).T, either.dyn.forward_dynamics(q, v, tau[0]))
    shared = of.vmap(lambda q, t: fd(q, V, t))(Q, T)  # v is a batch inside, q and tau one state each
    assert np.array_equal(np.asarray(shared), either.dyn.forward_dynamics(q[:, None], v, tau[:, None]))
    each = of.vmap(of.grad(lambda *x: fd(*x).sum(), (1, 2)))(Q, V, T)
    whole = either.dyn.vjp("fd")(q, v, tau, np.ones_like(v))
    assert all(np.allclose(np.asarray(x), y) for x, y in zip(each, whole[1:], strict=True))


@pytest.mark.parametrize("q_gradient", ["ambient", "tangent"])
def test_steps_one_after_the_other_have_the_gradient_of_a_rollout(
    framework: Framework, either: Case, q_gradient: str
) -> None:
    far = framework.wrap(either.dyn, q_gradient=q_gradient)
    given = tuple(map(framework.array, (either.q[0], either.v[0], either.tau[:3])))

    def stepped(q, v, tau):
        for k in range(3):
            q, v = far.step(q, v, tau[k], 0.01)
        return v.sum()

    def rolled(q, v, tau):
        return far.rollout(q, v, tau, 0.01, last=True).v.sum()

    found, want = (framework.of.grad(f, (0, 1, 2))(*given) for f in (stepped, rolled))
    assert all(np.allclose(np.asarray(x), np.asarray(y)) for x, y in zip(found, want, strict=True))
    end = either.dyn.rollout(either.q[0], either.v[0], either.tau[:3], 0.01, last=True)
    bars = np.zeros(either.robot.nv), np.ones_like(end.v)
    closed = either.dyn.vjp("rollout")(either.q[0], either.v[0], either.tau[:3], 0.01, *bars, last=True)
    assert np.allclose(np.asarray(want[2]), closed.tau)


def test_functions_of_users(framework: Framework) -> None:
    robot = ROBOTS["floating"]()
    tip = list(robot.frames)[-1]

    def reach(at, u):
        return {"cost": (at.frame(tip).translation ** 2).sum() + (u**2).sum(), "twice": 2.0 * u}

    f = robot.function(reach, inputs={"q": "nq", "u": 3}).compile(threads=1)
    far, (q, _), u = framework.wrap(f), robot.random_state(5, 3), np.arange(3.0)
    Q, U = map(framework.array, (q, u))
    found, want = far(Q, u=U), f(q, u)
    assert type(found) is type(want) and np.array_equal(np.asarray(found.cost), want.cost)
    assert np.allclose(np.asarray(framework.of.grad(lambda u: far(Q[0], u).cost)(U)), 2 * u)
    assert np.array_equal(np.asarray(far.hessian("cost")(Q, U)), f.hessian("cost")(q, u))
    assert far.jacobian(by="u")(Q, U)._fields == f.jacobian(by="u")(q, u)._fields


def test_an_iteration_of_a_users_function(framework: Framework) -> None:
    def root(x, a):
        y = 0.5 * (x + a / x)
        return {"x": y, "done": 1e-9 - abs(y - x).max(), "moved": abs(y - x).sum()}

    f = condyle.function(root, {"x": 2, "a": 2}).compile(threads=1)
    far, a = framework.wrap(f), np.exp(np.linspace(-9.0, 9.0, 20)).reshape(10, 2)
    X, A = map(framework.array, (np.ones((10, 2)), a))
    for options in ({"most": 30, "sum": "moved"}, {"until": ("done", "any")}, {"most": 3}):
        found, want = far.iterate(X, a=A, **options), f.iterate(np.ones((10, 2)), a, **options)
        assert type(found) is type(want) and found._fields[-1] == "iterations"
        for one, other in zip(found, want, strict=True):
            assert np.array_equal(np.asarray(one), other)
    with pytest.raises(UnsupportedError, match="iterate ends by itself and has no gradient"):
        framework.of.grad(lambda a: far.iterate(X[0], a).x.sum())(A[0])


def test_a_rollout_of_a_users_function(framework: Framework) -> None:
    f = condyle.function(lambda x, u: {"x": x + 0.1 * u, "cost": (x * u).sum()}, {"x": 2, "u": 2}).compile(threads=1)
    far, x, u = framework.wrap(f), np.ones(2), np.ones((4, 2))

    def cost(u):
        return far.rollout(framework.array(x), u, by_time="u", sum="cost").cost

    found = np.asarray(framework.of.grad(cost)(framework.array(u)))
    want = f.vjp("rollout")(x, u, np.zeros((4, 2)), np.ones(()), by_time="u", sum="cost").u
    assert np.allclose(found, want)
    h = 1e-6
    first = np.zeros_like(u)
    first[0, 0] = h
    ends = [float(np.asarray(cost(framework.array(u + s * first)))) for s in (1.0, -1.0)]
    assert np.isclose(found[0, 0], (ends[0] - ends[1]) / (2 * h), atol=1e-8)
