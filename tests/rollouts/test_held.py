"""`dyn.rollout(..., steps=T)` holds tau for T steps, and torques that could be meant so without it are not misread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, Dynamics, Robot, ShapeError, ShapeWarning, UnsupportedError
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
T = 5


@pytest.fixture(scope="module")
def robot() -> Robot:
    return robot_named("floating-2")


@pytest.fixture(scope="module", params=["numpy", "cpu", slow("c")])
def dyn(robot: Robot, request: pytest.FixtureRequest) -> Dynamics:
    return robot.compile(target=request.param, inputs=("gravity",))


def drawn(robot: Robot, *batch: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    q, v = (x.reshape(*batch, -1) for x in robot.random_state(int(np.prod(batch)), rng))
    return q, v, rng.uniform(-1.0, 1.0, (*batch, robot.nv))


def tiled(tau: Array, steps: int = T) -> Array:
    """The same torques, with a time axis."""
    return np.repeat(tau[..., None, :], steps, axis=-2)


def same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"every": 2}, {"last": True}], ids=["each", "every", "last"])
def test_held_torques_are_the_same_at_every_step(robot: Robot, dyn: Dynamics, options: dict[str, Any]) -> None:
    for batch in ((), (1,), (19,), (2, 3)):
        q, v, tau = drawn(robot, *batch)
        same(dyn.rollout(q, v, tau, 0.01, steps=T, **options), dyn.rollout(q, v, tiled(tau), 0.01, **options))
    few = drawn(robot, 3)
    found = dyn.rollout(few[0][0], few[1][0], few[2], 0.01, steps=T)  # one state, three torques
    same(found, dyn.rollout(few[0][0], few[1][0], tiled(few[2]), 0.01))


def test_other_inputs_have_a_time_axis_where_they_are_named(robot: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(robot, 4)
    rng = np.random.default_rng(1)
    f_ext, gravity = rng.normal(size=(4, T, len(robot.bodies), 6)), rng.normal(size=3)
    dt = rng.uniform(1e-3, 1e-2, (4, T))
    more = {"f_ext": f_ext, "by_time": ("f_ext", "dt"), "gravity": gravity}
    same(dyn.rollout(q, v, tau, dt, steps=T, **more), dyn.rollout(q, v, tiled(tau), dt, **more))
    with pytest.raises(ShapeError, match=rf"disagree: dt {T}, f_ext {T}; steps=7"):
        dyn.rollout(q, v, tau, dt, steps=7, **more)
    same(dyn.rollout(q, v, tiled(tau), 0.01, steps=T, by_time="tau"), dyn.rollout(q, v, tiled(tau), 0.01))
    for steps in (0, -1, 2.5, [5], np.array(5)):
        with pytest.raises(UnsupportedError, match=r"steps=.*; give a whole number"):
            dyn.rollout(q, v, tau, 0.01, steps=steps)


def test_gradients_of_held_torques_are_sums_over_steps(robot: Robot, dyn: Dynamics) -> None:
    q, v, tau = drawn(robot, 4)
    bars = np.random.default_rng(2).normal(size=(2, 4, robot.nv))
    found = dyn.vjp("rollout")(q, v, tau, 0.01, *bars, steps=T, last=True)
    timed = dyn.vjp("rollout")(q, v, tiled(tau), 0.01, *bars, last=True)
    np.testing.assert_allclose(found.tau, timed.tau.sum(axis=-2), 1e-12, 1e-14)  # sums of few numbers, in another order
    same((found.q, found.v, found.dt), (timed.q, timed.v, timed.dt))


def test_packed_arrays(robot: Robot) -> None:
    dyn = robot.compile()
    given = drawn(robot, 21)
    packed = [dyn.pack(x) for x in given]
    found = dyn.rollout(*packed, 0.01, steps=T, last=True)
    same([x.dense() for x in found], dyn.rollout(*given, 0.01, steps=T, last=True))


def test_flags_of_contacts_by_time() -> None:
    robot = condyle.load("hyq", floating_base=True)
    dyn = robot.compile(contacts=[Contact("lf_foot"), Contact("rf_foot")])
    q, v, tau = drawn(robot, 3)
    active = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [1, 1]])
    more = {"active": active, "by_time": ("active",)}
    same(dyn.rollout(q, v, tau, 1e-3, steps=T, **more), dyn.rollout(q, v, tiled(tau), 1e-3, **more))


def test_torques_of_the_shape_of_v_are_not_misread(robot: Robot) -> None:
    dyn = robot.compile(target="numpy")
    q, v, tau = drawn(robot, 4)
    bars = np.zeros((2, robot.nv))
    calls = [lambda *of, **more: dyn.rollout(*of, 0.01, **more).v]
    calls += [lambda *of, **more: dyn.vjp("rollout")(*of, 0.01, *bars, last=True, **more).v]
    for call, shape in zip(calls, ((4, 4, robot.nv), (4, robot.nv)), strict=True):
        with pytest.warns(ShapeWarning, match=r"read as 4 time steps: steps=T holds .* by_time=\('tau',\)") as seen:
            assert call(q, v, tau).shape == shape
        assert seen[0].filename == __file__
        with pytest.warns(ShapeWarning, match="read as 4 time steps"):
            call(q, v[0], tau)
        assert call(q, v, tau, by_time=("tau",)).shape == shape  # no warning, which would be an error
        assert call(q, v, tau[None]).shape == shape
        assert call(q, v, tau[:3]).shape == (*shape[:1], *((3,) if len(shape) == 3 else ()), robot.nv)
        call(q[:1], v[:1], tau[:1])  # one state, one step: both readings are the same
        for many in ((4, 4), (2, 3), (4, 1)):
            with pytest.raises(ShapeError, match=rf"tau has shape \({many[0]}, {many[1]}, .* steps=T holds"):
                call(*drawn(robot, *many))


def test_torques_with_a_time_axis_are_not_held_by_mistake(robot: Robot) -> None:
    dyn = robot.compile(target="numpy")
    q, v, tau = drawn(robot, T)
    with pytest.warns(ShapeWarning, match=f"held for steps={T}: what looks like a time axis .* leave steps= out"):
        assert dyn.rollout(q[0], v[0], tau, 0.01, steps=T).q.shape == (T, T, robot.nq)
    assert dyn.rollout(q[:1], v[:1], tau, 0.01, steps=T).q.shape == (T, T, robot.nq)
    for batch in (T, 3):
        with pytest.raises(ShapeError, match="leave steps= out"):
            dyn.rollout(q[:batch], v[:batch], tiled(tau[:batch]), 0.01, steps=T)
        with pytest.raises(ShapeError, match="leave steps= out"):
            dyn.rollout(q[:batch], v[:batch], tau[:batch, None], 0.01, steps=T)
    with pytest.raises(ShapeError, match=r"expected a time axis: .*; steps=T holds it for T steps"):
        dyn.rollout(q[0], v[0], tau[0], 0.01)
