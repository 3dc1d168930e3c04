"""`condyle.qp` in a user's function: every target, what is seen when tracing, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import ShapeError, UnsupportedError
from condyle.user import UserFunction
from condyle.user.quadratic_program import _entries

N, M, P, COUNT = 5, 3, 1, 50
INPUTS = {"H": (N, N), "g": N, "A": (M, N), "lower": M, "upper": M, "low": N, "high": N, "E": (P, N), "e": P}


def program(H: Any, g: Any, A: Any, lower: Any, upper: Any, low: Any, high: Any, E: Any, e: Any) -> dict[str, Any]:
    return condyle.qp(H, g, A, lower, upper, box=(low, high), equal=(E, e))._asdict()


@pytest.fixture(scope="module")
def traced() -> UserFunction:
    return condyle.function(program, inputs=INPUTS)


@pytest.fixture(scope="module")
def problems() -> list[Any]:
    random = np.random.default_rng(20261127)
    B, A = random.normal(size=(COUNT, N, N)), random.normal(size=(COUNT, M, N))
    E, x0, half = random.normal(size=(COUNT, P, N)), random.uniform(-0.3, 0.3, (COUNT, N)), np.full((COUNT, N), 0.7)
    w, H = np.einsum("nij,nj->ni", A, x0), B @ B.swapaxes(1, 2) / N + 0.2 * np.eye(N)
    e = np.einsum("nij,nj->ni", E, x0)
    return [H, 2.0 * random.normal(size=(COUNT, N)), A, w - 0.4, w + 0.4, -half, half, E, e]


def with_infeasible(problems: list[Any]) -> list[Any]:
    """Every tenth state has crossed limits, one is NaN."""
    changed = [part.copy() for part in problems]
    changed[3][::10] = changed[4][::10] + 0.5
    changed[1][3, 0] = np.nan
    return changed


@pytest.mark.parametrize("target", ["numpy", "cpu", "c"])
def test_every_target_gives_the_answers_on_numbers(traced: UserFunction, problems: list[Any], target: str) -> None:
    arguments = with_infeasible(problems)
    got, whole = traced.compile(target, threads=2)(*arguments), program(*arguments)
    np.testing.assert_array_equal(got.status, whole["status"])
    assert set(np.unique(got.status)) == {-1.0, 0.0, 1.0}
    solved = got.status == 1
    # rounding may add a step: both are within the error of the last step
    np.testing.assert_allclose(got.x[solved], whole["x"][solved], rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.multipliers[solved], whole["multipliers"][solved], rtol=0, atol=1e-5)
    assert np.isfinite(got.x[got.status == -1]).all()
    assert (got.residual[solved] <= 1e-6).all()


def test_infeasible_states_change_no_bit_of_others(traced: UserFunction, problems: list[Any]) -> None:
    compiled, arguments = traced.compile(threads=1), with_infeasible(problems)
    kept = np.arange(COUNT)[(np.arange(COUNT) % 10 != 0) & (np.arange(COUNT) != 3)]
    whole, clean = compiled(*arguments), compiled(*problems)
    np.testing.assert_array_equal(whole.x[kept], clean.x[kept])
    alone = [compiled(*(part[k] for part in problems)).x for k in kept[:5]]
    np.testing.assert_array_equal(alone, clean.x[kept[:5]])


def test_single_precision(traced: UserFunction, problems: list[Any]) -> None:
    """The code knows its number type: it stops where single precision ends, and no answer is NaN."""
    arguments = with_infeasible(problems)
    got, exact = traced.compile(dtype="float32")(*(part.astype(np.float32) for part in arguments)), program(*problems)
    feasible = np.arange(COUNT) % 10 != 0
    feasible[3] = False
    assert (got.status[feasible] == 1).all() and (got.status[::10] != 1).all()
    # rows: slacks are differences of numbers of order 1, with 7 digits, and multipliers of weak sides follow from them
    np.testing.assert_allclose(got.x[feasible], exact["x"][feasible], rtol=0, atol=1e-2)
    assert np.median(np.abs(got.x[feasible] - exact["x"][feasible])) < 1e-3
    assert np.isfinite(got.x[np.arange(COUNT) != 3]).all()

    def boxed(H: Any, g: Any, low: Any, high: Any) -> dict[str, Any]:
        return condyle.qp(H, g, box=(low, high))._asdict()

    H, g, *_, low, high, _, _ = problems
    f = condyle.function(boxed, inputs={"H": (N, N), "g": N, "low": N, "high": N}).compile(dtype="float32")
    box = f(*(np.asarray(part, np.float32) for part in (H, g, low, high)))
    assert (box.status == 1).all()
    np.testing.assert_allclose(box.x, condyle.qp(H, g, box=(low, high)).x, rtol=0, atol=1e-4)


def operations(f: Callable[..., Any], inputs: dict[str, Any]) -> int:
    said = condyle.function(f, inputs=inputs).compile().explain(64)
    return int(said.split(" mul")[0].split()[-1])


def test_zeros_and_absent_sides_cost_nothing() -> None:
    diagonal = np.eye(N)
    rows = np.zeros((M, N))
    rows[:, 0] = 1.0

    def whole(H: Any, g: Any, A: Any, u: Any) -> Any:
        return condyle.qp(H, g, A, -u, u).x

    def sparse(H: Any, g: Any, A: Any, u: Any) -> Any:
        return condyle.qp(H * diagonal, g, A * rows, -np.inf, u).x

    inputs = {"H": (N, N), "g": N, "A": (M, N), "u": M}
    assert operations(sparse, inputs) < 0.6 * operations(whole, inputs)
    f = condyle.function(sparse, inputs=inputs).compile()
    H, u = np.diag(np.arange(1.0, N + 1.0)), np.array([3.0, 0.5, 2.0])
    x = f(H, -np.ones(N), np.ones((M, N)), u)
    np.testing.assert_allclose(x, [0.5, *1.0 / np.arange(2.0, N + 1.0)], rtol=0, atol=1e-6)


def test_few_variables_and_no_limits() -> None:
    def f(g: Any) -> dict[str, Any]:
        free, boxed = condyle.qp(np.eye(1), g), condyle.qp(np.zeros((1, 1)), g, box=(-1.0, np.inf))
        return {"free": free.x, "boxed": boxed.x, "multipliers": boxed.multipliers}

    got = condyle.function(f, inputs={"g": 1}).compile()(np.array([[2.0], [0.5]]))
    np.testing.assert_allclose(got.free, [[-2.0], [-0.5]], rtol=1e-12)
    np.testing.assert_allclose(got.boxed, [[-1.0], [-1.0]], rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.multipliers, [[-2.0], [-0.5]], rtol=0, atol=1e-5)


def test_a_start_and_iterations(traced: UserFunction, problems: list[Any]) -> None:
    H, g, *_, low, high, E, e = problems

    def f(H: Any, g: Any, low: Any, high: Any, E: Any, e: Any, x: Any, y: Any) -> dict[str, Any]:
        return condyle.qp(H, g, box=(low, high), equal=(E, e), start=(x, y), iterations=5)._asdict()

    names = ("H", "g", "low", "high", "E", "e")
    warm = condyle.function(f, inputs={name: INPUTS[name] for name in names} | {"x": N, "y": N + P}).compile()
    first = condyle.qp(H, g, box=(low, high), equal=(E, e))
    near = (H, g * (1.0 + 1e-3), low, high, E, e)
    assert np.mean(warm(*near, first.x, first.multipliers).status == 1) > 0.9
    assert np.mean(warm(*near, 0 * first.x, 0 * first.multipliers).status == 1) < 0.3


def test_what_is_wrong_is_said() -> None:
    I, g = np.eye(2), np.ones(2)
    cases: tuple[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str], ...] = (
        ((I, np.ones(3)), {}, ShapeError, r"H has shape \(2, 2\).*\(3, 3\)"),
        ((None, g), {}, ShapeError, "H must be an array"),
        ((-I, g), {}, UnsupportedError, r"H\[0, 0\] is -1.0"),
        ((I, g, np.ones((1, 3)), 0.0), {}, ShapeError, r"A has shape \(1, 3\).*\(1, 2\)"),
        ((I, g), {"lower": np.zeros(2)}, ShapeError, "lower has shape"),
        ((I, g), {"box": g}, UnsupportedError, "give a pair"),
        ((I, g), {"box": (g, g, g)}, UnsupportedError, "give a pair"),
        ((I, g), {"equal": (np.ones((1, 2)), np.ones(3))}, ShapeError, r"e has shape \(3,\).*\(1,\)"),
        ((I, g), {"start": (g, g), "box": (0.0, 1.0), "equal": (I, g)}, ShapeError, r"multipliers has shape"),
        ((np.eye(65), np.ones(65)), {}, ShapeError, "65 variables"),
        ((np.zeros((3, 2, 2)), np.ones((4, 2))), {}, ShapeError, "leading dimensions"),
        ((I, g), {"box": (0.0, 1.0), "iterations": 0}, UnsupportedError, "whole number"),
    )
    for arguments, options, error, words in cases:
        with pytest.raises(error, match=words):
            condyle.qp(*arguments, **options)
    with pytest.raises(ShapeError, match="H has shape"):
        condyle.function(lambda g: condyle.qp(np.ones((4, 2, 2)), g).x, inputs={"g": 2})


def test_the_symmetric_part_of_a_hessian_counts() -> None:
    """On numbers and on symbols; without limits there are no multipliers, whatever the leading dimensions."""
    rng = np.random.default_rng(3)
    half, skew, g = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=(2, 4, 3))
    H = half @ half.T + np.eye(3)
    got = condyle.qp(H + skew - skew.T, g)
    np.testing.assert_allclose(got.x, -np.linalg.solve(H, g[..., None])[..., 0], rtol=1e-9)
    assert (got.multipliers.shape, got.residual.shape) == ((2, 4, 0), (2, 4)) and (got.status == 1).all()
    f = condyle.function(lambda H, g: condyle.qp(H, g).x, inputs={"H": (3, 3), "g": 3}).compile("numpy")
    np.testing.assert_allclose(f(H + skew - skew.T, g), got.x, rtol=1e-9)


def test_one_number_stands_for_all_sides() -> None:
    got = condyle.qp(np.eye(2), [3.0, -3.0], box=(-1.0, 2.0), equal=(np.zeros((0, 2)), np.zeros(0)))
    np.testing.assert_allclose(got.x, [-1.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(got.multipliers, [-2.0, 1.0], atol=1e-5)  # positive where an upper side holds
    rows = condyle.qp(np.eye(2), [3.0, -3.0], np.eye(2), lower=-1.0)
    np.testing.assert_allclose((rows.x, rows.multipliers), ([-1.0, 3.0], [-2.0, 0.0]), atol=1e-5)
    held = condyle.qp(np.eye(2), [0.0, 0.0], equal=([[1.0, 1.0]], [2.0]))
    np.testing.assert_allclose((held.x[0], held.x[1], held.multipliers[0]), (1.0, 1.0, -1.0), atol=1e-6)


@pytest.mark.parametrize(
    ("n", "m", "p", "fine"),
    [
        (64, 128, 0, True),
        (1, 120, 8, True),
        (65, 0, 0, False),
        (1, 129, 0, False),
        (1, 120, 9, False),
        (0, 0, 0, False),
    ],
)
def test_how_large_a_program_may_be(n: int, m: int, p: int, fine: bool) -> None:
    arrays = {"H": np.eye(n), "g": np.ones(n), "A": np.ones((m, n)), "E": np.ones((p, n))}
    if fine:
        entries, lead = _entries(arrays, False)
        assert {name: x.shape for name, x in entries.items()} == {name: x.shape for name, x in arrays.items()}
        assert lead == ()
    else:
        said = rf"qp: {n} variables, {m + p} rows; 1 to 64 and at most 128 are allowed"
        with pytest.raises(ShapeError, match=said):
            _entries(arrays, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((None, np.ones(2)), r"qp: H must be an array, \(n, n\)"),
        ((np.eye(2), None), r"qp: g must be an array, \(n,\)"),
        ((np.eye(2), 1.0), r"qp: g must be an array, \(n,\)"),
        ((np.eye(2), np.ones(2), np.ones(2)), r"qp: A has shape \(2,\); with the other arguments it must be \(0, 2\)"),
    ],
)
def test_arrays_that_make_no_program(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        condyle.qp(*arguments)
