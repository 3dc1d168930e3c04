"""`dyn.rollout` is `step` called again and again, to the bit, whatever is kept, given by time, packed or broadcast."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot, ShapeError, UnsupportedError
from condyle.calls.rollouts import MOST
from condyle.functions import FUNCTIONS
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
TARGETS = ("numpy", "cpu", slow("c"))
T = 7


def drawn(robot: Robot, n: int, steps: int = T, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(n, rng)
    return q, v, rng.uniform(-1.0, 1.0, (n, steps, robot.nv))


def stepped(dyn: Dynamics, q: Array, v: Array, tau: Array, dt: Any, f_ext: Any = None) -> tuple[Array, Array]:
    """All states, by calls of `step`; f_ext: one for each step, first, or nothing."""
    qs, vs = [], []
    for t in range(tau.shape[-2]):
        forces = {} if f_ext is None else {"f_ext": f_ext[t]}
        q, v = dyn.step(q, v, np.ascontiguousarray(tau[..., t, :]), dt, **forces)
        qs.append(q)
        vs.append(v)
    return np.stack(qs, axis=-2), np.stack(vs, axis=-2)


def same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["zoo", slow("zoo_floating"), slow("hyq_floating"), slow("tree-0")])
def test_a_rollout_is_repeated_steps(name: str, dtype: str, target: str) -> None:
    robot = robot_named(name)
    dyn = robot.compile(target=target, dtype=dtype, integrator="rk4" if name == "tree-0" else "semi_implicit_euler")
    for n in (1, 21):
        q, v, tau = (np.asarray(x, dtype) for x in drawn(robot, n))
        dt = np.linspace(0.001, 0.01, n, dtype=dtype)
        every = stepped(dyn, q, v, tau, dt)
        same(dyn.rollout(q, v, tau, dt), every)
        same(dyn.rollout(q, v, tau, dt, every=3), [x[:, [2, 5, 6]] for x in every])
        same(dyn.rollout(q, v, tau, dt, every=100), [x[:, [6]] for x in every])
        same(dyn.rollout(q, v, tau, dt, last=True), [x[:, 6] for x in every])
        same(dyn.rollout(q[0], v[0], tau[0], float(dt[0])), [x[0] for x in every])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return condyle.load("iiwa14")


@pytest.fixture(scope="module", params=["numpy", "cpu"])
def dyn(arm: Robot, request: pytest.FixtureRequest) -> Dynamics:
    return arm.compile(target=request.param)


def test_forces_are_held_or_by_time(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 5)
    forces = np.random.default_rng(1).normal(size=(5, T, len(arm.bodies), 6))
    held = stepped(dyn, q, v, tau, 0.01, [forces[:, 0]] * T)
    same(dyn.rollout(q, v, tau, 0.01, f_ext=forces[:, 0]), held)
    by_time = stepped(dyn, q, v, tau, 0.01, [np.ascontiguousarray(forces[:, t]) for t in range(T)])
    same(dyn.rollout(q, v, tau, 0.01, f_ext=forces, by_time=("f_ext",)), by_time)
    same(dyn.rollout(q, v, tau, 0.01, f_ext=forces, by_time="f_ext", last=True), [x[:, -1] for x in by_time])


def test_dt_by_time(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 5)
    dt = np.linspace(0.001, 0.01, T)
    found = dyn.rollout(q, v, tau, dt, by_time="dt")
    same(dyn.rollout(q, v, tau, dt, by_time=("tau", "dt")), found)  # tau has a time axis in any case
    for t in range(T):
        q, v = dyn.step(q, v, np.ascontiguousarray(tau[:, t]), dt[t])
        same((found.q[:, t], found.v[:, t]), (q, v))


def test_broadcast(arm: Robot, dyn: Dynamics) -> None:
    """One state for all, one trajectory for all, several batch dimensions, strides that are no rows."""
    q, v, tau = drawn(arm, 6)
    every = stepped(dyn, q, np.broadcast_to(v[0], (6, 7)).copy(), np.broadcast_to(tau[1], (6, T, 7)).copy(), 0.01)
    same(dyn.rollout(q, v[0], tau[1], 0.01), every)
    same(dyn.rollout(q[0], v[0], tau, 0.01, last=True), [x[:, -1] for x in stepped(dyn, *alike(q, v), tau, 0.01)])
    grid = dyn.rollout(q.reshape(2, 3, 7), v[0], tau[1], 0.01)
    same(grid, [x.reshape(2, 3, T, 7) for x in every])
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(tau, 1, 0)), 0, 1)
    assert not turned.flags.c_contiguous
    same(dyn.rollout(q, v, turned, 0.01), dyn.rollout(q, v, tau, 0.01))
    same(dyn.rollout(q.tolist(), v.tolist(), tau.tolist(), 0.01), dyn.rollout(q, v, tau, 0.01))


def alike(*rows: Array) -> list[Array]:
    return [np.repeat(x[:1], len(x), axis=0) for x in rows]


def test_out_and_empty_batches(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 5)
    out = tuple(np.full((5, T, 7), np.nan) for _ in range(2))
    found = dyn.rollout(q, v, tau, 0.01, out=out)
    assert found[0] is out[0] and found[1] is out[1]
    same(out, dyn.rollout(q, v, tau, 0.01))
    assert dyn.rollout(q[:0], v[:0], tau[:0], 0.01).q.shape == (0, T, 7)
    with pytest.raises(ShapeError, match="overlaps"):
        dyn.rollout(q, v, tau, 0.01, out=(out[0], out[0]))


@pytest.mark.parametrize("target", ["cpu", slow("c")])
def test_packed(arm: Robot, target: str) -> None:
    dyn = arm.compile(target=target)
    q, v, tau = drawn(arm, 13)
    for options, name in (({}, ""), ({"every": 4}, "_every_4"), ({"last": True}, "_last")):
        trajectories = dyn.pack(tau, "tau", of=f"rollout_{T}_by_tau{name}_of_step")
        found = dyn.rollout(dyn.pack(q), dyn.pack(v), trajectories, 0.01, **options)
        same([x.dense() for x in found], dyn.rollout(q, v, tau, 0.01, **options))


def test_results_do_not_depend_on_threads_or_place(arm: Robot) -> None:
    q, v, tau = drawn(arm, 1003)
    one, two = arm.compile(threads=1), arm.compile(threads=2)
    found = one.rollout(q, v, tau, 0.01, every=2)
    same(two.rollout(q, v, tau, 0.01, every=2), found)
    same(one.rollout(q[500:509], v[500:509], tau[500:509], 0.01, every=2), [x[500:509] for x in found])


def test_a_bad_state_spoils_itself_alone(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 9)
    fine = dyn.rollout(q, v, tau, 0.01)
    tau[3, 4, 2] = np.nan
    q[7, 3] = np.inf
    spoilt = dyn.rollout(q, v, tau, 0.01)
    others = [0, 1, 2, 4, 5, 6, 8]
    same([x[others] for x in spoilt], [x[others] for x in fine])
    same([x[3, :4] for x in spoilt], [x[3, :4] for x in fine])
    assert np.isnan(spoilt.v[3, 4:]).any(axis=-1).all() and np.isnan(spoilt.v[7]).any(axis=-1).all()


def test_back_in_time_and_no_time(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 4)
    same(dyn.rollout(q, v, tau, 0.0, last=True), (q, v))
    same(dyn.rollout(q, v, tau, -0.01), stepped(dyn, q, v, tau, -0.01))
    assert np.isnan(dyn.rollout(q, v, tau, np.nan, last=True).v).all()


def test_by_name_explained_and_pickled(arm: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(arm, 4)
    name = f"rollout_{T}_by_tau_every_2_of_step"
    expected = dyn.rollout(q, v, tau, 0.01, every=2)
    same(dyn.function(name)(q, v, tau, dt=0.01), expected)
    assert type(expected)._fields == ("q", "v")
    same(pickle.loads(pickle.dumps(expected)), expected)
    same(pickle.loads(pickle.dumps(dyn)).rollout(q, v, tau, 0.01, every=2), expected)
    assert f"{name} {T} times: step " in dyn.explain(10, (name,)) and name in dyn.explain(10)
    assert dyn.memory(10, (name,))[name] == 80 * (14 + 7 * T + 1 + 4 * 14)


def test_late_calls_are_kept_ready_and_no_more(arm: Robot) -> None:
    dyn = arm.compile()
    q, v, tau = drawn(arm, 1, MOST + 20)
    for steps in range(1, MOST + 20):
        dyn.rollout(q, v, tau[:, :steps], 0.01, last=True)
    assert len(dyn._kernels) <= MOST + 1 and len(dyn._binders) <= MOST + len(FUNCTIONS)
    assert len(dyn._rollouts.functions) == MOST == 64
    same(dyn.rollout(q, v, tau[:, :3], 0.01), stepped(dyn, q, v, tau[:, :3], 0.01))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tau": np.zeros((3, 0, 7))}, ShapeError, r"tau has shape \(3, 0, 7\): its time axis has no step"),
        ({"tau": np.zeros(7)}, ShapeError, r"tau has shape \(7,\), expected a time axis: \(..., steps, 7\)"),
        ({"tau": np.zeros((3, 5, 6))}, ShapeError, r"tau has shape \(3, 5, 6\), expected \(..., 5, 7\)"),
        ({"q": np.zeros((4, 7))}, ShapeError, "batch dimensions do not broadcast"),
        ({"dt": np.zeros(4), "by_time": "dt"}, ShapeError, "the time axes disagree: tau 5, dt 4"),
        ({"every": 0}, UnsupportedError, "every=0; give a whole number from 1"),
        ({"every": -1}, UnsupportedError, "every=-1; give a whole number from 1"),
        ({"by_time": ("q",)}, UnsupportedError, "give some of its inputs that are not carried, each once: tau, dt"),
        ({"by_time": ("f_ext",)}, UnsupportedError, "give some of its inputs that are not carried, each once: tau, dt"),
        ({"dt": np.zeros(5), "by_time": ("dt", "dt")}, UnsupportedError, "each once"),
        ({"dt": "soon"}, condyle.DTypeError, "dt"),
    ],
)
def test_errors(arm: Robot, dyn: Dynamics, change: dict[str, Any], error: type[Exception], message: str) -> None:
    q, v, tau = drawn(arm, 3, 5)
    given = {"q": q, "v": v, "tau": tau, "dt": 0.01, **change}
    with pytest.raises(error, match=message):
        dyn.rollout(**given)


@pytest.mark.slow
def test_memory_of_many_rollouts(arm: Robot) -> None:
    """Nothing of the size of the states between is made: within 1.2 times inputs and answers."""
    import tracemalloc

    dyn = arm.compile(threads=1)
    n, steps = 20_000, 100
    q, v = arm.random_state(n, 0)
    tau = np.zeros((n, steps, 7))
    dyn.rollout(q[:2], v[:2], tau[:2], 0.001, last=True)
    tracemalloc.start()
    found = dyn.rollout(q, v, tau, 0.001, last=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * sum(x.nbytes for x in found) + 0.2 * tau.nbytes


def test_numbers_of_the_robot_are_keywords(arm: Robot) -> None:
    """One set a rollout, or for all; the robot's own where they are left out; gradients by them too."""
    opened = arm.compile(inputs=("inertias", "gravity"))
    q, v, tau = drawn(arm, 5)
    heavier = arm.inertias * np.linspace(1.0, 1.4, 5)[:, None, None]
    found = opened.rollout(q, v, tau, 0.01, inertias=heavier)
    for t in range(T):
        q, v = opened.step(q, v, np.ascontiguousarray(tau[:, t]), 0.01, inertias=heavier)
        same((found.q[:, t], found.v[:, t]), (q, v))
    q, v, tau = drawn(arm, 5)
    for one, other in zip(opened.rollout(q, v, tau, 0.01), arm.compile().rollout(q, v, tau, 0.01), strict=True):
        np.testing.assert_allclose(one, other, 1e-9, 1e-9)
    bar = np.ones((5, 7))
    slopes = opened.vjp("rollout")(q, v, tau, 0.01, bar, bar, last=True, inertias=heavier)
    assert slopes.inertias.shape == heavier.shape and slopes.gravity.shape == (3,)
    change = np.random.default_rng(0).normal(size=heavier.shape) * 1e-6
    ends = [opened.rollout(q, v, tau, 0.01, inertias=heavier + s * change, last=True) for s in (1.0, -1.0)]
    difference = sum(float(np.sum(after - before)) for after, before in zip(*ends, strict=True))
    assert difference == pytest.approx(2.0 * float(np.sum(slopes.inertias * change)), rel=1e-5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'mass'"):
        opened.rollout(q, v, tau, 0.01, mass=1.0)


def test_more_steps_than_native_calls_take() -> None:
    """A time axis of more than 2^20 steps is one of the method's, not an error."""
    robot, steps = condyle.chain(1, rng=0), (1 << 20) + 1
    dyn = robot.compile("cpu")
    end = dyn.rollout(np.zeros(1), np.zeros(1), np.zeros((steps, 1)), 1e-3, last=True)
    assert end.q.shape == (1,) and np.isfinite(end.v).all()
