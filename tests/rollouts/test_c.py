"""Target c: the loop over time is in C, serves every number of steps, and equals repeated calls to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import condyle
from condyle.backends.c import build as c_build
from condyle.backends.c.build import CKernel
from condyle.backends.common.facts import Facts
from condyle.calls.dynamics import Dynamics
from condyle.compile.kernels.composed import GradientKernel, SteppedKernel
from condyle.functions import function_of
from condyle.functions.repeat import repeat
from condyle.ir.expr import Graph
from condyle.ir.loops import Give, Rolled, Take, TimeLoop
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented
from condyle.runtime import cache as kept
from condyle.runtime.native import NativeKernel
from tests.processor import slow
from tests.zoo import every_joint

Reals = NDArray[np.floating]
STEPS = 7


@cache
def robot_of(floating: bool) -> condyle.Robot:
    return condyle.Robot.from_data(every_joint(floating))


@cache
def compiled(floating: bool = False, dtype: str = "float64") -> Dynamics:
    return robot_of(floating).compile(target="c", dtype=dtype, threads=1)


def states(
    robot: condyle.Robot, n: int, steps: int = STEPS, dtype: str = "float64"
) -> tuple[Reals, Reals, Reals, Reals]:
    rng = np.random.default_rng(7)
    q, v = robot.random_state(n, rng)
    tau, dt = rng.uniform(-1, 1, (n, steps, robot.nv)), rng.uniform(1e-3, 1e-2, n)
    return q.astype(dtype), v.astype(dtype), tau.astype(dtype), dt.astype(dtype)


def stepped(dyn: Dynamics, q: Reals, v: Reals, tau: Reals, dt: Reals) -> tuple[Reals, Reals]:
    """Every state, by calls of `step`."""
    found: list[tuple[Reals, Reals]] = []
    for t in range(tau.shape[1]):
        q, v = dyn.call("step", (q, v, np.ascontiguousarray(tau[:, t]), dt))
        found.append((q, v))
    return np.stack([q for q, _ in found], 1), np.stack([v for _, v in found], 1)


def same(found: Sequence[Reals], wanted: Sequence[Reals]) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("floating", "dtype"), [(False, "float64"), (True, "float32"), slow(False, "float32"), slow(True, "float64")]
)
def test_equals_repeated_steps_to_the_bit(floating: bool, dtype: str) -> None:
    dyn, robot = compiled(floating, dtype), robot_of(floating)
    for n in (1, 3, 37):
        given = states(robot, n, dtype=dtype)
        q, v = stepped(dyn, *given)
        same(dyn.call(f"rollout_{STEPS}_by_tau_of_step", given), (q, v))
        same(dyn.call(f"rollout_{STEPS}_by_tau_every_3_of_step", given), (q[:, [2, 5, 6]], v[:, [2, 5, 6]]))
        same(dyn.call(f"rollout_{STEPS}_by_tau_last_of_step", given), (q[:, -1], v[:, -1]))


def test_inputs_serve_all_states_or_one() -> None:
    dyn, robot = compiled(), robot_of(False)
    q, v, tau, dt = states(robot, 19)
    rows = np.broadcast_to(q[:1], q.shape), np.broadcast_to(tau[:1], tau.shape)
    wanted = dyn.call(f"rollout_{STEPS}_by_tau_of_step", (*(np.ascontiguousarray(rows[0]), v), rows[1].copy(), dt))
    same(dyn.call(f"rollout_{STEPS}_by_tau_of_step", (q[0], v, tau[0], dt)), wanted)
    held = dyn.call(f"rollout_{STEPS}_of_step", (q, v, tau[0, 0], 1e-3))
    same(held, stepped(dyn, q, v, np.broadcast_to(tau[:1, :1], tau.shape), np.full(19, 1e-3)))


def test_time_steps_may_differ() -> None:
    dyn, robot = compiled(), robot_of(False)
    q, v, tau, _ = states(robot, 9)
    dt = np.linspace(1e-3, 1e-2, STEPS)
    q_last, v_last = q, v
    for t in range(STEPS):
        q_last, v_last = dyn.call("step", (q_last, v_last, tau[:, t], dt[t]))
    same(dyn.call(f"rollout_{STEPS}_by_tau_dt_last_of_step", (q, v, tau, dt)), (q_last, v_last))


def test_another_number_of_steps_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dyn, robot = compiled(), robot_of(False)
    dyn.call("rollout_2_by_tau_of_step", states(robot, 2, 2))

    def refuse(*_: object) -> bytes:
        raise AssertionError("something is compiled")

    monkeypatch.setattr(c_build, "compile_shared", refuse)
    monkeypatch.setattr(kept, "fetch", refuse)
    given = states(robot, 2, 11)
    same(dyn.call("rollout_11_by_tau_of_step", given), stepped(dyn, *given))
    assert dyn.function("rollout_11_by_tau_of_step") is not None


def swap(width: int = 9) -> Program:
    """x, y, u -> y + u, x, a sum: what is carried crosses, and one input is an answer as it is."""
    graph = Graph()
    x, y, u = ([graph.input(k, e) for e in range(width)] for k in range(3))
    crossed = [(0, e, y[e] + u[e] * x[e] * 0.5) for e in range(width)] + [(1, e, x[e]) for e in range(width)]
    names = [tuple(Array(name, (width,)) for name in words) for words in ("xyu", ("x_next", "y_next"))]
    return graph.program(
        "made", names[0], (*names[1], Array("cost", (2,))), [*crossed, (2, 0, x[0] * y[1]), (2, 1, 1.0)]
    )


@cache
def swapped(dtype: str) -> CKernel:
    return cast(CKernel, c_build.build(swap(), Facts(1, 1), dtype))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_loop_equals_calls_to_the_bit(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float64", "float32"]))
    body, steps, n = swapped(dtype), data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 5, 16, 21]))
    every = st.integers(0, 4)
    takes = tuple(Take(data.draw(st.sampled_from([-1, 0, 1])), data.draw(every)) for _ in range(3))
    gives = tuple(
        Give(k, 0 if summed else data.draw(every), summed)
        for k in data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
        for summed in [data.draw(st.booleans())]
    )
    loop = TimeLoop(steps, takes, gives, data.draw(st.booleans()))
    rng = np.random.default_rng(steps)
    one = [data.draw(st.booleans()) for _ in takes]
    inputs = [
        rng.uniform(-1, 1, (1 if alone else n, 9 * loop.rows(take.every))).astype(dtype)
        for take, alone in zip(takes, one, strict=True)
    ]
    sizes = (9, 9, 2)
    found, wanted = (
        [np.full((n, sizes[give.output] * loop.rows(give.every)), np.nan, dtype) for give in gives] for _ in range(2)
    )
    body.repeated(loop)(n, inputs, found, 2)
    SteppedKernel(body, loop, (9, 9, 9), sizes)(n, inputs, wanted, 1)
    same(found, wanted)


@pytest.mark.slow
def test_gradients_go_backward_in_c() -> None:
    dyn, robot = compiled(), robot_of(False)
    given, rng = states(robot, 6, 4), np.random.default_rng(3)
    name = "vjp_rollout_4_by_tau_every_2_of_step"
    bars = [rng.normal(size=(6, 2, robot.nv)) for _ in range(2)]
    found = dyn.call(name, (*given, *bars))
    wanted = robot.compile(target="numpy").call(name, (*given, *bars))
    for x, y in zip(found, wanted, strict=True):
        assert np.abs(x - y).max() <= 1e-11 * max(1.0, np.abs(y).max())
    kernel = cast(GradientKernel, dyn._kernels[function_of(name)])
    assert "4 steps a tile" in kernel.backward.description
    assert kernel.forward is not None and "3 steps a tile" in kernel.forward.description


def controlled(x: Any, u: Any, w0: Any, w1: Any) -> Any:
    """A step with a network as its control, and what it costs."""
    y = w1 @ np.tanh(w0 @ x) + u
    return {"x": x + 0.1 * y, "cost": x @ x + u @ u}


def test_a_network_in_the_loop() -> None:
    """A body with products of matrices, whose weights stay where the caller has them."""
    f = condyle.function(controlled, inputs={"x": 14, "u": 14, "w0": (40, 14), "w1": (14, 40)})
    made, rng = f.compile(target="c", threads=1), np.random.default_rng(2)
    dyn, of = made._dynamics, f.specification
    assert isinstance(dyn._compiler.code(of), Segmented)
    x, u = rng.normal(size=(19, 14)), rng.normal(size=(19, 5, 14))
    w0, w1 = rng.normal(size=(40, 14)) / 4, rng.normal(size=(14, 40)) / 6
    for weights in ((w0, w1), (np.broadcast_to(w0, (19, 40, 14)).copy(), w1)):
        found = dyn.call(repeat(of, 5, ("u",), last=True, summed=("cost",)), (x, u, *weights))
        at, cost = x, np.zeros(19)
        for t in range(5):
            at, now = made(at, u[:, t].copy(), *weights)
            cost = now if t == 0 else cost + now
        same(found, (at, cost))
    by = dyn.call(repeat(of, 5, ("u", "w1"), last=True), (x, u, w0, np.broadcast_to(w1, (5, 14, 40))))
    same(by[:1], (at,))


def test_a_long_chain_in_the_loop() -> None:
    """A body in loops over joints."""
    dyn = condyle.chain(120, rng=1).compile(target="c", threads=1)
    assert isinstance(dyn._compiler.code(function_of("id")), Rolled)
    rng = np.random.default_rng(5)
    q, v, a = (rng.uniform(-1, 1, (5, 3, 120)) for _ in range(3))
    (found,) = dyn.call("rollout_3_by_q_v_a_of_id", (q, v, a))
    (total,) = dyn.call("rollout_3_by_q_v_sum_tau_of_id", (q, v, a[:, 0]))
    steps = [dyn.inverse_dynamics(q[:, t].copy(), v[:, t].copy(), a[:, t].copy()) for t in range(3)]
    same((found,), (np.stack(steps, 1),))
    held = [dyn.inverse_dynamics(q[:, t].copy(), v[:, t].copy(), a[:, 0].copy()) for t in range(3)]
    same((total,), (held[0] + held[1] + held[2],))
    assert "3 steps a tile" in cast(NativeKernel, dyn._kernels[function_of("rollout_3_by_q_v_a_of_id")]).description
