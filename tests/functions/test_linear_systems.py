"""Linear systems in users' functions: by every target, and their derivatives by rules against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.functions.linear_systems import linear_system
from condyle.ir.segments import Segmented
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate

RNG = np.random.default_rng(41)
N = 5

KINDS: dict[str, Callable[..., Any]] = {
    "solve": lambda A, b: np.linalg.solve(A, b),
    "inv": lambda A, b: np.linalg.inv(A) @ b,
    "solve_symmetric": lambda A, b: condyle.solve_symmetric(A, b),
    "cholesky": lambda A, b: np.linalg.cholesky(A) @ b,
}


def drawn(kind: str, n: int, *columns: int) -> tuple[np.ndarray, np.ndarray]:
    A, b = RNG.normal(size=(N, n, n)), RNG.normal(size=(N, n, *columns))
    if kind in ("solve_symmetric", "cholesky"):
        A = A @ A.swapaxes(1, 2) + np.eye(n) + np.triu(RNG.normal(size=(n, n)), 1)  # above nothing is read
    return A, b


def function(kind: str, b: np.ndarray) -> Any:
    return condyle.function(KINDS[kind], inputs={"A": (b.shape[1],) * 2, "b": b.shape[1:]})


def close(x: np.ndarray, y: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(x - y).max() <= tolerance * np.abs(y).max())


@pytest.mark.parametrize("target", ["numpy", "cpu", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_numpy(kind: str, target: str) -> None:
    """By straight code, and by products from 25 rows on; float32 errs as the condition of such matrices says."""
    for n, columns in ((3, ()), (9, (2,)), (27, ())):
        A, b = drawn(kind, n, *columns)
        made = function(kind, b)
        exact = made.reference(A, b)
        condition = np.linalg.cond(np.tril(A) + np.tril(A, -1).swapaxes(1, 2) if kind[-1] in "cy" else A).max()
        for dtype, eps in (("float64", 2e-16), ("float32", 1e-7)):
            found = made.compile(target=target, dtype=dtype)(A.astype(dtype), b.astype(dtype))
            assert close(found, exact, 20 * n * eps * condition), (n, dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_differences(kind: str) -> None:
    """Of every kind; a step of 1e-6 leaves 1e-9 of a second derivative that is as large as the condition's square."""
    A, b = drawn(kind, 3, 2)
    dA, db, bar, h = RNG.normal(size=A.shape), RNG.normal(size=b.shape), RNG.normal(size=b.shape), 1e-6
    made = function(kind, b)
    f, exact = made.compile(), made.reference
    along = f.jvp()(A, b, dA, db)
    assert close(along, (exact(A + h * dA, b + h * db) - exact(A - h * dA, b - h * db)) / (2 * h), 1e-6)
    by = f.jacobian()(A, b)
    assert close(np.einsum("kijlm,klm->kij", by[0], dA) + np.einsum("kijlm,klm->kij", by[1], db), along, 1e-10)
    direction = np.concatenate([dA.reshape(N, -1), db.reshape(N, -1)], 1)

    def gradient(s: float) -> np.ndarray:
        return np.concatenate([x.reshape(N, -1) for x in f.vjp()(A + s * dA, b + s * db, bar)], 1)

    assert np.allclose((gradient(0.0) * direction).sum(1), (along * bar).sum((1, 2)), rtol=1e-9, atol=1e-9)
    bent = np.einsum("kij,kj->ki", f.hessian()(A, b, bar), direction)
    assert close(bent, (gradient(h) - gradient(-h)) / (2 * h), 1e-5)


@pytest.mark.slow
def test_derivatives_of_large_systems_factor_once() -> None:
    A, b = drawn("solve", 27)
    dA, db, bar = RNG.normal(size=A.shape), RNG.normal(size=b.shape), RNG.normal(size=b.shape)
    f = function("solve", b).compile()
    x, along, (A_bar, b_bar) = f(A, b), f.jvp()(A, b, dA, db), f.vjp()(A, b, bar)
    assert close(along, np.linalg.solve(A, (db - np.einsum("kij,kj->ki", dA, x))[..., None])[..., 0], 1e-9)
    assert close(b_bar, np.linalg.solve(A.swapaxes(1, 2), bar[..., None])[..., 0], 1e-9)
    assert close(A_bar, -b_bar[:, :, None] * x[:, None], 1e-9)
    products: list[int] = []
    for function_of in (
        f.specification,
        condyle.derivatives.jvp(f.specification),
        condyle.derivatives.vjp(f.specification),
    ):
        code = f.dynamics._compiler.best(function_of).code
        assert isinstance(code, Segmented)
        products.append(sum(product.shape[1] > 1 for product in code.products))
    assert products[0] == products[1] == products[2] > 0


def test_singular_states_spoil_no_other() -> None:
    for kind, n in (("solve", 8), ("solve", 27), ("solve_symmetric", 12), ("cholesky", 12)):
        A, b = drawn(kind, n)
        A[2] = 0.0
        x = function(kind, b).compile()(A, b)
        assert not np.isfinite(x[2]).any() or kind == "cholesky"
        assert not np.isfinite(x[2]).all() and np.isfinite(x[[0, 1, 3, 4]]).all()


def test_rows_may_differ_in_size() -> None:
    """Reflections would spoil small rows beside large ones; they are scaled."""
    A, b = drawn("solve", 27)
    scale = 10.0 ** RNG.uniform(-8, 8, (N, 27))
    f = function("solve", b).compile()
    assert close(f(scale[:, :, None] * A, scale * b), f(A, b), 1e-11)


@pytest.mark.parametrize("n", [3, 20, 27])
@pytest.mark.parametrize("kind", ["solve", "solve_transposed", "solve_symmetric"])
def test_the_reference_of_each_kind(kind: str, n: int) -> None:
    """By eliminations and, of many rows, by reflections of eight columns at a time."""
    A, b = drawn(kind, n, 3)
    rows = {"A": A.reshape(N, -1), "b": b.reshape(N, -1)}
    (x,) = evaluate(tree_of(condyle.chain(1)), linear_system(kind, n, 3), "elimination", rows)
    whole = {"solve": A, "solve_transposed": A.swapaxes(1, 2)}.get(kind, np.tril(A) + np.tril(A, -1).swapaxes(1, 2))
    assert close(x.reshape(b.shape), np.linalg.solve(whole, b), 1e-9)


def test_long_systems_are_reflected() -> None:
    """From about 20 000 operations on, n^2 (n + 2.5 m); symmetric ones never."""
    for n, m, is_long in ((20, 12, False), (20, 13, True), (24, 4, False), (25, 2, False), (25, 3, True)):
        for kind in ("solve", "solve_transposed", "solve_symmetric"):
            route = linear_system(kind, n, m).routes["elimination"]
            assert route.recorded == (is_long and kind != "solve_symmetric")


def test_a_function_is_a_value() -> None:
    assert linear_system("solve", 3, 1) == linear_system.__wrapped__("solve", 3, 1)
    keys = {linear_system(kind, n, m).key for kind in ("solve", "solve_symmetric") for n in (2, 3) for m in (1, 2)}
    assert len(keys) == 8


def test_zeros_of_a_robot_are_seen() -> None:
    """What at.* answers is known when code is made: a frame that few joints move has a singular J J^T."""
    arm = condyle.load("iiwa14")

    def few(at: Any) -> Any:
        J = at.frame("iiwa_link_2").jacobian
        return np.linalg.solve(J @ J.T, at.q[:6])

    def damped(at: Any) -> Any:
        J = at.frame("iiwa_link_2").jacobian
        return condyle.solve_symmetric(J @ J.T + 0.1 * np.eye(6), at.q[:6])

    with pytest.raises(UnsupportedError, match=r"singular in every state.*Jacobian"):
        arm.function(few, {"q": "nq"}).compile()(np.ones(7))
    with pytest.raises(UnsupportedError, match="divided by what is zero in every state"):
        arm.function(lambda at: 1.0 / at.frame("iiwa_link_2").jacobian[0], {"q": "nq"}).compile()(np.ones(7))
    made = arm.function(damped, {"q": "nq"})
    assert close(made.compile()(np.ones(7)), made.reference(np.ones(7)), 1e-12)
