"""Users' functions rolled out: dynamics with a feedback law and a cost, networks, tables, and names of ports."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Robot, ShapeError, UnsupportedError
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
T = 6
H = 0.01


def closed_loop(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    """A step under a feedback law, and what it costs."""
    a = at.forward_dynamics(u - 0.5 * at.v)
    v = at.v + H * a
    return {"q": at.integrate(H * v), "v": v, "cost": np.sum((v - goal) ** 2) + 0.1 * np.sum(u * u), "a": a}


def pendulum(x: Any, u: Any, w: Any) -> dict[str, Any]:
    """A network and a table; x is carried."""
    table = np.linspace(0.5, 1.5, 24)
    return {"x": x + 0.1 * np.tanh(w @ (table * x)) + 0.1 * u, "height": np.cos(x[0])}


@pytest.fixture(scope="module")
def tree() -> Robot:
    return robot_named("floating-2")


def drawn(robot: Robot, n: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(3)
    q, v = robot.random_state(n, rng)
    return q, v, rng.normal(size=(n, T, robot.nv)), rng.normal(size=robot.nv)


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
def test_a_loop_with_a_cost(tree: Robot, target: str) -> None:
    f = tree.function(closed_loop, inputs={"q": "nq", "v": "nv", "u": "nv", "goal": "nv"}).compile(target=target)
    q, v, u, goal = drawn(tree, 9)
    found = f.rollout(q, v, u, goal, by_time=("u",), sum=("cost",), every=4)
    kept = {"q": [], "v": [], "a": []}
    total = 0.0
    for t in range(T):
        one = f(q, v, np.ascontiguousarray(u[:, t]), goal)
        q, v, total = one.q, one.v, one.cost if t == 0 else total + one.cost
        for name in kept:
            kept[name].append(getattr(one, name))
    for name, rows in kept.items():
        np.testing.assert_array_equal(getattr(found, name), np.stack([rows[3], rows[5]], axis=1))
    np.testing.assert_array_equal(found.cost, total)
    assert found._fields == ("q", "v", "cost", "a")


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
def test_a_network_is_a_step(target: str) -> None:
    f = condyle.function(pendulum, inputs={"x": 24, "u": 24, "w": (24, 24)}).compile(target=target)
    rng = np.random.default_rng(0)
    for n in (1, 5, 40):
        x, u = rng.normal(size=(n, 24)), rng.normal(size=(n, T, 24))
        shared, own, by_time = (rng.normal(size=(*batch, 24, 24)) for batch in ((), (n,), (T,)))
        for w, options in ((shared, {}), (own, {}), (by_time, {"by_time": ("u", "w")})):
            found = f.rollout(x, u, w, **{"by_time": "u", **options})
            state = x
            for t in range(T):
                state, height = f(state, np.ascontiguousarray(u[:, t]), w[t] if options else w)
                np.testing.assert_array_equal(found.x[:, t], state)
                np.testing.assert_array_equal(found.height[:, t], height)


def test_steps_are_said_where_nothing_has_a_time_axis() -> None:
    f = condyle.function(lambda x: {"x": 0.5 * x}, inputs={"x": 2}).compile(target="numpy")
    np.testing.assert_array_equal(f.rollout(np.ones(2), steps=3, last=True), np.full(2, 0.125))
    np.testing.assert_array_equal(f.rollout(x=np.ones(2), steps=2), [[0.5, 0.5], [0.25, 0.25]])
    with pytest.raises(UnsupportedError, match="no input has a time axis"):
        f.rollout(np.ones(2))
    with pytest.raises(UnsupportedError, match="steps=0; give a whole number from 1"):
        f.rollout(np.ones(2), steps=0)


def test_outputs_keep_their_kind_and_take_derivatives(tree: Robot) -> None:
    """An output that is named as the configuration is one: its cotangent is a tangent's."""
    f = tree.function(closed_loop, inputs={"q": "nq", "v": "nv", "u": "nv", "goal": "nv"})
    q, v, u, goal = drawn(tree, 2)
    bars = [np.ones((2, tree.nv)), np.ones((2, tree.nv)), np.ones(2), np.ones((2, tree.nv))]
    answers = f.compile(target="numpy").vjp()(q, v, u[:, 0], goal, *bars)
    assert [x.shape for x in answers] == [(2, tree.nv)] * 3 + [(tree.nv,)]
    for kind in ("jvp", "jacobian"):
        assert getattr(f.compile(target="numpy"), kind)() is not None


def test_a_carried_output_of_another_shape() -> None:
    f = condyle.function(lambda x, u: {"x": x[:2] + u, "y": x[0]}, inputs={"x": 3, "u": 2}).compile()
    assert f(np.ones(3), np.ones(2)).x.shape == (2,)
    with pytest.raises(ShapeError, match=r"output x has shape \(2,\), input x has shape \(3,\)"):
        f.rollout(np.ones(3), np.ones((5, 2)), by_time="u")
    with pytest.raises(UnsupportedError, match="give some of its outputs that are not carried, each once: y"):
        f.rollout(np.ones(3), np.ones((5, 2)), by_time="u", sum="x")
    with pytest.raises(UnsupportedError, match="give nothing, 'rollout', or 'iterate'"):
        f.vjp("step")


def test_a_pickle_rolls_out() -> None:
    f = condyle.function(pendulum, inputs={"x": 24, "u": 24, "w": (24, 24)}).compile()
    rng = np.random.default_rng(0)
    given = rng.normal(size=24), rng.normal(size=(T, 24)), rng.normal(size=(24, 24))
    found = pickle.loads(pickle.dumps(f)).rollout(*given, by_time="u")
    np.testing.assert_array_equal(found.x, f.rollout(*given, by_time="u").x)
