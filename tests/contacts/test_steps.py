"""Steps and rollouts with flags: what they are made of, impacts where flags rise, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle import Dynamics
from tests.contacts.cases import Array, Case, apart, drawn, hyq, moved, slopes, tree
from tests.processor import slow
from tests.steps.equations import stepped
from tests.steps.test_step import BY_COST

H, T = 0.01, 6


def flags(case: Case, n: int, seed: int = 0) -> Array:
    """(n, T, C): some fall, some rise, some do both."""
    found = np.random.default_rng(seed).integers(0, 2, (n, T, len(case.contacts))).astype(float)
    found[0, 0], found[0, -1] = 0.0, 1.0
    return found


def by_hand(case: Case, dyn: Dynamics, q: Array, v: Array, tau: Array, active: Array) -> list[tuple[Array, Array]]:
    """Semi-implicit Euler, and an impact with all contacts that are on where some flag rises."""
    found, before = list[tuple[Array, Array]](), active[:, 0]
    for t in range(T):
        rises = np.any((before == 0.0) & (active[:, t] == 1.0), axis=1)
        landed, _ = dyn.impulse_dynamics(q, v, active[:, t], np.zeros_like(active[:, t]))
        v = np.where(rises[:, None], landed, v)
        a, _ = dyn.constrained_forward_dynamics(q, v, tau[:, t], active[:, t])
        q, v = stepped(case.robot, q, v, a, H)
        found.append((q, v))
        before = active[:, t]
    return found


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
@pytest.mark.parametrize("name", [3, 0, slow(1)])
def test_a_rollout_is_steps_and_impacts(name: int, target: str) -> None:
    case = tree(name)
    dyn = case.compile(target)
    q, v = case.robot.random_state(4, 1)
    tau, active = np.random.default_rng(2).normal(size=(4, T, case.robot.nv)), flags(case, 4)
    expected = by_hand(case, case.compile(), q, v, tau, active)
    whole = dyn.rollout(q, v, tau, H, active=active, by_time=("active",))
    for t, (q_t, v_t) in enumerate(expected):
        assert apart([whole.q[:, t], whole.v[:, t]], [q_t, v_t]) < 1e-8
    some = dyn.rollout(q, v, tau, H, active=active, by_time=("active",), every=2)
    np.testing.assert_array_equal(some.v, whole.v[:, 1::2])
    end = dyn.rollout(q, v, tau, H, active=active, by_time=("active",), last=True)
    np.testing.assert_array_equal(end.q, whole.q[:, -1])


@pytest.mark.parametrize(
    ("integrator", "name"),
    [("semi_implicit_euler", 3), ("euler", 1), slow("semi_implicit_euler", 1), slow("rk4", 3)],
)
def test_the_jacobian_of_a_step_with_an_impact(integrator: str, name: int) -> None:
    """By closed forms where steps are of first order: the jvp, which is differentiated, along q, v and tau."""
    case, dt = tree(name), np.full(4, H)
    dyn = case.compile(integrator=integrator)
    q, v = case.robot.random_state(4, 1)
    tau, active = np.random.default_rng(2).normal(size=v.shape), flags(case, 4)[:, 0]
    active[1:3] = 1.0
    rising = np.zeros_like(active)
    rising[1], rising[2, 0] = 1.0, 1.0
    along = drawn([q, v, tau], case.robot.nv, 3)
    jacobian: Any = dyn.jacobian("step_active_rising", by=("q", "v", "tau"))(q, v, tau, dt, active, rising)
    ahead: Any = dyn.jvp("step_active_rising")(
        q, v, tau, dt, active, rising, *along, 0.0 * dt, 0.0 * active, 0.0 * rising
    )
    for of, one in zip(("q", "v"), ahead, strict=True):
        blocks = [getattr(jacobian, f"d{of}_d{by}") for by in ("q", "v", "tau")]
        found = sum(block @ dx[..., None] for block, dx in zip(blocks, along, strict=True))
        assert apart(found[..., 0], one) < 1e-8, of


def test_flags_that_are_held_apply_no_impact() -> None:
    """All on by default; of a step too, whose kernels of other gains are others."""
    case = tree(3)
    q, v = case.robot.random_state(3, 1)
    tau = np.random.default_rng(2).normal(size=(3, T, case.robot.nv))
    on = np.ones((3, len(case.contacts)))
    for of in (case, tree(3, gains=False)):
        dyn = of.compile("cpu")
        a, _ = of.compile().constrained_forward_dynamics(q, v, tau[:, 0], on)
        assert apart(list(dyn.step(q, v, tau[:, 0].copy(), H)), list(stepped(case.robot, q, v, a, H))) < 1e-9
        assert (
            apart(list(dyn.step(q, v, tau[:, 0].copy(), H)), list(dyn.step(q, v, tau[:, 0].copy(), H, active=on)))
            == 0.0
        )
        whole, held = dyn.rollout(q, v, tau, H), dyn.rollout(q, v, tau, H, active=on)
        np.testing.assert_array_equal(whole.v, held.v)
        state = (q, v)
        for t in range(T):
            state = tuple(dyn.step(*state, tau[:, t].copy(), H))
        assert apart([whole.q[:, -1], whole.v[:, -1]], list(state)) < 1e-12


@pytest.mark.parametrize("integrator", BY_COST)
@pytest.mark.parametrize("name", [3, slow(9), slow("hyq")])
def test_derivatives_of_a_step(name: int | str, integrator: str) -> None:
    """A and B against differences, with a floating base, in every mode."""
    case = hyq() if name == "hyq" else tree(int(name), 3)
    dyn, robot = case.compile(integrator=integrator), case.robot
    at = case.state(3, 4)
    A, B = dyn.step_derivatives(at.q, at.v, at.tau, H, active=at.active)
    given = [at.q, at.v, at.tau]
    along = drawn(given, robot.nv, 5)
    after = dyn.step(*given, H, active=at.active)

    def step(*given: Array) -> tuple[Array, Array]:
        q, v = dyn.step(*given, H, active=at.active)
        return robot.difference(after.q, q), v

    expected = np.concatenate(slopes(robot, step, given, along), axis=-1)
    found = np.einsum("nij,nj->ni", A, np.concatenate(along[:2], axis=-1)) + np.einsum("nij,nj->ni", B, along[2])
    assert apart(found, expected) < 1e-8
    assert (
        apart(list(case.compile("cpu", integrator=integrator).step_derivatives(*given, H, active=at.active)), [A, B])
        < 1e-8
    )


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", slow("rk4")])
def test_derivatives_of_a_step_by_forces_on_bodies(integrator: str) -> None:
    case = tree(3)
    dyn, robot, at = case.compile(integrator=integrator), case.robot, case.state(3, 4)
    given = [at.q, at.v, at.tau, at.f_ext]
    A, B, E = dyn.step_derivatives(*given[:3], H, at.f_ext, active=at.active)
    along = drawn(given, robot.nv, 5)
    after = dyn.step(*given[:3], H, at.f_ext, active=at.active)

    def step(q: Array, v: Array, tau: Array, f_ext: Array) -> tuple[Array, Array]:
        end = dyn.step(q, v, tau, H, f_ext, active=at.active)
        return robot.difference(after.q, end.q), end.v

    expected = np.concatenate(slopes(robot, step, given, along), axis=-1)
    changes = (np.concatenate(along[:2], axis=-1), along[2], np.reshape(along[3], (3, -1)))
    found = sum(np.einsum("nij,nj->ni", part, dx) for part, dx in zip((A, B, E), changes, strict=True))
    assert apart(found, expected) < 1e-8


@pytest.mark.parametrize("options", [{}, slow({"every": 2}), {"last": True}], ids=["each", "every", "last"])
@pytest.mark.parametrize("name", [3, slow(9)])
def test_the_cotangents_of_a_rollout(name: int, options: dict[str, Any]) -> None:
    """Against differences, flags and impacts included."""
    case = tree(name, 3)
    dyn, robot, rng = case.compile("cpu"), case.robot, np.random.default_rng(9)
    q, v = robot.random_state(3, 1)
    active = flags(case, 3)
    given = [q, v, rng.normal(size=(3, T, robot.nv))]
    mode: dict[str, Any] = {"active": active, "by_time": ("active",), **options}
    at = dyn.rollout(*given, H, **mode)
    bars = [rng.normal(size=(*x.shape[:-1], robot.nv)) for x in at]
    found = dyn.vjp("rollout")(*given, H, *bars, **mode)
    along = drawn(given, robot.nv, 6)

    def number(h: float) -> float:
        there = dyn.rollout(*moved(robot, given, along, h), H, **mode)
        return float(np.sum(robot.difference(at.q, there.q) * bars[0]) + np.sum((there.v - at.v) * bars[1]))

    h = 1e-4
    slope = (8.0 * (number(h) - number(-h)) - (number(2 * h) - number(-2 * h))) / (12.0 * h)
    terms = [float(np.sum(x * dx)) for x, dx in zip((found.q, found.v, found.tau), along, strict=True)]
    assert sum(terms) == pytest.approx(slope, rel=1e-6, abs=1e-7 * sum(map(abs, terms)))


@pytest.mark.parametrize("first", ["held", "by time"])
def test_flags_of_one_dynamics_may_be_held_and_by_time(first: str) -> None:
    """Whichever is called first; the kernels are not those of each other."""
    case = tree(3)
    q, v = case.robot.random_state(3, 1)
    tau = np.random.default_rng(2).normal(size=(3, T, case.robot.nv))
    by_time = flags(case, 3)

    def held(dyn: Dynamics) -> Any:
        return dyn.rollout(q, v, tau, H, active=by_time[:, 0])

    def timed(dyn: Dynamics) -> Any:
        return dyn.rollout(q, v, tau, H, active=by_time, by_time=("active",))

    calls = (held, timed) if first == "held" else (timed, held)
    dyn = case.compile("numpy")
    for call in calls:
        for one, other in zip(call(dyn), call(case.compile("numpy")), strict=True):
            np.testing.assert_array_equal(one, other)
