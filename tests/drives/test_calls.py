"""Calls of functions with actuators: u in place of tau, rollouts, users' functions, other frameworks, bad arguments."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot, ShapeError, ShapeWarning, UnsupportedError
from condyle.functions import function_of
from tests.driven import driven

Array = np.ndarray
N, T, DT = 3, 4, 0.01
OPTIONS: dict[str, Any] = {"joint_forces": ("all",), "actuators": True}


@cache
def robot() -> Robot:
    return driven(condyle.random_tree(3, rng=1, types=("revolute", "prismatic")))


@cache
def compiled(target: str = "cpu", *inputs: str) -> Dynamics:
    return robot().compile(target, inputs=inputs, **OPTIONS)


@cache
def state() -> tuple[Array, Array, Array]:
    """q, v, and controls by time."""
    drawn, rng = robot().random_state(N, 0), np.random.default_rng(0)
    return drawn.q, drawn.v, rng.uniform(-1.0, 1.0, (N, T, compiled().sizes["nu"]))


def stepped(dyn: Dynamics, **numbers: Array) -> tuple[Array, Array]:
    """One step after the other."""
    q, v, u = state()
    for k in range(T):
        q, v = dyn.step(q, v, u[:, k], DT, **numbers)
    return q, v


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_rollouts_take_controls_by_time(target: str) -> None:
    dyn, (q, v, u) = compiled(target), state()
    path, last = dyn.rollout(q, v, u, DT), stepped(dyn)
    assert path.q.shape == (N, T, robot().nq)
    for answer, expected in zip((path.q[:, -1], path.v[:, -1]), last, strict=True):
        np.testing.assert_array_equal(answer, expected)
    by_time = {"by_time": ("u",)}
    for again in (
        dyn.rollout(q, v, u=u, dt=DT, **by_time),
        dyn.rollouts_of("step")(q, v, u, DT, **by_time),
        dyn.function(f"rollout_{T}_by_u_of_step_u")(q, v, u, DT),
    ):
        np.testing.assert_array_equal(again.q, path.q)
    held = dyn.rollout(q, v, u[:, 0], DT, steps=2)
    np.testing.assert_array_equal(held.v[:, 0], path.v[:, 0])
    with pytest.warns(ShapeWarning, match=r"^rollout: u has shape .* by_time=\('u',\)"):
        dyn.rollout(q, v, u[:, 0], DT)


def test_rollouts_take_numbers_too() -> None:
    q, v, u = state()
    dyn = compiled("cpu", "damping", "actuator_gains")
    rng = np.random.default_rng(1)
    numbers = {"damping": rng.uniform(0, 1, (N, 3)), "actuator_gains": rng.uniform(0.5, 1, (N, 3, 4))}
    path = dyn.rollout(q, v, u, DT, **numbers)
    np.testing.assert_allclose(path.q[:, -1], stepped(dyn, **numbers)[0], 1e-13)
    bars = dyn.vjp("rollout")(q, v, u, DT, np.ones_like(path.q), np.zeros_like(path.v), **numbers)
    assert bars._fields == ("q", "v", "u", "dt", "damping", "actuator_gains")


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_cotangents_of_a_rollout(target: str) -> None:
    dyn, (q, v, u) = compiled(target), state()
    rng = np.random.default_rng(2)
    path = dyn.rollout(q, v, u, DT)
    bars = rng.normal(size=path.q.shape), rng.normal(size=path.v.shape)
    found = dyn.vjp("rollout")(q, v, u, DT, *bars)
    change, h = rng.normal(size=u.shape), 1e-6
    ends = [dyn.rollout(q, v, u + x * change, DT) for x in (h, -h)]
    expected = sum(np.sum(bar * (x - y)) for bar, x, y in zip(bars, *ends, strict=True)) / (2 * h)
    assert abs(np.sum(found.u * change) - expected) < 1e-6 * abs(expected)  # central differences
    assert found.u.shape == u.shape


def test_names_are_read_back() -> None:
    for name in ("fd_u", "dfd_u", "step_u", "vjp_fd_u", "jacobian_step_u_by_u", "rollout_5_by_u_of_step_u"):
        assert function_of(name).name == name
    assert function_of("jvp_forward_dynamics_u") is function_of("jvp_fd_u")
    dyn = compiled()
    assert dyn.signature["step"] == "(nq),(nv),(nu),()->(nq),(nv)" and dyn.sizes["nu"] == 3
    assert dyn.signature["dstep"] == "(nq),(nv),(nu),()->(nv + nv,nv + nv),(nv + nv,nu)"
    assert dyn.memory(10)["fd_u"] == 10 * 8 * (4 * 3) and "step_u" in dyn.explain(1, ("step",))


def pushing(at: Any, u: Array, dt: float) -> dict[str, Any]:
    a, after = at.forward_dynamics(u), at.step(u, dt)
    return {"a": a, "tau": at.inverse_dynamics(a), "forces": at.actuator_forces(u), "q1": after.q, "v1": after.v}


INPUTS: dict[str, Any] = {"q": "nq", "v": "nv", "u": "nu", "dt": ()}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_users_functions_have_controls(target: str) -> None:
    f, dyn, (q, v, every) = robot().function(pushing, INPUTS, **OPTIONS), compiled("numpy"), state()
    u = every[:, 0]
    fast = f.compile(target)
    for answers in (f.reference(q, v, u, DT), fast(q, v, u, DT), pickle.loads(pickle.dumps(fast))(q, v, u, DT)):
        np.testing.assert_allclose(answers.a, dyn.forward_dynamics(q, v, u), 1e-9)
        np.testing.assert_allclose(answers.tau, dyn.actuator_forces(q, v, u), 1e-9, 1e-12)
        np.testing.assert_allclose((answers.q1, answers.v1), dyn.step(q, v, u, DT), 1e-9)


def test_users_functions_are_known_by_their_drives() -> None:
    options = ({}, {"implicit": False}, {"friction_velocity": 0.1}, {"joint_forces": ("damping",)})
    functions = [robot().function(pushing, INPUTS, **{**OPTIONS, **one}) for one in options]
    dynamics = [robot().compile("numpy", **{**OPTIONS, **one}) for one in options]
    for each in (functions, dynamics):
        assert len({one.identity for one in each}) == len(options)  # type: ignore[attr-defined]
        assert all(copy.deepcopy(one).identity == one.identity for one in each)  # type: ignore[attr-defined]


def test_a_users_step_takes_damping_at_its_end() -> None:
    def step(at: Any, tau: Array, dt: float, damping: Array) -> Any:
        return at.step(tau, dt, damping=damping).v

    q, v, _ = state()
    f = robot().function(step, {"q": "nq", "v": "nv", "tau": "nv", "dt": (), "damping": "nv"})
    damping, plain = np.array([2.0, 0.5, 1.0]), robot().compile("numpy")
    M = plain.mass_matrix(q) + DT * np.diag(damping)
    force = 2.0 * v - plain.nonlinear_effects(q, v) - damping * v
    expected = v + DT * np.linalg.solve(M, force[..., None])[..., 0]
    for answer in (f.reference(q, v, 2.0 * v, DT, damping), f.compile()(q, v, 2.0 * v, DT, damping)):
        np.testing.assert_allclose(answer, expected, 1e-10)


def test_what_is_no_argument_is_refused() -> None:
    q, v, u = (*state()[:2], state()[2][:, 0])
    with pytest.raises(ShapeError, match=r"u has shape \(3, 2\), expected \(\.\.\., 3\)"):
        compiled().forward_dynamics(q, v, u[:, :2])
    with pytest.raises(TypeError, match=r"'tau'.*forward_dynamics\(q, v, u"):
        compiled().forward_dynamics(q, v, tau=u)
    with pytest.raises(TypeError, match="'implicit'"):
        compiled().forward_dynamics(q, v, u, implicit=0.1)
    with pytest.raises(UnsupportedError, match=r"at\.joint_forces: .*robot\.function\(joint_forces="):
        robot().function(lambda at: at.joint_forces(), {"q": "nq", "v": "nv"})
    with pytest.raises(UnsupportedError, match=r"at\.actuator_forces: .*robot\.function\(actuators=True\)"):
        robot().function(lambda at, u: at.actuator_forces(u), {"q": "nq", "v": "nv", "u": 3})
    with pytest.raises(TypeError, match=r"'u'; call at\.forward_dynamics\(tau"):
        robot().function(lambda at, u: at.forward_dynamics(u=u), {"q": "nq", "v": "nv", "u": 3})


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("function", ["fd", "dfd", "step", "dstep", "af"])
def test_what_is_no_number_spoils_its_own_state_alone(function: str, target: str) -> None:
    """Infinite controls are clipped where they have a range, and NaN is NaN in every answer of the state."""
    dyn, (q, v, every) = compiled(target), state()
    u = every[:, 0].copy()
    more = (DT,) if "step" in function else ()
    clean = dyn.function(function)(q, v, u, *more)
    for k, bad in ((0, np.nan), (1, np.nan), (2, np.nan), (0, np.inf), (1, -np.inf), (2, np.inf)):
        inputs = [q.copy(), v.copy(), u.copy()]
        inputs[k][1, 0] = bad
        answers = dyn.function(function)(*inputs, *more)
        for x, y in zip(*((one if isinstance(one, tuple) else (one,)) for one in (answers, clean)), strict=True):
            np.testing.assert_array_equal(x[[0, 2]], y[[0, 2]])
        if np.isnan(bad) and function in ("fd", "step", "af"):
            parts = answers if isinstance(answers, tuple) else (answers,)
            assert np.isnan(np.concatenate([part[1] for part in parts])).any()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_batches_of_controls_broadcast(target: str) -> None:
    dyn, (q, v, u) = compiled(target), state()
    one = dyn.step(q[0], v[0], u[:, 0], DT)
    each = dyn.step(np.tile(q[0], (N, 1)), np.tile(v[0], (N, 1)), u[:, 0], DT)
    np.testing.assert_array_equal(one.v, each.v)
    assert dyn.forward_dynamics(q[:0], v[:0], u[:0, 0]).shape == (0, 3)
    out = np.empty((N, 3))
    assert dyn.forward_dynamics(q, v, u[:, 0], out=out) is out
    np.testing.assert_array_equal(out, dyn.forward_dynamics(q, v, u[:, 0]))


def test_jax_takes_controls() -> None:
    jax = pytest.importorskip("jax", reason="pip install 'condyle[jax]'")
    from condyle.interop.jax import wrap

    jax.config.update("jax_enable_x64", True)
    dyn, (q, v, u) = compiled("cpu", "actuator_gains"), state()
    own, functions = dyn.rollout(q, v, u, DT), wrap(dyn)
    np.testing.assert_allclose(jax.jit(functions.rollout)(q, v, u, DT).q, own.q, 1e-12)
    slope = jax.grad(lambda x: functions.rollout(q, v, x, DT).q.sum())(u)
    bars = dyn.vjp("rollout")(q, v, u, DT, np.ones_like(own.q), np.zeros_like(own.v))
    np.testing.assert_allclose(slope, bars.u, 1e-9, 1e-12)
    mapped = jax.vmap(functions.forward_dynamics)(q, v, u[:, 0])
    np.testing.assert_allclose(mapped, dyn.forward_dynamics(q, v, u[:, 0]), 1e-9)


def test_torch_takes_controls_and_flags_of_contacts() -> None:
    torch = pytest.importorskip("torch", reason="pip install 'condyle[torch]'")
    from condyle.interop.torch import wrap

    tip = condyle.Contact(list(robot().frames)[-1])
    dyn, (q, v, u) = robot().compile(inputs=("damping",), contacts=[tip], **OPTIONS), state()
    given = [torch.from_numpy(x.copy()) for x in (q, v, u[:, 0])]
    for flags in (np.ones((N, 1)), np.zeros((N, 1))):
        found = wrap(dyn).step(*given, torch.tensor(DT, dtype=torch.float64), active=torch.from_numpy(flags))
        np.testing.assert_allclose(found.v.numpy(), dyn.step(q, v, u[:, 0], DT, active=flags).v, 1e-12)


def test_dask_takes_controls() -> None:
    dask = pytest.importorskip("dask.array", reason="pip install 'condyle[test]'")
    from condyle.interop.dask import wrap

    dyn, (q, v, u) = compiled("cpu", "actuator_gains"), state()
    lazy = [dask.from_array(x, chunks=(2, *x.shape[1:])) for x in (q, v, u)]
    np.testing.assert_array_equal(wrap(dyn).rollout(*lazy, DT).q.compute(), dyn.rollout(q, v, u, DT).q)


def test_casadi_takes_controls() -> None:
    casadi = pytest.importorskip("casadi", reason="pip install 'condyle[test]'")
    from condyle.interop.casadi import wrap

    dyn, (q, v, u) = compiled("cpu", "actuator_gains"), state()
    gains = np.array([(1.0, 0.1, -2.0, -0.3), (0.5, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0)])
    symbol = casadi.MX.sym("u", 3)
    step = wrap(dyn).step(q[0], v[0], symbol, DT, gains)
    both = casadi.Function("both", [symbol], [step[1], casadi.jacobian(step[1], symbol)])(u[0, 0])
    np.testing.assert_allclose(
        np.array(both[0])[:, 0], dyn.step(q[0], v[0], u[0, 0], DT, actuator_gains=gains).v, 1e-12
    )
    B = dyn.step_derivatives(q[0], v[0], u[0, 0], DT, actuator_gains=gains).B
    np.testing.assert_allclose(np.array(both[1]), B[3:], 1e-9, 1e-12)
