"""The vjp of a rollout: against differences of the rollout, and against the chain rule by calls of the step's vjp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Robot, UnsupportedError
from condyle.compile.kernels import composed
from condyle.functions import function_of
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
T, H = 6, 0.01


def drawn(robot: Robot, n: int, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(n, rng)
    return [q, v, rng.uniform(-1.0, 1.0, (n, T, robot.nv)), np.linspace(H, 2 * H, n)]


def moved(robot: Robot, given: list[Array], k: int, e: Array) -> list[Array]:
    """Input k displaced by e, q in its tangent space."""
    return [robot.integrate(x, e) if i == k == 0 else x + e if i == k else x for i, x in enumerate(given)]


def number(robot: Robot, found: Any, at: Any, bars: tuple[Array, Array]) -> float:
    """sum(bar . answer) to first order about `at`: q by its tangent space there."""
    return float(np.sum(robot.difference(at.q, found.q) * bars[0]) + np.sum((found.v - at.v) * bars[1]))


@pytest.mark.parametrize("target", ["cpu", slow("numpy"), slow("c")])
@pytest.mark.parametrize("options", [{}, {"every": 4}, {"last": True}], ids=["each", "every", "last"])
@pytest.mark.parametrize("name", ["tree-0", slow("zoo_floating"), slow("hyq_floating"), slow("floating-3")])
def test_differences(name: str, options: dict[str, Any], target: str) -> None:
    robot = robot_named(name)
    dyn = robot.compile(target=target)
    given, rng = drawn(robot, 3), np.random.default_rng(9)
    at = dyn.rollout(*given, **options)
    bars = tuple(rng.normal(size=(*x.shape[:-1], robot.nv)) for x in at)
    found = dyn.vjp("rollout")(*given, *bars, **options)
    for k, cotangent in enumerate(found):
        e = rng.normal(size=cotangent.shape) * 1e-6
        after, before = (dyn.rollout(*moved(robot, given, k, s * e), **options) for s in (1.0, -1.0))
        slope = number(robot, after, at, bars) - number(robot, before, at, bars)
        assert slope == pytest.approx(2.0 * float(np.sum(cotangent * e)), rel=2e-5, abs=1e-12)


def by_steps(dyn: condyle.Dynamics, given: list[Array], bars: tuple[Array, Array]) -> list[Array]:
    """All states kept, cotangents of each step added, by calls of `step` and of its vjp."""
    q, v, tau, dt = given
    states = [(q, v)]
    for t in range(T):
        states.append(tuple(dyn.step(*states[-1], tau[:, t].copy(), dt)))
    q_bar, v_bar, tau_bar, dt_bar = np.zeros_like(bars[0][:, 0]), np.zeros_like(v), np.zeros_like(tau), 0.0
    for t in reversed(range(T)):
        one = dyn.vjp("step")(*states[t], tau[:, t].copy(), dt, q_bar + bars[0][:, t], v_bar + bars[1][:, t])
        q_bar, v_bar, tau_bar[:, t], dt_bar = one.q, one.v, one.tau, dt_bar + one.dt
    return [q_bar, v_bar, tau_bar, dt_bar]


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
def test_the_chain_rule_to_the_bit(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile(target=target)
    for n in (1, 70, 200):
        given, rng = drawn(robot, n), np.random.default_rng(1)
        bars = tuple(rng.normal(size=(n, T, robot.nv)) for _ in range(2))
        expected = by_steps(dyn, given, bars)
        for kept in (composed.TAPE, 1):  # all states at once, and few at a time
            monkeypatch.setattr(composed, "TAPE", kept)
            for one, other in zip(dyn.vjp("rollout")(*given, *bars), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_broadcast_inputs_have_sums() -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile()
    q, v, tau, dt = drawn(robot, 4)
    forces = np.random.default_rng(2).normal(size=(4, len(robot.bodies), 6))
    bar = np.ones((4, robot.nv))
    whole = dyn.vjp("rollout")(q, *(np.broadcast_to(x[:1], x.shape) for x in (v, tau, dt)), bar, bar, last=True)
    found = dyn.vjp("rollout")(q, v[0], tau[0], dt[0], bar, bar, last=True)
    np.testing.assert_array_equal(found.q, whole.q)
    for name in ("v", "tau", "dt"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name).sum(axis=0), 1e-12, 1e-12)
    held = dyn.vjp("rollout")(q, v, tau, dt, bar, bar, f_ext=forces, last=True)
    trajectory = np.repeat(forces[:, None], T, axis=1)
    by_time = dyn.vjp("rollout")(q, v, tau, dt, bar, bar, f_ext=trajectory, last=True, by_time="f_ext")
    assert held.f_ext.shape == forces.shape and by_time.f_ext.shape == trajectory.shape
    np.testing.assert_allclose(held.f_ext, by_time.f_ext.sum(axis=1), 1e-12, 1e-14)


def test_one_step_is_the_steps_own_vjp() -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile()
    q, v, tau, dt = drawn(robot, 3)
    bar = np.ones((3, robot.nv))
    found = dyn.vjp("rollout")(q, v, tau[:, :1], dt, bar, 2.0 * bar, last=True)
    for one, other in zip(found, dyn.vjp("step")(q, v, tau[:, 0].copy(), dt, bar, 2.0 * bar), strict=True):
        np.testing.assert_array_equal(np.reshape(one, other.shape), other)


def costly(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    v = at.v + H * at.forward_dynamics(u)
    return {"q": at.integrate(H * v), "v": v, "cost": np.sum((v - goal) ** 2), "tip": np.sin(v[0])}


@pytest.mark.parametrize("target", ["cpu", slow("numpy")])
def test_a_users_cost(target: str) -> None:
    robot = robot_named("floating-2")
    f = robot.function(costly, inputs={"q": "nq", "v": "nv", "u": "nv", "goal": "nv"}).compile(target=target)
    q, v, u, _ = drawn(robot, 3)
    rng = np.random.default_rng(4)
    goal, tip_bar, none = rng.normal(size=robot.nv), rng.normal(size=(3, 2)), np.zeros((1, 2, robot.nv))
    options: dict[str, Any] = {"by_time": "u", "sum": "cost", "every": 4}

    def number_of(*given: Array) -> float:
        found = f.rollout(*given, **options)
        return float(np.sum(found.cost) + np.sum(found.tip * tip_bar))

    found = f.vjp("rollout")(q, v, u, goal, none, none, np.ones(()), tip_bar, **options)
    given = [q, v, u, goal]
    for k, cotangent in enumerate(found):
        e = rng.normal(size=cotangent.shape) * 1e-6
        slope = number_of(*moved(robot, given, k, e)) - number_of(*moved(robot, given, k, -e))
        assert slope == pytest.approx(2.0 * float(np.sum(cotangent * e)), rel=2e-5, abs=1e-11)


def test_it_is_explained_and_kept_small() -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile()
    given, bar = drawn(robot, 2), np.ones((2, T, robot.nv))
    dyn.vjp("rollout")(*given, bar, bar)
    (line,) = (line for line in dyn.explain(10).splitlines() if line.startswith("vjp_rollout"))
    assert "some rollouts at a time" in line and f"{T} times: vjp_step" in line
    kernel = dyn._kernels[function_of(f"vjp_rollout_{T}_by_tau_of_step")]
    assert isinstance(kernel, composed.GradientKernel)
    for threads in (1, 8):
        piece, state = kernel.piece(10**6, threads), T * 14 * 8
        assert piece * state <= threads * composed.TAPE < (piece + 64) * state
    with pytest.raises(UnsupportedError, match="of a rollout there is vjp"):
        dyn.jvp(f"rollout_{T}_by_tau_of_step")
