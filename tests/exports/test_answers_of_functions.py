"""What exported tests are given: so many states, in a number type, with the reference's answers and what rounding
justifies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.derivatives import taking
from condyle.exports.exporting import compiler_of
from condyle.exports.known_answers import (
    _allowed,
    _changes,
    _coarser,
    _drawn,
    _relative,
    _usual,
    rollout_vectors,
    vectors_of,
)
from condyle.functions import FUNCTIONS
from condyle.functions.open_rollouts import open_rollout
from condyle.model.tree import tree_of
from condyle.specification import Port
from condyle.specification.ports import F_EXT
from condyle.trace.reference import evaluate

ARM = condyle.chain(2, 0)
X, Y = (Port(name, ("1",), "a number", "1", "") for name in "xy")
BESIDE = Port("z", ("1",), "a number", "1", "", beside="x")


@pytest.mark.parametrize(
    ("dtype", "nv", "condition", "own", "allowed"),
    [
        ("float64", 2, 1.0, 1.0, 66.0 * 2.0**-52),
        ("float64", 2, 100.0, 3.0, 300.0 * 2.0**-52),
        ("float32", 10, 1.0, 0.0, 74.0 * 2.0**-23),
        ("float64", 2, 1e12, 1.0, 1e-8),
        ("float32", 2, 1e12, 1.0, 1e-2),
    ],
)
def test_the_allowed_error_is_of_roundings_or_of_the_condition(
    dtype: str, nv: int, condition: float, own: float, allowed: float
) -> None:
    """64 roundings and one for each degree of freedom, or what the condition of M makes of one."""
    function: Any = SimpleNamespace(condition=own)
    assert _allowed(function, dtype, nv, condition) == allowed


def test_the_usual_size_is_the_median_of_the_states_that_have_one() -> None:
    assert _usual(np.array([[1.0, -2.0], [0.0, 0.0], [np.inf, 1.0], [4.0, 3.0], [8.0, 0.0]])) == 4.0
    assert _usual(np.zeros((3, 2))) == _usual(np.zeros((3, 0))) == 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_inputs_that_are_a_rounding_off_show_how_much_rounding_changes(dtype: str) -> None:
    eps, x = np.finfo(dtype).eps, np.array([[1.0], [-2.0], [0.0]])

    def judge(rows: list[np.ndarray], number: str) -> list[np.ndarray]:
        assert number == dtype and len(rows[0]) == 8 * len(x)
        assert np.array_equal(rows[0][:3], x), "the inputs themselves are tried too"
        with np.errstate(all="ignore"):
            return [2.0 * rows[0], np.sqrt(rows[0]), np.zeros((len(rows[0]), 0))]

    with np.errstate(all="ignore"):
        times, roots, nothing = _changes(judge, [x], [2.0 * x, np.sqrt(x), np.zeros((3, 0))], dtype)
    np.testing.assert_allclose(times, [2.0 * eps, 4.0 * eps, 0.0], rtol=1e-12)
    assert np.isfinite(roots[[0, 2]]).all() and roots[1] == np.inf and not nothing.any()


def test_changes_are_relative_to_the_usual_size_of_an_answer_or_of_the_one_beside_it() -> None:
    """Usual sizes are 4 and 0.5."""
    answers = [np.array([[4.0], [4.0], [8.0]]), np.array([[0.5], [0.5], [0.25]])]
    change = [np.array([0.4, 0.0, 0.8]), np.array([0.0, 0.1, 0.0])]
    np.testing.assert_allclose(_relative((X, Y), answers, change, 1.0), [0.1, 0.2, 0.2])
    np.testing.assert_allclose(_relative((X, BESIDE), answers, change, 1.0), [0.1, 0.025, 0.2])
    answers[0][1] = np.nan
    np.testing.assert_allclose(_relative((X, Y), answers, change, 1.0), [0.4 / 6.0, np.inf, 0.8 / 6.0])


def test_an_answer_that_rounding_decides_everywhere_does_not_count() -> None:
    """Sixteen times the smallest change is more than what means anything."""
    answers = [np.ones((2, 1)), np.ones((2, 1))]
    change = [np.array([0.1, 0.2]), np.array([0.0, 0.3])]
    np.testing.assert_allclose(_relative((X, Y), answers, change, 1.6), [0.1, 0.3])
    np.testing.assert_allclose(_relative((X, Y), answers, change, 1.59), [0.0, 0.3])
    assert np.isinf(_relative((X,), answers[:1], change[:1], 1.59)).all()
    nothing = np.zeros((2, 1))
    np.testing.assert_allclose(_relative((X,), [nothing], [np.array([0.0, 0.1])], 1.0), [0.0, np.inf])


def test_tolerances_of_answers_that_rounding_changes_more() -> None:
    eps = 2.0**-52
    answers = [np.array([[2.0], [-8.0]]), np.array([[1.0], [0.5]])]
    none = [np.zeros(2), np.zeros(2)]
    assert _coarser((X, Y), answers, none, 1e-12, "float64") == ()
    assert _coarser((X, Y), answers, [none[0], np.array([1e-3, 0.0])], 1e-12, "float64") == ((1, 0.016),)
    assert _coarser((X, BESIDE), answers, none, 1e-12, "float64") == ((1, 8e-12),)
    assert _coarser((X, Y), answers, none, 4.0 * eps, "float64") == ((1, 8.0 * eps),), "of the largest answer"
    zeros = [answers[0], np.zeros((2, 1))]
    assert _coarser((X, Y), zeros, [none[0], np.ones(2)], 1e-12, "float64") == ()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [2, 5])
def test_states_have_the_answers_of_the_reference(dtype: str, n: int) -> None:
    compiler, function = compiler_of(ARM), FUNCTIONS["difd"].taking(F_EXT)
    more = {} if n == 5 else {"n": n}
    found = vectors_of(ARM, compiler, function, dtype, **more)
    assert found is not None and found.times == ()
    assert [x.shape for x in found.inputs] == [(n, 2)] * 3 + [(n, 4), (n, 12)]
    assert all(x.dtype == dtype for x in found.inputs)
    given = {port.name: x.astype(np.float64) for port, x in zip(function.inputs, found.inputs, strict=True)}
    for one, two in zip(found.outputs, evaluate(tree_of(ARM), function, "closed_form", given), strict=True):
        np.testing.assert_allclose(one, np.reshape(two, (n, -1)), rtol=1e-12, atol=1e-12)
    M = ARM.compile("numpy").mass_matrix(given["q"])
    np.testing.assert_allclose(given["Minv"].reshape(n, 2, 2) @ M, np.tile(np.eye(2), (n, 1, 1)), atol=1e-4)


def test_numbers_of_the_robot_are_one_row_for_all_states() -> None:
    bound = condyle.compile.options.bound_of(ARM, (), contacts=())
    function = taking(FUNCTIONS["id"], "gravity")
    for held in ((), ("gravity",)):
        found = vectors_of(ARM, compiler_of(ARM, bound=bound), function, "float64", held)
        assert found is not None
        gravity = found.inputs[[port.name for port in function.inputs].index("gravity")]
        assert (len(np.unique(gravity, axis=0)) == 1) == bool(held) and len(gravity) == 5
        assert np.linalg.norm(gravity[0]) > 1.0, "varied from the robot's own"
        assert len(np.unique(found.inputs[0], axis=0)) == 5


def test_a_rollout_is_of_three_short_steps() -> None:
    compiler = compiler_of(ARM)
    rollout = open_rollout(FUNCTIONS["step"], ("tau",))
    found = rollout_vectors(ARM, compiler, rollout, "float64")
    assert found is not None and found.times == (3, 2)
    q, v, tau, dt = found.inputs
    assert (q.shape, v.shape, tau.shape, dt.shape) == ((5, 2), (5, 2), (5, 6), (5, 1))
    assert (dt > 0.0).all() and (dt <= 0.01).all()
    dyn, kept = ARM.compile("numpy"), []
    for k in range(3):
        q, v = dyn.step(q, v, tau[:, 2 * k : 2 * k + 2], dt[:, 0])
        kept += [(q, v)]
    for k, array in enumerate(found.outputs):  # every second one, and the last
        np.testing.assert_allclose(array, np.hstack([kept[1][k], kept[2][k]]), rtol=1e-12, atol=1e-12)
    assert found.tolerance >= 3 * 66 * 2.0**-52


def test_the_condition_is_that_of_the_mass_matrix() -> None:
    builder = condyle.Builder()
    for k, (name, mass) in enumerate((("cart", 999.0), ("load", 1.0))):
        builder.body(name, mass=mass, inertia=0.01 * mass * np.eye(3))
        builder.joint(f"j{k}", parent="cart" if k else "world", child=name, type="prismatic", axis=np.eye(3)[k])
    robot = builder.build()
    known, condition = _drawn(robot, compiler_of(robot), FUNCTIONS["fd"], 4)
    assert condition == pytest.approx(1000.0)
    assert {name: x.shape for name, x in known.items()} == {name: (4, 2 if name != "M" else 4) for name in known}
    assert (np.abs(known["a"]) <= 1.0).all() and len(np.unique(known["a"])) == 8
    np.testing.assert_allclose(known["tau"], known["a"] * (1000.0, 1.0), atol=1e-9)
    still = condyle.chain(0)
    assert _drawn(still, compiler_of(still), FUNCTIONS["fd"], 4)[1] == 1.0
