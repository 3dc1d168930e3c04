"""Derivatives where a function has branches: the branch that is not taken says nothing, be its slope infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle

X = np.array([-1.0, 0.0, 2.0])
CASES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "root": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), [0.0, 0.0, 0.5 / np.sqrt(2.0)]),
    "quotient": (
        lambda x: np.where(x != 0, np.sin(x) / x, 1.0),
        [np.sin(1) - np.cos(1), 0.0, np.cos(2) / 2 - np.sin(2) / 4],
    ),
    "two branches": (lambda x: np.where(x > 0, np.log(x), np.where(x < 0, np.log(-x), 0.0)), [-1.0, 0.0, 0.5]),
    "joined": (lambda x: np.where((x > 0) & (x < 3), 1 / x, 0.0) + x, [1.0, 1.0, 0.75]),
    "either": (lambda x: np.where((x > 0) | (x == -1), 1 / x, 0.0) * 2 * x, [0.0, 0.0, 0.0]),
    "limit": (lambda x: np.maximum(np.where(x > 0, np.sqrt(x), 0.0), 0.1), [0.0, 0.0, 0.5 / np.sqrt(2.0)]),
    "magnitude": (np.abs, [-1.0, 1.0, 1.0]),
    "ramp": (lambda x: np.maximum(x, 0.0), [0.0, 1.0, 1.0]),
    "least": (lambda x: np.minimum(x, 0.0), [1.0, 0.0, 0.0]),
    "saturation": (lambda x: np.clip(x, 0.0, 1.0), [0.0, 1.0, 0.0]),
    "sign": (np.sign, [0.0, 0.0, 0.0]),
    "heaviside": (lambda x: np.heaviside(x, 0.5) * x, [0.0, 0.5, 1.0]),
    "table": (lambda x: np.interp(x, [-1.0, 0.0, 1.0], [0.0, 1.0, 3.0]), [1.0, 2.0, 0.0]),
    "expm1": (lambda x: np.expm1(x * 200.0), [200 * np.exp(-200.0), 200.0, 200 * np.exp(400.0)]),
    "strict": (lambda x: np.where(x < 2, x, 1 / (x - 2)) * np.where(x > -1, 1 / (x - 2), x + 1), [-1.0, -0.5, -np.inf]),
    "log1p": (lambda x: np.log1p(x * x), [-1.0, 0.0, 0.8]),
    "select": (lambda x: np.select([x > 1, x > -0.5], [x * x, np.sqrt(x + 0.5)]), [0.0, 0.5 / np.sqrt(0.5), 4.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_branch_that_is_not_taken_says_nothing(name: str) -> None:
    f, expected = CASES[name]
    compiled = condyle.function(lambda x: f(x) + 0.0 * x, inputs={"x": 3}).compile(target="numpy")
    for found in (
        compiled.vjp()(X, np.ones(3)),
        compiled.jvp()(X, np.ones(3)),
        np.diag(compiled.jacobian()(X)),
    ):
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)
    total = condyle.function(lambda x: f(x).sum(), inputs={"x": 3}).compile(target="numpy")
    np.testing.assert_allclose(total.jacobian()(X), expected, 1e-12, 1e-12)
    if np.isfinite(expected).all():
        assert np.isfinite(total.hessian()(X)).all()


def test_where_a_slope_is_infinite_in_the_branch_that_is_taken_it_is() -> None:
    f = condyle.function(lambda x: np.where(x >= 0, np.sqrt(x), 0.0), inputs={"x": ()}).compile(target="numpy")
    assert np.isinf(f.vjp()(0.0, 1.0)) and f.vjp()(-1.0, 1.0) == 0.0 and f.vjp()(4.0, 1.0) == 0.25


def test_the_length_of_nothing_has_no_derivative() -> None:
    plain = condyle.function(np.linalg.norm, inputs={"x": 3}).compile(target="numpy")
    smooth = condyle.function(lambda x: np.sqrt((x**2).sum() + 1e-12), inputs={"x": 3}).compile(target="numpy")
    assert np.isnan(plain.jacobian()(np.zeros(3))).all() and (smooth.jacobian()(np.zeros(3)) == 0.0).all()
