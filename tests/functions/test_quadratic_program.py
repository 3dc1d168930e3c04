"""Derivatives of quadratic programs at the solution: against differences, and regular where sides are degenerate."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

N, M, P, COUNT = 5, 3, 1, 50
INPUTS = {"H": (N, N), "g": N, "A": (M, N), "lower": M, "upper": M, "low": N, "high": N, "E": (P, N), "e": P}


def program(H: Any, g: Any, A: Any, lower: Any, upper: Any, low: Any, high: Any, E: Any, e: Any) -> dict[str, Any]:
    return condyle.qp(H, g, A, lower, upper, box=(low, high), equal=(E, e))._asdict()


def problems(random: np.random.Generator) -> list[Any]:
    B, A = random.normal(size=(COUNT, N, N)), random.normal(size=(COUNT, M, N))
    E, x0, half = random.normal(size=(COUNT, P, N)), random.uniform(-0.3, 0.3, (COUNT, N)), np.full((COUNT, N), 0.7)
    w, H = np.einsum("nij,nj->ni", A, x0), B @ B.swapaxes(1, 2) / N + 0.2 * np.eye(N)
    e = np.einsum("nij,nj->ni", E, x0)
    return [H, 2.0 * random.normal(size=(COUNT, N)), A, w - 0.4, w + 0.4, -half, half, E, e]


def test_derivatives_against_differences() -> None:
    compiled, random = condyle.function(program, inputs=INPUTS).compile(), np.random.default_rng(20261127)
    arguments = problems(random)
    change = [random.normal(size=part.shape) for part in arguments]
    change[0] = change[0] + change[0].swapaxes(1, 2)
    h = 1e-4
    ahead, behind = (compiled(*(a + s * h * b for a, b in zip(arguments, change, strict=True))) for s in (1, -1))
    tangents = compiled.jvp()(*arguments, *change)
    y = compiled(*arguments).multipliers
    # where the same sides hold on both ways, x is smooth
    same = ((np.abs(ahead.multipliers) > 1e-3) == (np.abs(behind.multipliers) > 1e-3)).all(1)
    same &= ((np.abs(y) < 1e-6) | (np.abs(y) > 1e-2)).all(1)
    assert same.mean() > 0.6
    for got, high, low in zip(tangents[:2], ahead[:2], behind[:2], strict=True):
        difference = (high - low)[same] / (2 * h)
        # errors of 1e-7 of x over 2 h, and of the order of h²
        np.testing.assert_allclose(got[same], difference, rtol=5e-3, atol=5e-3)
    x_bar, y_bar, none = random.normal(size=ahead.x.shape), random.normal(size=y.shape), np.zeros(COUNT)
    cotangents = compiled.vjp()(*arguments, x_bar, y_bar, none, none)
    left = (x_bar * tangents[0]).sum(1) + (y_bar * tangents[1]).sum(1)
    right = sum((a * b).reshape(COUNT, -1).sum(1) for a, b in zip(cotangents, change, strict=True))
    # springs of 1e8 leave 1e-8 of what cancels
    np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


def test_derivatives_are_finite_where_sides_are_degenerate() -> None:
    """Touching limits, equal rows, a fixed entry, an infeasible problem."""

    def f(g: Any, low: Any) -> Any:
        A = np.ones((2, 2))
        return condyle.qp(np.eye(2), g, A, -1.0, 1.0, box=(low, 2.0)).x

    compiled = condyle.function(f, inputs={"g": 2, "low": 2}).compile()
    g = np.array([[0.0, 0.0], [-0.5, -0.5], [-2.0, -2.0], [1.0, 1.0], [0.0, 0.0]])
    low = np.array([[0.0, 0.0], [-3.0, -3.0], [-3.0, -3.0], [2.0, -3.0], [2.0, 2.0]])
    by_g, by_low = compiled.jacobian()(g, low)
    assert np.isfinite(by_g).all()
    assert np.isfinite(by_low).all()
    np.testing.assert_allclose(by_g[2], [[-0.5, 0.5], [0.5, -0.5]], rtol=0, atol=1e-6)  # along the row that holds x
