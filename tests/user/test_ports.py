"""Inputs, outputs and sizes of users' functions, what is asked of a robot, and what is handed on to a compiled one."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.quantities import Q, V
from condyle.model.tree import tree_of
from condyle.specification import Accuracy, Port
from condyle.symbolic import Symbols
from condyle.trace.straight import sizes
from condyle.user import CompiledFunction, UserFunction
from condyle.user.ports import MOST, Sizes, Tracer, check_arguments, check_names, check_positive, inputs_of, names_asked
from condyle.user.state import attributes
from condyle.user.traced import LONGEST, renamed

NONE = Sizes({}, False)
ROBOT = condyle.chain(2, 0)


@pytest.mark.parametrize("value", [1, MOST, np.int64(3)])
def test_a_size_is_a_whole_number_from_one_on(value: int) -> None:
    assert NONE.length("x", value) == value == Sizes.joined(None, {"n": value}).numbers["n"]


@pytest.mark.parametrize("value", [0, -1, MOST + 1, True, 2.0, None])
def test_what_is_no_size(value: Any) -> None:
    with pytest.raises(
        UnsupportedError, match=r"inputs: 'x' has the size .*; a size is \(\), a number from 1 to 16777216"
    ):
        NONE.length("x", value)
    with pytest.raises(UnsupportedError, match=r"sizes: 'n' is .*; give a whole number from 1 on"):
        Sizes.joined(None, {"n": value})


def test_sizes_by_name_are_the_robots_and_the_users() -> None:
    both = Sizes.joined({"nq": 7}, {"n": 3})
    assert (both.length("x", "nq"), both.length("x", "n"), both.of_robot, NONE.of_robot) == (7, 3, True, False)
    assert Sizes.joined(None, None) == NONE
    with pytest.raises(UnsupportedError, match="sizes=3: give a dict of names and numbers"):
        Sizes.joined(None, 3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="sizes: 'nq' is 7 of this robot; choose another name"):
        Sizes.joined({"nq": 7}, {"nq": 7})


def test_a_port_for_every_input() -> None:
    """q and v of a robot are its own, and what is as long as q is a configuration; without a robot they are numbers."""
    of_robot = Sizes({"nq": 3, "nv": 2}, True)
    q, v, goal, matrix, scalar = inputs_of({"q": 3, "v": "nv", "goal": "nq", "A": ("nv", 4), "s": ()}, of_robot)
    assert (q, v) == (Q, V) and (goal.dims, goal.unit, goal.frame) == (Q.dims, Q.unit, Q.frame)
    assert (matrix.dims, matrix.doc, scalar.dims) == (("2", "4"), "an input", ())
    (plain,) = inputs_of({"q": 3}, NONE)
    assert (plain.dims, plain.unit) == (("3",), "as given")


@pytest.mark.parametrize(
    "name", ["at", "out", "self", "class", "x y", "", "_x", "1x", "x" * 32, "ü", 3, None, "None", "x\n"]
)
def test_names_that_cannot_be(name: Any) -> None:
    check_names("inputs", ["x", "X" * 31, "a_1"])
    with pytest.raises(UnsupportedError, match=r"inputs: .* cannot be a name: a letter, then up to 30 letters, digits"):
        check_names("inputs", [name])


def cost(at: Any, q: Any, u: Any, gain: float = 1.0) -> None: ...


def everything(at: Any, **more: Any) -> None: ...


@pytest.mark.parametrize(
    ("f", "inputs", "has_state", "asked"),
    [
        (lambda at, u: u, ["q", "v", "u", "w"], True, ("u",)),
        (lambda at, w, u: u, ["q", "v", "u", "w"], True, ("u", "w")),
        (everything, ["q", "v", "u", "w"], True, ("u", "w")),
        (lambda q, u: u, ["q", "v", "u"], False, ("q", "u")),
        (lambda **more: more, ["q", "v"], False, ("q", "v")),
        (lambda at, u, gain=2.0: u, ["u"], True, ("u",)),
        (lambda at: 1.0, ["u"], True, ()),
    ],
)
def test_inputs_that_a_function_asks_by_name(
    f: Callable[..., Any], inputs: list[str], has_state: bool, asked: tuple[str, ...]
) -> None:
    assert names_asked("Job", "cost", f, inputs, has_state) == asked


def test_arguments_that_are_no_inputs() -> None:
    with pytest.raises(UnsupportedError, match=r"^cost: argument 'q' is no input; there are at, u, w$"):
        names_asked("Job", "cost", cost, ["q", "u", "w"])
    for has_state, example in ((True, r"def cost\(at\): \.\.\."), (False, r"def cost\(\): \.\.\.")):
        with pytest.raises(UnsupportedError, match=rf"^Job: cost=3 is no function; write one, such as {example}$"):
            names_asked("Job", "cost", 3, [], has_state)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"^function: 3 is no function; write one"):
        check_arguments(3, "f", True, [])
    check_arguments(cost, "cost", False, ["at", "q", "u"])
    check_arguments(max, "max", False, ["x"])  # its signature is not known
    with pytest.raises(UnsupportedError, match=r"^f: .*; by inputs=\['q', 'u'\] its arguments are \(at, u\)$"):
        check_arguments(lambda at: at, "f", True, ["q", "u"])
    with pytest.raises(UnsupportedError, match=r"^f: .*; by inputs=\['q', 'u'\] its arguments are \(q, u\)$"):
        check_arguments(lambda at: at, "f", False, ["q", "u"])


def test_numbers_that_must_be_positive() -> None:
    port = Port("dt", (), "s", "-", "a step", is_positive=True)
    check_positive("at.step", port, [1e-300, object()])
    check_positive("at.step", Port("x", (), "s", "-", "any"), [-1.0])
    for wrong in (0.0, -1.0):
        with pytest.raises(
            UnsupportedError, match=rf"^at.step: dt is {wrong:g}, expected numbers above 0, such as 1e-3$"
        ):
            check_positive("at.step", port, [1.0, wrong])


def test_equal_questions_are_asked_once() -> None:
    """Of equal arguments and of one frame; numbers and symbols are told apart."""
    tracer = Tracer(sizes(tree_of(ROBOT)))
    q, other = tracer.input(Q), tracer.input(Q)
    fk = FUNCTIONS["fk"]
    first = tracer.call(fk, [q], "link1")
    assert tracer.call(fk, [q + 0.0], "link1") is first
    asked = [tracer.call(fk, *more) for more in (([q], "link0"), ([other], "link1"), ([[0.0, 1.0]], "link1"))]
    assert all(answer is not first for answer in asked) and len(tracer.asked) == 4
    assert tracer.call(fk, [np.array([0, 1])], "link1") is asked[-1] and len(tracer.asked) == 4
    with pytest.raises(ShapeError, match=r"at\.frame_placements: q has shape \(3,\), expected \(2,\)"):
        tracer.call(fk, [np.zeros(3)], "link1")


def test_a_determinant_and_a_factor_of_symbols() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 3, 3))
    A = A @ A.swapaxes(1, 2) + np.eye(3)

    def both(A: Any) -> dict[str, Any]:
        return {"det": np.linalg.det(A), "L": np.linalg.cholesky(A)}

    found = condyle.function(both, {"A": (3, 3)}).compile("numpy")(A)
    np.testing.assert_allclose(found.det, np.linalg.det(A), rtol=1e-12)
    np.testing.assert_allclose(found.L, np.linalg.cholesky(A), rtol=1e-12, atol=1e-14)


def test_what_a_quantity_of_a_frame_is_called() -> None:
    names = {name: attributes(f) for name, f in FUNCTIONS.items() if "frames" in f.options}
    assert names == {
        "fk": ["rotation", "translation"],
        "fv": ["velocity"],
        "fa": ["acceleration"],
        "jac": ["jacobian"],
        "djac": ["jacobian_time_derivative"],
    }


def test_a_quantity_that_may_be_meant() -> None:
    with pytest.raises(
        AttributeError, match=r"at.forward_dynamic: there is no such quantity; did you mean 'forward_dyn"
    ):
        ROBOT.function(lambda at: at.forward_dynamic, {"q": "nq"})


def test_numbers_of_a_function_follow_from_what_it_asks() -> None:
    """Operations add up; its error is that of what is solved with M the most."""

    def solved(at: Any, tau: Any) -> Any:
        return at.forward_dynamics(tau) + at.mass_matrix() @ tau

    fd, m = FUNCTIONS["fd"], FUNCTIONS["m"]
    found = ROBOT.function(solved, {"q": "nq", "v": "nv", "tau": "nv"}).specification
    assert tuple(found.size) == tuple(x + y for x, y in zip(fd.size, m.size, strict=True))
    assert found.accuracy == Accuracy(1e-9, 1e-3) and found.condition == max(fd.condition, m.condition) > 0.0
    plain = condyle.function(lambda x: x * 2.0, {"x": 2}).specification
    assert (tuple(plain.size), plain.condition, plain.needs.mass) == ((0, 0, 0, 0), 0.0, False)
    com = ROBOT.function(lambda at: at.center_of_mass(), {"q": "nq"}).specification
    assert com.needs.mass == FUNCTIONS["com"].needs.mass


def test_a_step_that_an_input_says_must_be_positive() -> None:
    """Handed on as it is; what is made of an input may be positive whatever that is."""
    names, contacts = {"q": "nq", "v": "nv", "tau": "nv", "h": (), "k": ()}, [condyle.Contact("link1")]

    def solved(at: Any, tau: Any, h: Any) -> Any:
        return at.contact_solve(tau, np.ones(1), h, np.full(1, 0.5))[0]

    f = ROBOT.function(lambda at, tau, h, k: solved(at, tau, h) + solved(at, tau, 2.0 * k), names, contacts=contacts)
    assert [port.name for port in f.specification.inputs if port.is_positive] == ["h"]
    with pytest.raises(UnsupportedError, match=r"at\.contact_solve: dt is 0, expected numbers above 0"):
        ROBOT.function(lambda at, tau, h, k: solved(at, tau, 0.0), names, contacts=contacts)


@pytest.mark.parametrize(
    ("name", "own"), [("A" * LONGEST, "a" * LONGEST), ("a" * (LONGEST + 1), "function"), ("fd", "function")]
)
def test_names_in_exports(name: str, own: str) -> None:
    assert LONGEST == 20
    found = renamed(condyle.function(lambda x: x * 2.0, {"x": 2}).specification, name)
    assert (found.name, found.method, {port.given_by for port in found.outputs}) == (own, f"user_{own}", {own})


def counted(x: Any, step: Any) -> dict[str, Any]:
    return {"x": x + step, "done": x[0] + step[0] - 2.5, "sum": x[0]}


COUNTED = condyle.function(counted, {"x": 2, "step": 2})


def test_repetitions_of_a_function() -> None:
    """Rollouts and iterations by hand; what is not said is every step, and at most 50 until it is done."""
    f = COUNTED.compile("numpy")
    x, step = np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([1.0, 2.0])
    rolled = f.rollout(x, step, steps=3)
    assert rolled.x[0].tolist() == [[1.0, 3.0], [2.0, 5.0], [3.0, 7.0]] and rolled.done[1].tolist() == [0.5, 1.5, 2.5]
    assert f.rollout(x, step, steps=3, last=True).x.tolist() == [[3.0, 7.0], [5.0, 11.0]]
    assert f.rollout(x, step, steps=3, every=2).x.shape == (2, 2, 2)
    assert f.rollout(x, step, steps=3, last=True, sum=("sum",)).sum.tolist() == [3.0, 9.0]
    assert f.rollout(x, np.stack([step] * 4), by_time="step", last=True).x.tolist() == [[4.0, 9.0], [6.0, 13.0]]
    done = f.iterate(x, step)
    assert done.iterations.tolist() == [3.0, 1.0] and done.x.tolist() == [[3.0, 7.0], [3.0, 7.0]]
    assert "; states 2, iterations on average 2.0, at the most 3 of 50" in f.explain(2)
    assert f.iterate(x, 0.0 * step).iterations.tolist() == [50.0, 50.0]
    assert f.iterate(x, step, most=2, until=("done", "any")).iterations.tolist() == [1.0, 1.0]
    assert f.iterate(x[:0], step).x.shape == (0, 2) and f.explain(1).endswith("; no states")


def test_derivatives_of_repetitions() -> None:
    f = COUNTED.compile("numpy")
    x, step, bar = np.zeros(2), np.ones(2), np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    back = f.vjp("rollout")(x, step, bar, np.zeros(3), np.zeros(3), steps=3)
    assert back.x.tolist() == [1.0, 2.0] and back.step.tolist() == [3.0, 6.0]
    for of, implicit in (("steps", ()), ("", ("x",)), ("rollout", ("x",))):
        with pytest.raises(UnsupportedError, match=r"give nothing, 'rollout', or 'iterate' and names"):
            f.vjp(of, implicit)
    half = condyle.function(lambda x, u: {"x": 0.5 * x + u}, {"x": 1, "u": 1}).compile("numpy")
    found = half.vjp("iterate", implicit="x")(np.array([2.0]), np.array([1.0]), np.array([3.0]))
    assert found.x_bar.tolist() == [0.0] and found.u_bar == pytest.approx([6.0])


def test_defaults_of_a_compiled_function() -> None:
    def defaults(method: Callable[..., Any]) -> dict[str, Any]:
        parameters = signature(method).parameters.values()
        return {one.name: one.default for one in parameters if one.default is not one.empty}

    assert defaults(UserFunction.compile) == {
        "target": "cpu",
        "dtype": "float64",
        "threads": None,
        "device": None,
        "check": True,
    }
    options = {"embedded": False, "libm": False, "derivatives": ()}
    assert {name: defaults(UserFunction.export)[name] for name in options} == options
    assert defaults(CompiledFunction.map) == {"chunk": 65536, "journal": None, "progress": None}
    assert defaults(CompiledFunction.rollout) == {
        "by_time": (),
        "sum": (),
        "every": 1,
        "last": False,
        "steps": None,
        "out": None,
    }
    assert defaults(CompiledFunction.iterate) == {"until": "done", "most": 50, "by_time": (), "sum": (), "out": None}
    assert defaults(CompiledFunction.explain) == {"n": 1} and defaults(condyle.qp)["iterations"] == 40


def test_exports_that_cannot_be(tmp_path: Any) -> None:
    with pytest.raises(UnsupportedError, match="iterate=: target 'casadi' has no iterations, 'c' and 'cuda' have"):
        COUNTED.export("casadi", tmp_path, iterate={})
    pushed = ROBOT.function(lambda at: at.q * 2.0, {"q": "nq"}, force_frame="local_world_aligned")
    with pytest.raises(UnsupportedError, match="exports have forces in the bodies' axes: leave force_frame= out"):
        pushed.export("c", tmp_path)


def test_an_input_is_an_array_of_symbols() -> None:
    """A function is traced twice, and both traces are compared."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return x + 1.0

    condyle.function(f, {"x": (2, 3)})
    assert [(type(x), x.shape) for x in seen] == [(Symbols, (2, 3))] * 2
