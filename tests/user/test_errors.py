"""What a user's function may not be: each a clear error, before anything is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import ShapeError, UnsupportedError

TIP = "iiwa_link_7"
KEPT: list[Any] = []


@pytest.fixture(scope="module")
def arm() -> condyle.Robot:
    return condyle.load("iiwa14")


def assigned(x: Any) -> Any:
    y = np.zeros(2)
    y[0] = x[0]
    return y


def leaked(x: Any) -> Any:
    KEPT.append(x)
    return x + KEPT[0]


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "list": (lambda x: [x, x], "returns list; return a dict of names and arrays, or one array"),
    "tuple": (lambda x: (x, x), "returns tuple"),
    "nothing": (lambda x: None, "returns NoneType"),
    "empty": (lambda x: {}, "returns dict"),
    "text": (lambda x: "x", "returns str"),
    "constant": (lambda x: {"y": x, "one": 1.0}, "output 'one' depends on no input"),
    "no longer": (lambda x: x * 0.0, "output 'value' depends on no input"),
    "condition": (lambda x: x > 0, "output 'value' is a condition"),
    "infinite": (lambda x: np.where(x > 0, x, np.inf), r"infinite or no number \(np\.inf"),
    "division": (lambda x: x / 0.0, "a division by 0"),
    "not finite answer": (lambda x: np.stack([x[0], np.nan]), r"np\.nan"),
    "branch": (lambda x: x if x[0] > 0 else -x, r"np\.where\(condition, a, b\)"),
    "loop": (lambda x: sum(x[0] for _ in range(x[0])), r"range\(x\)"),
    "math": (lambda x: math.sin(x[0]), r"np\.sin"),
    "put into numbers": (assigned, r"np\.zeros_like\(x\)"),
    "names": (lambda x: {"my output": x}, "'my output' cannot be a name: a letter, then"),
    "word": (lambda x: {"class": x}, "'class' cannot be a name"),
    "symbol of C": (lambda x: {"ü": x}, "'ü' cannot be a name"),
    "hidden": (lambda x: {"_y": x}, "'_y' cannot be a name"),
    "number": (lambda x: {3: x}, "3 cannot be a name"),
    "double": (
        lambda x: {"x": x * 2, "x_next": x},
        "'x' is the name of an input, and is 'x_next' in generated code, which is taken: give one of them another name",
    ),
    "long": (lambda x: {"y" * 32: x}, "cannot be a name"),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_cannot_be_traced(name: str) -> None:
    f, message = WRONG[name]
    with pytest.raises(UnsupportedError, match=message):
        condyle.function(f, inputs={"x": 2})


def test_a_symbol_of_an_earlier_trace() -> None:
    with pytest.raises(UnsupportedError, match="another trace: a function must not keep what it was given"):
        condyle.function(leaked, inputs={"x": 2})
    with pytest.raises(UnsupportedError, match="another trace"):
        condyle.function(lambda x: KEPT[0] * 2.0, inputs={"x": 2})


INPUTS: dict[str, tuple[Any, Any, str]] = {
    "none": ({}, None, "give a dict"),
    "list": (["x"], None, "give a dict"),
    "unknown": ({"x": "nx"}, None, r"the size 'nx', which is not known; there are none yet; sizes=\{'nx': \.\.\.\}"),
    "near": ({"x": "nx"}, {"n_x": 2}, "not known; did you mean 'n_x'"),
    "robot's": ({"x": "nq"}, None, "'nq', which is not known"),
    "negative": ({"x": -1}, None, "a size is"),
    "zero": ({"x": (2, 0)}, None, "a size is"),
    "fraction": ({"x": 2.5}, None, "a size is"),
    "truth": ({"x": True}, None, "a size is"),
    "huge": ({"x": 1 << 40}, None, "a size is"),
    "bad size": ({"x": "n"}, {"n": 0}, "'n' is 0; give a whole number from 1 on"),
    "name": ({"x y": 2}, None, "'x y' cannot be a name"),
    "word": ({"lambda": 2}, None, "'lambda' cannot be a name"),
    "taken": ({"out": 2}, None, "'out' cannot be a name"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_that_are_none(name: str) -> None:
    inputs, sizes, message = INPUTS[name]
    with pytest.raises(UnsupportedError, match=message):
        condyle.function(lambda **x: next(iter(x.values())) * 2.0, inputs=inputs, sizes=sizes)


def test_errors_of_a_robots_function(arm: condyle.Robot) -> None:
    with_q = {"q": "nq"}
    for f, message in (
        (lambda at: at.v * 2, "at.v: v is no input of this function; add 'v': 'nv' to inputs="),
        (lambda at: at.kinetic_energy(), "at.v: v is no input"),
        (lambda at: at.frame("tool").translation, "there is no frame 'tool'"),
        (lambda at: at.frame("iiwa_link7").translation, "did you mean 'iiwa_link_7'"),
        (lambda at: at.frame_placements(), r"frame_placements: ask one frame, such as at\.frame\('tool0'\)\.rotation"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            arm.function(f, inputs=with_q)
    with pytest.raises(
        AttributeError, match=r"at\.colour: there is no such quantity; there are q, v, frame, inverse_dynamics"
    ):
        arm.function(lambda at: at.colour, inputs=with_q)
    with pytest.raises(AttributeError, match=r"iiwa_link_7'\)\.colour: there is rotation, translation, velocity"):
        arm.function(lambda at: at.frame(TIP).colour, inputs=with_q)
    with pytest.raises(ShapeError, match=r"at\.forward_dynamics: tau has shape \(3,\), expected \(7,\)"):
        arm.function(lambda at, x: at.forward_dynamics(x), inputs={"q": "nq", "v": "nv", "x": 3})
    with pytest.raises(TypeError, match="tau"):
        arm.function(lambda at: at.forward_dynamics(), inputs={"q": "nq", "v": "nv"})
    with pytest.raises(UnsupportedError, match=r"x = x\.copy\(\)"):
        arm.function(lambda at: at.mass_matrix().__setitem__((0, 0), 1.0), inputs=with_q)
    for inputs, sizes, message in (
        ({"q": 6}, None, "'q' has the size 6; of this robot it is 'nq'"),
        ({"q": "nq", "v": 3}, None, "of this robot it is 'nv'"),
        ({"q": "nq"}, {"nv": 3}, "'nv' is 7 of this robot; choose another name"),
        ({"q": "nq", "at": 3}, None, "'at' cannot be a name"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            arm.function(lambda at: at.q, inputs=inputs, sizes=sizes)
    with pytest.raises(UnsupportedError, match="reference_frame='body'"):
        arm.function(lambda at: at.q * 2, inputs=with_q, reference_frame="body")


def test_a_frames_acceleration_has_no_meaning_in_the_world(arm: condyle.Robot) -> None:
    def f(at: Any, a: Any) -> Any:
        return at.frame(TIP).acceleration(a)

    made = arm.function(f, inputs={"q": "nq", "v": "nv", "a": "nv"}, reference_frame="world")
    with pytest.raises(UnsupportedError, match="reference_frame='world'"):
        made.compile(target="numpy")(np.zeros(7), np.zeros(7), np.zeros(7))


def test_an_inverse_that_there_is_not() -> None:
    builder = condyle.Builder().body("base", mass=1.0).body("arm", mass=0.0)
    with pytest.warns(condyle.ModelWarning, match="singular"):
        robot = builder.joint("j", parent="base", child="arm", type="revolute", axis=(0, 0, 1)).build()
    f = robot.function(lambda at, tau: at.forward_dynamics(tau), inputs={"q": "nq", "v": "nv", "tau": "nv"})
    with pytest.raises(condyle.SingularError, match="'j'"):
        f.compile()(np.zeros(1), np.zeros(1), np.zeros(1))


def test_numbers_of_another_shape_than_symbols() -> None:
    f = condyle.function(lambda x: x[:1] if isinstance(x, np.ndarray) else x, inputs={"x": 2})
    with pytest.raises(ShapeError, match=r"value has shape \(1,\) of numbers and \(2,\) of symbols"):
        f.reference(np.ones(2))


def test_errors_of_exports(tmp_path: Path) -> None:
    f = condyle.function(lambda x: x * 2.0, inputs={"x": 2})
    with pytest.raises(UnsupportedError, match="'gradient'; allowed is 'jvp', 'vjp', 'jacobian', 'hessian'"):
        f.export("c", tmp_path / "a", derivatives=("gradient",))
    with pytest.raises(UnsupportedError, match="target='nowhere'"):
        f.export("nowhere", tmp_path / "a")
