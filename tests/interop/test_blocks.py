"""Calls by blocks of states, on workers that answer at once: arguments, tasks, sums and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.calls.rollouts import Options
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.interop import blocks
from condyle.interop.blocks import Call, Function, Functions, Input, Task, check_target, engine_of, function_for, run
from tests.interop.test_wrapped import RATE, USER, X, same
from tests.refusals import refuses

ROBOT = condyle.chain(2, 0)
DYN = ROBOT.compile("numpy", inputs=("gravity",))
Q, V = ROBOT.random_state(3, 0)
F = np.linspace(-1.0, 1.0, 3 * len(ROBOT.bodies) * 6).reshape(3, -1, 6)
LOW = np.array([0.1, 0.2, -5.0])


class Here:
    """All states are one block; `calls` has what was asked for."""

    def __init__(self, target: Any) -> None:
        self.target, self.calls = target, list[Call]()

    def takes(self, value: object) -> bool:
        return False

    def answers(self, call: Call) -> Sequence[Any]:
        self.calls.append(call)
        return run(self.target, call.task, [x.value for x in call.inputs])


@pytest.mark.parametrize("more", [{}, {"f_ext": F}, {"gravity": LOW}, {"f_ext": F[0], "gravity": LOW}])
def test_methods_are_those_of_the_dynamics(more: dict[str, Any]) -> None:
    here = Here(DYN)
    far = Functions(DYN, here)
    same(far.inverse_dynamics(Q, V, V, **more), DYN.inverse_dynamics(Q, V, V, **more))
    same(far.step(Q, tau=V, v=V, dt=0.01, **more), DYN.step(Q, V, V, 0.01, **more))
    same(far.vjp("id")(Q, V, V, V, **more), DYN.vjp("id")(Q, V, V, V, **more))
    same(far.jacobian("fd", "v")(Q, V, V, **more), DYN.jacobian("fd", "v")(Q, V, V, **more))
    same(far.hessian("id")(Q, V, V, V, **more), DYN.hessian("id")(Q, V, V, V, **more))
    same(far.jvp("id")(Q, V, V, V, V, Q, **more), DYN.jvp("id")(Q, V, V, V, V, Q, **more))
    same(tuple(far.rollout(Q, V, V, 0.01, steps=2, **more)), tuple(DYN.rollout(Q, V, V, 0.01, steps=2, **more)))
    extra = (*(["f_ext"] if "f_ext" in more else []), "gravity")
    assert {call.task.extra for call in here.calls} == {extra}
    assert [call.task.kind for call in here.calls] == ["", "", "vjp", "jacobian", "hessian", "jvp", ""]
    assert here.calls[3].task.by == ("v",) and here.calls[-1].task.rolled == Options((), 1, False, (), 2, "", False)


def test_what_is_one_for_all_states_has_a_sum_of_cotangents() -> None:
    here = Here(DYN)
    far = Functions(DYN, here)
    far.vjp("id")(Q, V[0], V, V)
    (call,) = here.calls
    assert [(x.name, x.dims, x.is_shared) for x in call.inputs] == [
        ("q", (2,), False), ("v", (2,), True), ("a", (2,), False), ("gravity", (3,), True), ("tau_bar", (2,), False),
    ]  # fmt: skip
    assert call.sums == [False, True, False, True] and call.outputs == [(2,), (2,), (2,), (3,)]
    assert call.result is not None and call.result._fields == ("q", "v", "a", "gravity")  # type: ignore[attr-defined]
    far.vjp("id")(Q[0], V[0], V[0], V[0])
    far.inverse_dynamics(Q, V[0], V)
    assert here.calls[1].sums == [False] * 4 and here.calls[2].sums == [False] and here.calls[2].result is None
    assert here.calls[2].method == "inverse_dynamics_gravity" and here.calls[2].outputs == [(2,)]


def test_forces_and_tangents_that_are_not_given_are_zero() -> None:
    here = Here(DYN)
    far = Functions(DYN, here)
    same(far.jvp("id")(Q, V, V, V, V, Q, df_ext=F), DYN.jvp("id")(Q, V, V, V, V, Q, df_ext=F))
    same(far.jvp("id")(Q, V, V, V, V, Q, dgravity=LOW), DYN.jvp("id")(Q, V, V, V, V, Q, dgravity=LOW))
    same(far.jacobian("id", ("f_ext",))(Q, V, V), DYN.jacobian("id", ("f_ext",))(Q, V, V))
    values = {x.name: x.value for x in here.calls[0].inputs}
    assert not values["f_ext"].any() and values["f_ext"].shape == F.shape[1:]
    assert np.array_equal(values["gravity"], ROBOT.gravity) and not values["dgravity"].any()
    assert [call.task.extra for call in here.calls] == [("f_ext", "gravity"), ("gravity",), ("f_ext", "gravity")]


def test_a_users_function_has_the_methods_of_the_compiled_one() -> None:
    here = Here(USER)
    far = Function(USER, here)
    same(far(X, rate=RATE), USER(X, RATE))
    same(far.jvp()(X, RATE, X, RATE), USER.jvp()(X, RATE, X, RATE))
    same(far.vjp()(X, RATE, X, RATE, RATE), USER.vjp()(X, RATE, X, RATE, RATE))
    same(far.jacobian("x")(X, RATE), USER.jacobian("x")(X, RATE))
    same(far.hessian("cost")(X, RATE), USER.hessian("cost")(X, RATE))
    same(far.hessian("x")(X, RATE, X), USER.hessian("x")(X, RATE, X))
    same(tuple(far.rollout(X, RATE, steps=2)), tuple(USER.rollout(X, RATE, steps=2)))
    same(tuple(far.iterate(X, RATE, sum="cost")), tuple(USER.iterate(X, RATE, sum="cost")))
    tasks = [call.task for call in here.calls]
    assert [task.kind for task in tasks] == ["", "jvp", "vjp", "jacobian", "hessian", "hessian", "", ""]
    assert [task.output for task in tasks] == ["", "", "", "", "cost", "x", "", ""]
    assert all(task.function is None and task.extra == () for task in tasks)
    assert tasks[-1].rolled == Options((), 1, True, ("cost",), 50, "done", False)
    with pytest.raises(UnsupportedError, match=r"^iterate: candidates of one query end together: call the compiled"):
        far.iterate(X, RATE, until=("done", "any"))  # type: ignore[arg-type]


def test_what_computes_and_what_does_not() -> None:
    assert engine_of(DYN) is DYN and engine_of(USER) is USER.dynamics
    assert function_for(DYN, Task("", FUNCTIONS["id"])) is FUNCTIONS["id"]
    assert function_for(USER, Task("", None)) is USER.specification
    check_target("wrap", DYN)
    check_target("wrap", USER)
    with pytest.raises(UnsupportedError, match=r"^look\(int\): give a Dynamics, or a function that compile\(\) made$"):
        check_target("look", 3)
    far = Functions(DYN, Here(DYN))
    with pytest.raises(
        AttributeError, match=r"^energy: there are .*inverse_dynamics, .*, rollout, jvp, vjp, jacobian, hes"
    ):
        _ = far.energy
    with pytest.raises(AttributeError, match=r"^_runner_$"):
        _ = far._runner_


@pytest.mark.parametrize(
    ("shape", "dims", "is_shared"),
    [
        *(((3, 2), (2,), False), ((2,), (2,), True), ((), (), True), ((3,), (), False)),
        *(((3, 6), (3, 6), True), ((4, 3, 6), (3, 6), False)),
    ],
)
def test_shapes_are_of_states_or_one_for_all(shape: tuple[int, ...], dims: tuple[int, ...], is_shared: bool) -> None:
    array = np.zeros(shape)
    blocks._check("f", "x", array, dims, array.dtype)
    assert Input("x", dims, array).is_shared == is_shared


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        ((3,), (2,), "(states, 2), or (2)"),
        ((4, 3, 2), (2,), "(states, 2), or (2)"),
        ((2, 3), (2,), "(states, 2), or (2)"),
        ((3, 1), (), "(states,), or ()"),
        ((6,), (3, 6), "(states, 3, 6), or (3, 6)"),
    ],
)
def test_shapes_that_are_neither_are_refused(shape: tuple[int, ...], dims: tuple[int, ...], expected: str) -> None:
    said = f"f: x has shape {shape}, expected {expected}, which is one for all states"
    refuses(said, lambda: blocks._check("f", "x", np.zeros(shape), dims, np.dtype("f8")), ShapeError)


@pytest.mark.parametrize(
    ("dtype", "cure"),
    [
        ("f4", 'pass x.astype("float64"), or compile(dtype="float32")'),
        ("f2", 'pass x.astype("float64")'),
        ("i8", "pass real numbers"),
        ("c16", "pass real numbers"),
        ("?", "pass real numbers"),
    ],
)
def test_number_types_are_those_that_were_compiled(dtype: str, cure: str) -> None:
    array = np.zeros(2, dtype)
    said = f"f: x is {array.dtype}, expected float64: {cure}"
    refuses(said, lambda: blocks._check("f", "x", array, (2,), np.dtype("f8")), DTypeError)


def test_lists_and_whole_numbers_convert() -> None:
    kinds: list[tuple[Any, str]] = [
        ([1.0, 2.0], "f4"), ([1, 2], "f4"), (np.array([1, 2]), "f4"), (np.array([1, 2], "u1"), "f4"),
        (np.array([1.0, 2.0]), "f8"), (np.array([True, False]), "?"), (2.0, "f4"), (np.ones(2, "f4"), "f4"),
    ]  # fmt: skip
    for value, kind in kinds:
        found = blocks._array("f", "x", value, np.dtype("f4"))
        assert found.dtype == kind and np.array_equal(found, np.asarray(value))
