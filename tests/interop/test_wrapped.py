"""What all frameworks share, by a maker of plain arrays: the answers of the `Dynamics`, however they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.calls.rollouts import Options
from condyle.compile.options import numbers_of_compiled
from condyle.errors import UnsupportedError
from condyle.interop.wrapped import Form, Function, Functions, Maker, bound, by_method, job_of
from condyle.specification import Function as Specification
from tests.refusals import refuses

ROBOT = condyle.random_tree(3, 3, floating_base=True)
DYN = ROBOT.compile("numpy", inputs=("gravity", "inertias"))
Q, V = ROBOT.random_state(4, 0)
TAU, WRENCHES = 0.5 * V, np.linspace(-1.0, 1.0, 4 * len(ROBOT.bodies) * 6).reshape(4, -1, 6)
HEAVY = 1.5 * ROBOT.inertias


class Plain(Maker):
    """Arrays of NumPy."""

    framework, gradient = "Plain", "plain.grad"

    def __init__(self, dyn: condyle.Dynamics) -> None:
        self.dyn, self.sizes, self.numbers = dyn, dyn.sizes, numbers_of_compiled(dyn.__reduce__()[1])

    def what(self, function: Specification) -> Specification:
        return function

    def call(self, what: Specification, form: Form, arguments: Sequence[Any], method: str) -> Any:
        answers = self.dyn.function(what)(*arguments)
        rows = answers if isinstance(answers, tuple) else (answers,)
        assert len(rows) == len(form.gives) and len(arguments) == len(form.takes)
        return rows[0] if form.result is None else form.result(*rows)

    def number(self, name: str, like: Any) -> Any:
        assert like is not None
        return self.numbers[name]

    def filled(self, shape: tuple[int, ...], value: float, like: Any) -> Any:
        assert like is not None
        return np.full(shape, value)

    def repeated(self, what: Specification, *options: Any) -> Specification:
        return Options(*options).repeated(what)


FAR = Functions(DYN, Plain(DYN), (str, ("a recipe",)))


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else ((found, expected),)
    for x, y in pairs:
        np.testing.assert_array_equal(x, y)
    assert getattr(found, "_fields", None) == getattr(expected, "_fields", None)


@pytest.mark.parametrize("more", [{}, {"f_ext": WRENCHES}, {"inertias": HEAVY}, {"gravity": np.ones(3), "f_ext": None}])
def test_methods_are_those_of_the_dynamics(more: dict[str, Any]) -> None:
    same(FAR.inverse_dynamics(Q, V, TAU, **more), DYN.inverse_dynamics(Q, V, TAU, **more))
    same(FAR.forward_dynamics(tau=TAU, v=V, q=Q, **more), DYN.forward_dynamics(Q, V, TAU, **more))
    same(FAR.step(Q, V, TAU, 0.01, **more), DYN.step(Q, V, TAU, 0.01, **more))
    same(FAR.vjp("id")(Q, V, TAU, V, **more), DYN.vjp("id")(Q, V, TAU, V, **more))
    same(FAR.jacobian("id", "v")(Q, V, TAU, **more), DYN.jacobian("id", "v")(Q, V, TAU, **more))
    same(FAR.hessian("id")(Q, V, TAU, V, **more), DYN.hessian("id")(Q, V, TAU, V, **more))
    same(FAR.rollout(Q, V, TAU[:, None], 0.01, **more), DYN.rollout(Q, V, TAU[:, None], 0.01, **more))


def test_methods_without_numbers_take_theirs_by_position() -> None:
    plain = ROBOT.compile("numpy")
    far = Functions(plain, Plain(plain), ())
    same(far.mass_matrix(Q), plain.mass_matrix(Q))
    same(far.inverse_dynamics(Q, V, TAU), plain.inverse_dynamics(Q, V, TAU))
    same(far.inverse_dynamics(Q, V, TAU, WRENCHES), plain.inverse_dynamics(Q, V, TAU, WRENCHES))
    by_force = far.jacobian("id", ("f_ext", "q"))
    same(by_force(Q, V, TAU, WRENCHES), plain.jacobian("id", ("f_ext", "q"))(Q, V, TAU, WRENCHES))
    same(by_force(Q, V, TAU, 0 * WRENCHES), by_force(Q, V, TAU))


def test_tangents_that_are_not_given_are_zero() -> None:
    jvp, own, along = FAR.jvp("fd"), DYN.jvp("fd"), (V, V, TAU)
    changes = {"dinertias": 0.1 * HEAVY, "df_ext": WRENCHES, "dgravity": np.ones(3)}
    for name, change in changes.items():
        same(jvp(Q, V, TAU, *along, **{name: change}), own(Q, V, TAU, *along, **{name: change}))
    same(jvp(Q, V, TAU, *along), own(Q, V, TAU, *along))
    same(jvp(Q, V, TAU, *along, f_ext=WRENCHES), own(Q, V, TAU, *along, f_ext=WRENCHES))


def test_a_derivative_is_made_once_for_each_way_to_ask() -> None:
    assert FAR.jacobian("fd", "q") is FAR.jacobian("fd", ("q",)) is FAR.jacobian("fd", ["q"])
    methods = [FAR.jacobian("fd"), FAR.jacobian("fd", "q"), FAR.jacobian("id"), FAR.vjp("fd"), FAR.jvp("fd")]
    assert len(set(map(id, methods))) == 5


def test_rollouts_have_no_gradient_of_their_own() -> None:
    with pytest.raises(
        UnsupportedError, match=r"^rollout has gradients as any other method: call it, then plain\.grad$"
    ):
        FAR.vjp("rollout")


def test_options_of_rollouts() -> None:
    tau = np.linspace(-1.0, 1.0, 4 * 5 * ROBOT.nv).reshape(4, 5, -1)
    for options in ({}, {"every": 2}, {"last": True}, {"by_time": "dt"}):
        dt = np.full((4, 5), 0.01) if options.get("by_time") else 0.01
        found = FAR.rollout(Q, V, tau, dt, f_ext=WRENCHES, inertias=HEAVY, **options)
        expected = DYN.rollout(Q, V, tau, dt, f_ext=WRENCHES, inertias=HEAVY, **options)
        same(tuple(found), tuple(expected))
        assert type(found).__name__.endswith("Rollout") and found._fields == ("q", "v")
    held = FAR.rollout(Q, V, TAU, 0.01, steps=3)
    same(tuple(held), tuple(DYN.rollout(Q, V, TAU, 0.01, steps=3)))


def climb(x: Any, rate: Any) -> dict[str, Any]:
    """Done above 2."""
    return {"x": x + rate, "done": x.sum() - 2.0, "cost": (x * x).sum()}


USER = condyle.function(climb, inputs={"x": 2, "rate": ()}).compile("numpy")
USERS = Function(USER, Plain(USER.dynamics), (str, ("a recipe",)))
X, RATE = np.array([[0.1, 0.2], [0.5, 0.7]]), np.array([0.5, 0.25])


def test_a_users_function_has_the_methods_of_the_compiled_one() -> None:
    same(USERS(X, RATE), USER(X, RATE))
    same(USERS(rate=RATE, x=X), USER(X, RATE))
    tangents, bars = (X, RATE), (X, RATE, 2 * RATE)
    same(tuple(USERS.jvp()(X, RATE, *tangents)), tuple(USER.jvp()(X, RATE, *tangents)))
    same(tuple(USERS.vjp()(X, RATE, *bars)), tuple(USER.vjp()(X, RATE, *bars)))
    same(tuple(USERS.jacobian("x")(X, RATE)), tuple(USER.jacobian("x")(X, RATE)))
    same(tuple(USERS.rollout(X, RATE, steps=3)), tuple(USER.rollout(X, RATE, steps=3)))
    same(USERS.hessian("x")(X, RATE, X), USER.hessian("x")(X, RATE, X))
    same(USERS.hessian("cost")(X, RATE), USER.hessian("cost")(X, RATE))
    assert np.array_equal(USERS.hessian("cost")(X, RATE)[0], np.diag([2.0, 2.0, 0.0]))
    assert USERS.specification is USER.specification


@pytest.mark.parametrize(("most", "until"), [(50, "done"), (2, "done"), (50, ("done", "any"))])
def test_a_users_function_is_repeated_until_it_is_done(most: int, until: Any) -> None:
    found, expected = (f.iterate(X, RATE, until=until, most=most, sum="cost") for f in (USERS, USER))
    assert found._fields == (*USER(X, RATE)._fields, "iterations")
    same(tuple(found), tuple(expected))
    same(tuple(USERS.iterate(X, rate=RATE)), tuple(USER.iterate(X, RATE)))
    timed = np.full((2, most), 0.3)
    found, expected = (f.iterate(X, timed, until=until, most=most, by_time="rate") for f in (USERS, USER))
    same(tuple(found), tuple(expected))


def test_what_is_shown_and_pickled() -> None:
    assert repr(FAR) == f"<Plain: the functions of {DYN!r}>" and FAR.__reduce__() == (str, ("a recipe",))
    assert repr(USERS) == f"<Plain: the function {USER!r}>" and USERS.__reduce__() == (str, ("a recipe",))


@pytest.mark.parametrize(
    ("args", "named", "error", "said"),
    [
        ((1, 2, 3, 4), {}, TypeError, "f(q, v, f_ext): 4 arguments given"),
        ((1,), {"out": 2}, UnsupportedError, "f: answers are always fresh arrays here: leave out= out"),
        ((1,), {"w": 2}, TypeError, "f(q, v, f_ext): 'w' is none of these, or given twice"),
        ((1, 2), {"q": 2}, TypeError, "f(q, v, f_ext): 'q' is none of these, or given twice"),
        ((1,), {}, TypeError, "f(q, v, f_ext): 'v' is missing"),
        ((), {"v": 1}, TypeError, "f(q, v, f_ext): 'q' is missing"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, named: Any, error: type[Exception], said: str) -> None:
    refuses(said, lambda: bound("f", ("q", "v"), ("q", "v", "f_ext"), args, named), error)


def test_arguments_by_position_or_by_name() -> None:
    for args, named in (((1, 2, 3), {}), ((1,), {"f_ext": 3, "v": 2}), ((), {"f_ext": 3, "v": 2, "q": 1})):
        assert bound("f", ("q", "v"), ("q", "v", "f_ext"), args, named) == {"q": 1, "v": 2, "f_ext": 3}
    assert bound("f", ("q", "v"), ("q", "v", "f_ext"), (1, 2), {}) == {"q": 1, "v": 2}


def test_methods_that_a_robot_has() -> None:
    """No frames were named, and there are no contacts."""
    methods = by_method(ROBOT.compile("numpy"))
    assert {"inverse_dynamics", "step"} <= methods.keys()
    assert not {"frame_placements", "constrained_forward_dynamics"} & methods.keys()


def test_what_is_no_compiled_job_is_refused() -> None:
    said = r"^wrap\(SimpleNamespace\): give a Dynamics, or a function, environments or a solver that compile\(\) made$"
    with pytest.raises(UnsupportedError, match=said):
        job_of(SimpleNamespace())


def test_a_maker_that_says_nothing_makes_nothing() -> None:
    bare: Any = Maker()
    for make in (
        lambda: bare.what(None),
        lambda: bare.call(None, None, (), "f"),
        lambda: bare.number("gravity", None),
        lambda: bare.filled((), 0.0, None),
        lambda: bare.repeated(None),
    ):
        with pytest.raises(NotImplementedError):
            make()
