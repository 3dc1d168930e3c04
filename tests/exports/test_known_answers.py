"""States of exported tests: where rounding decides the answers none is taken, and a wrong function is still seen."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import UNTESTED
from condyle.exports.known_answers import MORE, well_posed
from condyle.exports.known_answers import _taken as taken  # pyright: ignore[reportPrivateUsage]
from condyle.jobs.controllers import AXES, WHOLE_BODY, whole_body
from condyle.specification import Port
from tests.backends.c.test_export import STRICT
from tests.programs import call, needs

X, Y, RESIDUAL = (Port(name, ("1",), "a number", "1", "") for name in "xyr")


def check(folder: Path, *flags: str) -> str:
    """What the exported test prints."""
    sources = [path.name for path in folder.glob("*.c")]
    call(["gcc", *STRICT, *flags, *sources, "-o", "check", "-lm"], folder)
    return subprocess.run(["./check"], cwd=folder, capture_output=True, text=True, timeout=60, check=False).stdout


def states(function: Any, *ports: Port, n: int = 4) -> Any:
    """Of a function of x between -1 and 1, of float32, 1e-5 allowed."""

    def draw(count: int) -> tuple[list[np.ndarray], float]:
        x = np.random.default_rng(0).uniform(-1.0, 1.0, (count, 1))
        return [x.astype(np.float32).astype(np.float64)], 1e-5

    def answers(rows: list[np.ndarray], number: str) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return [np.asarray(y, number) for y in function(rows[0].astype(number))]

    return taken(draw, answers, None, ports, "float32", n)


def test_states_that_rounding_moves_are_not_taken() -> None:
    """Above 0.2 the function is rough, below -0.5 it has no value."""
    case = states(lambda x: [np.where(x > 0.2, np.sin(1e9 * x), np.sqrt(x + 0.5) + 1.0)], Y)
    assert len(case.inputs[0]) == 4 and len(np.unique(case.inputs[0])) == 4
    assert (case.inputs[0] <= 0.2).all() and (case.inputs[0] > -0.5).all()
    assert case.tolerance == 1e-5 and case.tolerance_of(0) < 1e-4


def test_the_first_states_are_taken_where_they_are_good() -> None:
    case = states(lambda x: [2.0 * x], Y)
    np.testing.assert_array_equal(case.inputs[0], np.random.default_rng(0).uniform(-1, 1, (4, 1)).astype(np.float32))
    assert case.coarser == ()


def test_few_good_states_are_taken_more_than_once() -> None:
    drawn = np.sort(np.random.default_rng(0).uniform(-1, 1, 4 * MORE))
    case = states(lambda x: [np.sqrt(x - (drawn[-2] + drawn[-3]) / 2.0)], Y)
    assert len(case.inputs[0]) == 4 and len(np.unique(case.inputs[0])) == 2


def test_answers_that_are_zero_are_not_taken_alone() -> None:
    """The second answer is 0 at the first states, as the impulse of a contact that opens; others are taken too."""
    first = np.random.default_rng(0).uniform(-1.0, 1.0, 4)
    case = states(lambda x: [x + 2.0, np.maximum(x - np.max(first), 0.0)], X, Y)
    assert len(case.inputs[0]) == 4 and (case.outputs[1] > 0.0).all()


def test_an_answer_beside_a_much_larger_one_has_its_rounding() -> None:
    """As a residual of 1e-12 beside speeds: its last bits are those of another order of operations."""
    case = states(lambda x: [x + 2.0, 1e-12 * (x + 2.0)], X, Y)
    scale = np.max(np.abs(case.outputs[1]))
    assert case.tolerance_of(1) * scale > np.finfo(np.float32).eps and case.tolerance_of(0) == 1e-5


def test_a_residual_does_not_count_and_nothing_else_is_no_test() -> None:
    assert states(lambda x: [x + 2.0, 1e-9 * np.sin(1e9 * x)], Y, RESIDUAL).tolerance_of(0) < 1e-4
    assert states(lambda x: [np.sin(1e9 * x)], Y) is None
    assert states(lambda x: [np.sqrt(-1.0 - x * x)], Y) is None
    assert well_posed({"f": None}) == {}


def rough(at: Any, x: Any) -> dict[str, Any]:
    return {"y": np.sin(1e12 * x) + at.q[0]}


@needs("gcc")
@pytest.mark.parametrize("embedded", [False, True])
def test_a_function_without_good_states_is_exported(tmp_path: Path, embedded: bool) -> None:
    """The test and the README say it, and other functions are tested."""
    arm = condyle.chain(2)
    arm.function(rough, {"q": 2, "x": 3}).export("c", tmp_path, name="r", dtype="float32", embedded=embedded)
    assert check(tmp_path).split("  ")[-1].strip() == f"no test: {UNTESTED}"
    assert f"has no test: {UNTESTED}." in (tmp_path / "README.md").read_text()


def test_cuda_says_so_too(tmp_path: Path) -> None:
    condyle.chain(2).function(rough, {"q": 2, "x": 3}).export("cuda", tmp_path, name="r")
    assert UNTESTED in (tmp_path / "example.cu").read_text() and "rough_x" not in (tmp_path / "known.h").read_text()
    assert f"`rough` has no test: {UNTESTED}." in (tmp_path / "README.md").read_text()


def least(at: Any, g: Any, b: Any) -> dict[str, Any]:
    """Of random limits many have no solution; answers are then where the steps end, which rounding decides."""
    best = condyle.qp(np.eye(3), g, np.stack([np.ones(3), at.q]), -np.inf, b, box=(-0.5, 0.5))
    return {"x": best.x, "residual": best.residual, "status": best.status}


@needs("gcc")
def test_a_program_that_may_have_no_solution(tmp_path: Path) -> None:
    """It is right, and a wrong one is seen: a text that answers 1 % more."""
    function = condyle.chain(3).function(least, {"q": 3, "g": 3, "b": 2})
    function.export("c", tmp_path, name="r", dtype="float32", embedded=True)
    assert check(tmp_path).split() == ["least", "right"]
    text = (tmp_path / "r_least.c").read_text()
    assert "x[k] = w[" in text
    (tmp_path / "r_least.c").write_text(text.replace("x[k] = w[", "x[k] = 1.01f * w["))
    assert check(tmp_path).split() == ["least", "WRONG"]


@needs("gcc")
def test_iterations_of_inverse_kinematics(tmp_path: Path) -> None:
    """Their matrices are no rotations, and damping may be negative."""
    ik = condyle.chain(3).inverse_kinematics(("link2",))
    ik.iteration(True).export(
        "c", tmp_path, name="r", dtype="float32", iterate={"until": "done", "most": 20}, embedded=True
    )
    assert check(tmp_path).split() == ["inverse_kinematics", "right", "iterate_inverse_kinematics", "right"]


@needs("gcc")
@pytest.mark.slow  # 5 s: the compiler
def test_a_whole_body(tmp_path: Path) -> None:
    dog, feet = condyle.load("hyq", floating_base=True), ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
    body = partial(whole_body, frames=feet, effort=dog.effort, friction=0.6)
    function = dog.function(body, WHOLE_BODY, sizes={"n_feet": 4}, **AXES)
    function.export("c", tmp_path, name="dog", dtype="float32", embedded=True)
    assert check(tmp_path).split() == ["function", "right"]
