"""Quaternions that have not unit length are a StateError, wherever q is taken; NaN and infinity are none."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, Dynamics, Robot, StateError
from condyle.runtime import machine
from condyle.runtime._tiles import Plan
from condyle.runtime.native import Shape, plan_entry
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
TARGETS = ("numpy", "cpu", slow("c"))
INSIDE, OUTSIDE = (0.9991, 1.0009), (0.0, 0.9989, 1.0011, 2.0, 1e18)
"""Factors of lengths on both sides of the limit; the square of the last is no number of float32."""


@pytest.fixture(scope="module")
def robot() -> Robot:
    """A free and a spherical joint, and others before and behind."""
    return robot_named("zoo_floating")


@pytest.fixture(scope="module")
def dyn(robot: Robot) -> Dynamics:
    return robot.compile(frames=tuple(robot.frames)[-1:])


def places(robot: Robot) -> dict[str, slice]:
    joints = [joint for joint in robot.joints if joint.kind.has_quaternion]
    return {joint.name: slice(joint.q_slice.stop - 4, joint.q_slice.stop) for joint in joints}


def scaled(q: Array, row: Any, at: slice, factor: float) -> Array:
    q = q.copy()
    q[row, ..., at] *= factor
    return q


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lengths_within_a_thousandth_are_taken_and_others_refused(robot: Robot, dtype: str, target: str) -> None:
    dyn = robot.compile(target, dtype=dtype)
    assert len(places(robot)) >= 2
    for n in (1, 7, 33):
        q, v = (x.astype(dtype) for x in robot.random_state(n, 0))
        for name, at in places(robot).items():
            row = n - 1
            for factor in INSIDE:
                assert np.isfinite(dyn.inverse_dynamics(scaled(q, row, at, factor), v, v)).all()
            for factor in OUTSIDE:
                said = rf"inverse_dynamics: in q the quaternion of joint '{name}' has length .* in state {row}, "
                with pytest.raises(StateError, match=said + r"expected 1 .* robot\.normalize\(q\).* x y z w") as caught:
                    dyn.inverse_dynamics(scaled(q, row, at, factor), v, v)
                assert caught.value.rows == (row,)
        for number in (np.nan, np.inf, -np.inf):
            spoilt = q.copy()
            spoilt[n - 1, at] = number
            found = dyn.inverse_dynamics(spoilt, v, v)
            assert np.isfinite(found[: n - 1]).all() and not np.isfinite(found[n - 1]).all()


def test_every_row_of_every_piece_is_looked_at(robot: Robot) -> None:
    dyn, n = robot.compile(threads=2), 4000
    q, v = robot.random_state(n, 1)
    (at, *_), out = places(robot).values(), np.zeros_like(v)
    dyn.mass_matrix(q[:1])
    for row in (0, 3, 255, 256, 1999, n - 1):
        bad = scaled(q, row, at, 1.01)
        for words in ({}, {"out": out}):
            with pytest.raises(StateError) as caught:
                dyn.inverse_dynamics(bad, v, v, **words)
            assert caught.value.rows == (row,)
    several = scaled(q, slice(5, None, 1000), at, 1.01)
    with pytest.raises(StateError) as caught:
        dyn.inverse_dynamics(several, v, v)
    assert caught.value.rows == (5, 1005, 2005, 3005)


INPUTS = (11, 19)
PLACES = ((0, 2), (1, 0), (1, 15))
"""The input and the first entry of each quaternion."""


def plan_of(isa: str, dtype: str) -> Plan:
    """A plan of two inputs that computes nothing."""
    numbers = (30, 2, 0, 0, 0, 0, 0, 11, 11, -1, 11, 19, 19, -1)
    return machine.plan(isa, 8 * np.dtype(dtype).itemsize, machine.RETURN, b"", (), b"", numbers)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("isa", machine.instruction_sets())
def test_tiles_look_at_each_of_their_rows(isa: str, dtype: str) -> None:
    plan = plan_of(isa, dtype)
    shape = Shape(INPUTS, (), plan.lanes, plan.work_bytes, 1.0)
    checked = plan.checked(PLACES)
    entry, blind = plan_entry(checked, shape, np.dtype(dtype), checks=True), plan_entry(plan, shape, np.dtype(dtype))
    for n in (2, plan.lanes - 1, plan.lanes, 3 * plan.lanes + 1):
        rows = [np.full((n, size), 0.5, dtype) for size in INPUTS]
        entry.run(n, rows, (), 1)
        for port, first in PLACES:
            for row in {0, n // 2, n - 1}:
                for factor in (*OUTSIDE, *INSIDE, np.nan):
                    q = [x.copy() for x in rows]
                    q[port][row, first : first + 4] *= factor
                    if factor in OUTSIDE:
                        with pytest.raises(ValueError, match="a quaternion has not unit length"):
                            entry.run(n, q, (), 1)
                    else:
                        entry.run(n, q, (), 1)
                    blind.run(n, q, (), 1)
        other = [x.copy() for x in rows]
        other[0][:, 6:] = other[0][:, :2] = other[1][:, 4:15] = 7.0
        entry.run(n, other, (), 1)


def test_quaternions_lie_inside_the_inputs() -> None:
    for isa in machine.instruction_sets():
        plan = plan_of(isa, "float64")
        for port, first in ((0, 8), (1, 16), (0, -1), (2, 0), (-1, 0)):
            with pytest.raises(ValueError, match="out of range"):
                plan.checked(((1, 0), (port, first)))
        with pytest.raises(ValueError, match="expected a tuple"):
            plan.checked(())
        checked = plan.checked(PLACES).checked(PLACES[:1])
        del plan
        assert checked.lanes > 0 and checked.context != 0


def test_one_row_of_a_product_is_looked_at(robot: Robot) -> None:
    """Rows that serve all states may stay where they are, and no tile has their numbers."""
    f = robot.function(lambda at, gain: at.q @ gain, {"q": "nq", "gain": ("nq", 5)}).compile()
    q, gain = robot.neutral(), np.random.default_rng(0).normal(size=(40, robot.nq, 5))
    for _ in range(2):
        np.testing.assert_allclose(f(q, gain), q @ gain, atol=1e-12)
        for at in places(robot).values():
            with pytest.raises(StateError, match="in state 0"):
                f(scaled(q[None], 0, at, 1.01)[0], gain)


def calls(robot: Robot, dyn: Dynamics, v: Array) -> dict[str, Callable[[Array], Any]]:
    """Entries that take q, by what they are."""
    user = robot.function(lambda at, goal: at.q + goal, {"q": "nq", "goal": "nq"}).compile()
    sizes = {"q": "nq", "v": "nv", "goal": "nq"}
    held = robot.function(lambda at, goal: {"v": at.v + at.mass_matrix()[0] * goal[0]}, sizes).compile()
    touching = robot.compile(contacts=[Contact(next(reversed(robot.frames)))])
    opened = robot.compile(inputs=("gravity",))
    unit = np.broadcast_to(robot.neutral(), (len(v), robot.nq))
    by_time = {"by_time": ("goal",), "last": True}
    return {
        "fk": dyn.frame_placements,
        "by name": lambda q: dyn.inverse_dynamics(a=v, q=q, v=v),
        "forces": lambda q: dyn.inverse_dynamics(q, v, v, f_ext=np.zeros((len(robot.bodies), 6))),
        "one for all": lambda q: dyn.inverse_dynamics(q[-1], v, v),
        "lists": lambda q: dyn.inverse_dynamics(q.tolist(), v.tolist(), v.tolist()),
        "columns": lambda q: dyn.inverse_dynamics(np.asfortranarray(q), v, v),
        "q0": lambda q: dyn.difference(q, unit),
        "q1": lambda q: dyn.difference(unit, q),
        "integrate": lambda q: dyn.integrate(q, v),
        "step": lambda q: dyn.step(q, v, v, 0.01),
        "rollout": lambda q: dyn.rollout(q, v, v, 0.01, steps=3),
        "rollout's vjp": lambda q: dyn.vjp("rollout")(q, v, v, 0.01, v, v, steps=3, last=True),
        "jvp": lambda q: dyn.jvp("id")(q, v, v, v, v, v),
        "vjp": lambda q: dyn.vjp("id")(q, v, v, v),
        "jacobian": lambda q: dyn.jacobian("ke", by=("v",))(q, v),
        "opened": lambda q: opened.inverse_dynamics(q, v, v, gravity=np.zeros(3)),
        "opened, its own": lambda q: opened.inverse_dynamics(q, v, v),
        "contacts": lambda q: touching.constrained_forward_dynamics(q, v, v, np.ones(1)),
        "user's": lambda q: user(q, unit),
        "user's second": lambda q: user(unit, q),
        "user's in time": lambda q: held.rollout(unit[0], v[0], q, **by_time),
        "reference": lambda q: user_reference(robot)(q),
        "packed": lambda q: dyn.inverse_dynamics(*(dyn.pack(x) for x in (q, v, v))),
        "packed rollout": lambda q: dyn.rollout(dyn.pack(q), dyn.pack(v), dyn.pack(v), 0.01, steps=2, last=True),
        "map": lambda q: dyn.map("m", [q], [np.zeros((len(q), robot.nv, robot.nv))], chunk=2),
        "robot.integrate": lambda q: robot.integrate(q, v),
        "robot.difference": lambda q: robot.difference(unit, q),
        "robot.f_ext": lambda q: robot.f_ext(
            {next(reversed(robot.frames)): np.ones(6)}, frame="local_world_aligned", q=q
        ),
    }


def user_reference(robot: Robot) -> Callable[..., Any]:
    return robot.function(lambda at: 2.0 * at.q, {"q": "nq"}).reference


def test_every_entry_refuses_them(robot: Robot, dyn: Dynamics) -> None:
    q, v = robot.random_state(5, 2)
    at = list(places(robot).values())[-1]
    bad = scaled(q, 4, at, 1.05)
    for name, call in calls(robot, dyn, v).items():
        call(q)
        for _ in range(2):  # the first call compiles; later ones are native where there is code
            with pytest.raises(StateError, match="quaternion") as caught:
                call(bad)
            assert caught.value.rows == ((0,) if name in ("one for all", "user's in time") else (4,)), name


def test_packed_states_are_looked_at_but_padding_is_not(robot: Robot, dyn: Dynamics) -> None:
    for dtype in ("float64", "float32"):
        dyn = robot.compile(dtype=dtype)
        for n in (3, 16, 40):
            q, v = (x.astype(dtype) for x in robot.random_state(n, 3))
            packed = [dyn.pack(x) for x in (q, v, v)]
            used = n - (len(packed[0].blocks) - 1) * packed[0].layout.lanes
            packed[0].blocks[-1, :, used:] = 7.0
            want = dyn.inverse_dynamics(q, v, v)
            for _ in range(2):
                np.testing.assert_array_equal(dyn.inverse_dynamics(*packed).dense(), want)
            for row in (0, n - 1):
                for at in places(robot).values():
                    bad = dyn.pack(scaled(q, row, at, 1.01))
                    with pytest.raises(StateError) as caught:
                        dyn.inverse_dynamics(bad, *packed[1:])
                    assert caught.value.rows == (row,)


def test_no_check_takes_them_as_given(robot: Robot) -> None:
    q, v = robot.random_state(20, 4)
    bad = scaled(q, 7, next(iter(places(robot).values())), 1.05)
    found = []
    for target in ("numpy", "cpu"):
        dyn = robot.compile(target, check=False)
        assert not pickle.loads(pickle.dumps(dyn)).__reduce__()[1].check
        found += [dyn.inverse_dynamics(bad, v, v) for _ in range(2)]
        user = robot.function(lambda at: 2.0 * at.q, {"q": "nq"}).compile(target, check=False)
        np.testing.assert_array_equal(user(bad), 2.0 * bad)
        assert np.isfinite(dyn.rollout(bad, v, v, 0.01, steps=2).q).all()
    assert np.abs(found[0] - found[-1]).max() < 1e-9 * np.abs(found[0]).max()
    changed = robot.compile("numpy").inverse_dynamics(q, v, v)
    assert (np.abs(found[0] - changed).max(axis=1) > 1e-6).nonzero()[0].tolist() == [7]


def test_states_that_are_none_and_robots_without_quaternions_are_not_looked_at() -> None:
    robot = robot_named("zoo_floating")
    for target in ("numpy", "cpu"):
        dyn = robot.compile(target)
        assert dyn.mass_matrix(np.zeros((0, robot.nq))).shape[0] == 0
    arm = condyle.load("iiwa14")
    assert np.isfinite(arm.compile("numpy").mass_matrix(np.full(7, 3.0))).all()


def test_a_matrix_with_nq_columns_is_no_configuration(robot: Robot) -> None:
    f = robot.function(lambda at, gain: gain @ at.q, {"q": "nq", "gain": (2, "nq")}).compile()
    q, gain = robot.neutral(), np.full((2, robot.nq), 3.0)
    np.testing.assert_allclose(f(q, gain), gain @ q)
