"""What a user's function becomes: what tells two of them apart, and what it needs of what it asks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import iterate
from condyle.specification import UNBOUND
from condyle.user import UserFunction
from condyle.user.function import Numbers, answered, parts_of_function
from condyle.user.state import State
from condyle.user.traced import Traced, iterated

ROBOT = condyle.chain(2, 0)
OF_ROBOT = {"q": "nq", "v": "nv", "u": "nv"}


def parts(f: Callable[..., Any], inputs: dict[str, Any], **options: Any) -> dict[str, str]:
    """Of a function that is always called the same."""
    f.__name__ = "f"
    made = ROBOT.function(f, inputs, **options) if "q" in inputs else condyle.function(f, inputs)
    return dict(made.identity_parts)


X = {"x": 2}
DIFFERENT: list[tuple[Any, Any, dict[str, Any], dict[str, Any], set[str]]] = [
    (lambda x: x * 2.0, lambda x: x * 3.0, X, X, {"constants"}),
    (lambda x: x * 2.0, lambda x: x + 2.0, X, X, {"operations"}),
    (lambda x: x * 2.0, lambda y: y * 2.0, X, {"y": 2}, {"inputs"}),
    (lambda x: x.ravel() * 2.0, lambda x: x.ravel() * 2.0, {"x": 4}, {"x": (2, 2)}, {"inputs"}),
    (lambda x: {"a": x}, lambda x: {"b": x}, X, X, {"outputs"}),
    (lambda x: x[None] * 2.0, lambda x: x * 2.0, X, X, {"outputs"}),
    (lambda x: {"a": x[0], "b": x[1]}, lambda x: {"a": x[1], "b": x[0]}, X, X, {"operations"}),
    (lambda x: np.add(x, [1.0, 2.0]), lambda x: np.add(x, [2.0, 1.0]), X, X, {"constants"}),
    (lambda at, u: at.forward_dynamics(u), lambda at, u: at.inverse_dynamics(u), OF_ROBOT, OF_ROBOT, {"operations"}),
    (
        lambda at, u: at.forward_dynamics(u),
        lambda at, u: at.forward_dynamics(at.v) + 0.0 * u,
        OF_ROBOT,
        OF_ROBOT,
        {"operations"},
    ),
    (
        lambda at, u: at.forward_dynamics(2.0 * np.ones(2)) + u,
        lambda at, u: at.forward_dynamics(3.0 * np.ones(2)) + u,
        OF_ROBOT,
        OF_ROBOT,
        {"constants"},
    ),
]


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_difference_of_two_functions_has_a_name(case: Any) -> None:
    one, other, inputs, others, names = case
    first, second = parts(one, inputs), parts(other, others)
    assert {name for name in first if first[name] != second[name]} == {f"function.{name}" for name in names}
    assert set(first) == set(second) and parts(one, inputs) == first


def test_frames_are_told_apart_by_the_options_too() -> None:
    first, second = (
        parts(lambda at, k=k: at.frame(f"link{k}").translation, {"q": "nq"}) for k in (0, 1)
    )  # a default is no input
    assert {name for name in first if first[name] != second[name]} == {"frames", "function.operations"}


def test_what_identifies_a_function_is_the_robot_the_options_and_the_trace() -> None:
    f = ROBOT.function(lambda at, u: at.forward_dynamics(u), OF_ROBOT)
    names = set(f.identity_parts)
    assert set(UNBOUND._fields) < names
    assert {name for name in names if name.startswith("function.")} == {
        f"function.{name}" for name in ("name", "outputs", "inputs", "operations", "constants")
    }
    heavier = ROBOT.attach("link1", 1.0).function(lambda at, u: at.forward_dynamics(u), OF_ROBOT)
    moved = {name for name in names if f.identity_parts[name] != heavier.identity_parts[name]}
    assert moved and not any(name.startswith("function.") for name in moved)
    made = parts_of_function(ROBOT, UNBOUND, {"operations": "x"})
    assert made["function.operations"] == "x" and set(UNBOUND._fields) < set(made)


def test_a_compiled_function_is_identified_by_its_code_and_its_function() -> None:
    f = condyle.function(lambda x: x * 2.0, X)
    compiled = f.compile("numpy")
    assert dict(compiled.identity_parts) == {**compiled.dynamics.identity_parts, **f.identity_parts}
    assert compiled.__dask_tokenize__() == (*compiled.dynamics.__dask_tokenize__(), compiled.identity)
    assert repr(f) == "<UserFunction <lambda>: (x) -> (value)>"
    assert repr(compiled) == "<UserFunction <lambda>: (x) -> (value)>: target numpy, float64"
    assert (compiled.target, compiled.dtype) == ("numpy", np.dtype("float64"))
    assert compiled.specification is f.specification and compiled.only(None) is f.specification
    with pytest.raises(UnsupportedError, match=r"of='x': name an output: value$"):
        compiled.only("x")


def test_an_iteration_is_done_after_fifty_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    f = condyle.function(lambda x: {"x": x * 0.5, "done": 1.0 - x[0], "far": x[1] - 3.0}, X).specification
    repeated: list[tuple[object, ...]] = []

    def seen(function: Any, most: int, until: str) -> Any:
        repeated.append((most, until))
        return iterate(function, most, until)

    monkeypatch.setattr("condyle.user.traced.iterate", seen)
    for options in ({}, {"most": 7}, {"until": "far"}):
        loop = iterated(f, options)
        assert [port.name for port in loop.outputs] == ["x", "done", "far", "iterations"]
        assert loop.name == loop.method == f"iterate_{f.name}" and (loop.call, loop.origin) == ("", None)
    assert repeated == [(50, "done"), (7, "done"), (50, "far")]
    for wrong in ({"until": "done", "often": 1}, {"Most": 3}):
        with pytest.raises(UnsupportedError, match=r"iterate=.*: allowed are 'until' and 'most'"):
            iterated(f, wrong)


def test_one_output_alone_has_a_name_of_its_own() -> None:
    f = condyle.function(lambda x: {"a": x[0], "b": x * x[1]}, X)
    a, b = f.only("a"), f.only("b")
    assert a.method.endswith("_a") and b.method.endswith("_b") and f.only("a") is a
    assert [port.name for port in (*a.outputs, *b.outputs)] == ["a", "b"] and b.outputs[0].dims == ("2",)
    with pytest.raises(UnsupportedError, match=r"of=None: name an output: a, b$"):
        f.only(None)


def test_a_function_needs_what_it_asks() -> None:
    """What one of them needs, all do."""
    fv, fa = FUNCTIONS["fv"], FUNCTIONS["fa"]

    def both(at: Any, u: Any) -> Any:
        return at.frame("link1").velocity + at.frame("link1").acceleration(u)

    found = ROBOT.function(both, OF_ROBOT).specification.needs
    assert found.reference_frames == fa.needs.reference_frames == ("local", "local_world_aligned")
    assert not fv.needs.reference_frames
    assert not found.contact_kinds
    held = ROBOT.function(
        lambda at, u: at.contact_solve(u, np.ones(1), 0.01, np.full(1, 0.5))[0],
        OF_ROBOT,
        contacts=[condyle.Contact("link1")],
    )
    asked = next(one for one in FUNCTIONS.values() if one.method == "contact_solve")
    assert held.specification.needs.contact_kinds == asked.needs.contact_kinds


def test_only_what_answers_depend_on_is_kept() -> None:
    def f(x: Any) -> Any:
        np.linalg.solve(x[None] * x[:, None] + np.eye(2), x)
        return x[0] * x[0] + 0.0 * x[1]

    (route,) = (route.run for route in condyle.function(f, X).specification.routes.values())
    assert isinstance(route, Traced) and len(route.asked) == 1
    kinds = [route.nodes[k][0] for k in route.needed]
    assert kinds == ["input", "mul"] and list(route.needed) == sorted(route.needed)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_constant_that_is_no_number_is_refused_wherever_it_stands(value: float) -> None:
    text = r"<lambda>: a constant is infinite or no number \(np\.inf, np\.nan, a division by 0\); use a large number"
    for f in (lambda x: x * value, lambda x: np.stack([x[0], value]), lambda x: np.where(x > 0, x, value)):
        with pytest.raises(UnsupportedError, match=text):
            condyle.function(f, X)


def test_an_error_of_the_users_own_comes_through() -> None:
    class OwnError(ValueError): ...

    def raises(error: Exception, while_refused: bool = False) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            if while_refused:
                try:
                    float(x[0])
                except UnsupportedError:
                    raise error from None
            raise error

        return f

    for error in (OwnError("mine"), TypeError("mine"), KeyError("mine")):
        with pytest.raises(type(error), match="mine"):
            condyle.function(raises(error), X)
    with pytest.raises(ShapeError, match="mine"):
        condyle.function(raises(ShapeError("mine"), while_refused=True), X)
    with pytest.raises(UnsupportedError, match="a symbol has no value yet"):
        condyle.function(raises(OwnError("mine"), while_refused=True), X)


def test_the_name_of_an_input_after_a_step_is_taken() -> None:
    """By another input too."""
    text = "outputs: 'x' is the name of an input, and is 'x_next' in generated code, which is taken"
    with pytest.raises(UnsupportedError, match=text):
        condyle.function(lambda x, x_next: {"x": x + x_next}, {"x": 2, "x_next": 2})
    fine = condyle.function(lambda x, x_next: {"y": x + x_next, "x_next": x}, {"x": 2, "x_next": 2})
    assert [port.name for port in fine.specification.outputs] == ["y", "x_next"]


def test_a_state_without_contacts_names_one_that_could_be() -> None:
    """On the tip of the robot, or on a foot where it has no frames."""
    for robot, frame in ((ROBOT, "link1"), (replace(ROBOT, frames={}), "foot")):
        state = State({}, Numbers(ROBOT, UNBOUND), robot, UNBOUND)
        with pytest.raises(UnsupportedError, match=rf"no contacts; give contacts=\(condyle\.Contact\('{frame}'\),\)"):
            state.contact_solve(np.zeros(2), np.ones(1), 0.01, np.full(1, 0.5))
    assert (state.contacts, state.reference_frame, state.force_frame) == ((), "local", "local")


def test_answers_of_numbers_are_checked_and_batches_broadcast() -> None:
    f = ROBOT.function(lambda at, u: at.forward_dynamics(u), OF_ROBOT)
    q, v = ROBOT.random_state(3, 0)
    whole = f.reference(q, v, u=np.ones(2))
    assert whole.shape == (3, 2)
    for k in range(3):
        assert f.reference(q[k], v[k], np.ones(2)).tolist() == whole[k].tolist()
    assert f.reference(q[:, None], v, np.ones(2)).shape == (3, 3, 2)
    caller = Numbers(ROBOT, UNBOUND)
    with pytest.raises(ShapeError, match=r"at\.forward_dynamics: tau has shape \(3,\), expected \(2,\)"):
        caller.call(FUNCTIONS["fd"], [q[0], v[0], np.ones(3)], "")
    (found,) = answered(f.specification, ROBOT, UNBOUND, lambda of: of["q"] + of["u"], [q, v, np.ones(2)])
    assert np.array_equal(found, q + 1.0)


def test_a_pickle_keeps_the_options_of_a_compiled_function() -> None:
    f: UserFunction = ROBOT.function(moved, OF_ROBOT, reference_frame="local_world_aligned")
    again = pickle.loads(pickle.dumps(f.compile("numpy", "float32", check=False)))
    assert (again.target, again.dtype) == ("numpy", np.dtype("float32"))
    assert again.identity == f.compile("numpy", "float32", check=False).identity
    assert pickle.loads(pickle.dumps(f)).identity == f.identity


def moved(at: Any, u: Any) -> Any:
    return at.frame("link1").velocity[:2] + u
