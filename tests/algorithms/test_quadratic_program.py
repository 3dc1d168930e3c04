"""Quadratic programs on numbers: conditions of a minimum, degenerate and infeasible ones, units, other solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import condyle

RNG = 20261127


class Many(NamedTuple):
    """Problems of n variables, m rows and p equalities that x0 is feasible in."""

    H: Any
    g: Any
    A: Any
    lower: Any
    upper: Any
    box: tuple[Any, Any]
    equal: tuple[Any, Any]

    def solved(self, **more: Any) -> Any:
        has_rows, has_equal = self.A.shape[-2] > 0, self.equal[0].shape[-2] > 0
        rows = (self.A, self.lower, self.upper) if has_rows else (None, None, None)
        options = {"box": self.box, "equal": self.equal if has_equal else None, **more}
        return condyle.qp(self.H, self.g, *rows, **options)


def many(n: int, m: int, p: int = 0, count: int = 64, seed: int = RNG) -> Many:
    random = np.random.default_rng(seed)
    B = random.normal(size=(count, n, n))
    A, E = random.normal(size=(count, m, n)) / np.sqrt(n), random.normal(size=(count, p, n))
    x0 = random.uniform(-0.4, 0.4, (count, n))
    w, half = times(A, x0), np.full((count, n), 0.8)
    H = B @ B.swapaxes(1, 2) / n + 0.05 * np.eye(n)
    return Many(H, 2 * random.normal(size=(count, n)), A, w - 0.3, w + 0.3, (-half, half), (E, times(E, x0)))


def times(A: Any, x: Any) -> Any:
    return np.einsum("...ij,...j->...i", A, x)


def errors(problem: Many, answer: Any) -> float:
    """The largest violation of the conditions of a minimum."""
    n, m = problem.g.shape[-1], problem.A.shape[-2]
    x, y = answer.x, answer.multipliers
    box, rows, equal = y[:, :n], y[:, n : n + m], y[:, n + m :]
    E, e = problem.equal
    slope = (
        times(problem.H, x) + problem.g + box + times(problem.A.swapaxes(1, 2), rows) + times(E.swapaxes(1, 2), equal)
    )
    wrong = [np.abs(slope), np.abs(times(E, x) - e)]
    for value, lower, upper, z in ((x, *problem.box, box), (times(problem.A, x), problem.lower, problem.upper, rows)):
        wrong += [lower - value, value - upper]
        wrong += [np.maximum(z, 0) * np.abs(upper - value), np.maximum(-z, 0) * np.abs(value - lower)]
    return max(part.max(initial=0.0) for part in wrong)


SIZES = ((1, 0, 0), (1, 1, 0), (2, 3, 1), (7, 0, 0), (12, 12, 0), (12, 5, 4), (6, 20, 0), (18, 0, 8))


def test_a_minimum_has_its_conditions() -> None:
    for n, m, p in SIZES:
        problem = many(n, m, p)
        answer = problem.solved()
        assert (answer.status == 1).all(), (n, m, p)
        # sufficient in a convex problem; the multipliers are of order 1 to 10, the residual allowed is 1e-6 beside them
        assert errors(problem, answer) < 1e-6, (n, m, p)
        assert (answer.x >= problem.box[0]).all()
        assert (answer.x <= problem.box[1]).all()


def test_without_limits_it_is_a_linear_system() -> None:
    problem = many(8, 0, 3)
    (E, e), none = problem.equal, np.zeros((64, 3, 3))
    whole = np.block([[problem.H, E.swapaxes(1, 2)], [E, none]])
    right = np.concatenate([-problem.g, e], 1)
    answer = condyle.qp(problem.H, problem.g, equal=(E, e))
    both = np.concatenate([answer.x, answer.multipliers], 1)
    np.testing.assert_allclose(both, np.linalg.solve(whole, right[..., None])[..., 0], rtol=0, atol=1e-10)
    free = condyle.qp(problem.H, problem.g)
    np.testing.assert_allclose(
        free.x, -np.linalg.solve(problem.H, problem.g[..., None])[..., 0], rtol=1e-11, atol=1e-11
    )
    assert free.multipliers.shape == (64, 0)


def test_units_do_not_matter() -> None:
    """x, the cost and the rows times powers of ten: as good in their own units."""
    problem = many(12, 12, 2)
    x = problem.solved().x
    random = np.random.default_rng(1)
    for scale, cost, rows in ((1e-5, 1.0, 1e5), (1e5, 1e-5, 1e-5), (1e-3, 1e5, 10 ** random.uniform(-3, 3, (64, 12)))):
        other = problem._replace(
            H=problem.H * cost / scale**2,
            g=problem.g * cost / scale,
            A=problem.A * np.broadcast_to(rows, (64, 12))[..., None],
            lower=problem.lower * rows * scale,
            upper=problem.upper * rows * scale,
            box=(problem.box[0] * scale, problem.box[1] * scale),
            equal=(problem.equal[0], problem.equal[1] * scale),
        )
        answer = other.solved()
        assert (answer.status == 1).all()
        np.testing.assert_allclose(answer.x / scale, x, rtol=0, atol=1e-6)


def test_degenerate_problems() -> None:
    problem = many(8, 4, 2)
    single, box = problem.solved(), problem.box
    (E, e), twice = problem.equal, np.concatenate([problem.A, problem.A], 1)
    limits = (np.concatenate([part, part], 1) for part in (problem.lower, problem.upper))
    same = condyle.qp(problem.H, problem.g, twice, *limits, box=box, equal=(np.repeat(E, 2, 1), np.repeat(e, 2, 1)))
    assert (same.status == 1).all()
    np.testing.assert_allclose(same.x, single.x, rtol=0, atol=1e-6)
    # rows held from both sides are equalities
    held = condyle.qp(problem.H, problem.g, E, e, e, box=box)
    equal = condyle.qp(problem.H, problem.g, box=box, equal=(E, e))
    np.testing.assert_allclose(held.x, equal.x, rtol=0, atol=1e-6)
    # limits that the minimum without limits touches: sides that hold with multiplier 0
    free = condyle.qp(problem.H, problem.g).x
    touching = condyle.qp(problem.H, problem.g, box=(free, free + 1.0))
    assert (touching.status == 1).all()
    np.testing.assert_allclose(touching.x, free, rtol=0, atol=1e-5 * np.abs(free).max())
    fixed = condyle.qp(problem.H, problem.g, box=(0.2, 0.2))
    np.testing.assert_array_equal(fixed.x, np.full((64, 8), 0.2))


def test_hessians_without_rank() -> None:
    problem = many(8, 3)
    zero = np.zeros((8, 8))
    corner = condyle.qp(zero, problem.g, box=(-1.0, 2.0))
    np.testing.assert_allclose(corner.x, np.where(problem.g > 0, -1.0, 2.0), rtol=0, atol=1e-6)
    linear = problem._replace(H=np.zeros((64, 8, 8)))
    answer = linear.solved()
    assert (answer.status == 1).all()
    assert errors(linear, answer) < 1e-6
    B = np.random.default_rng(2).normal(size=(64, 8, 2))
    thin = problem._replace(H=B @ B.swapaxes(1, 2))
    assert errors(thin, thin.solved()) < 1e-6
    nothing = condyle.qp(zero, np.zeros(8), box=(1.0, 2.0))
    assert nothing.status == 1
    assert (nothing.x >= 1).all()


def test_infeasible_ones_are_said_and_harm_no_other() -> None:
    problem = many(12, 12, count=200)
    bad = np.arange(200) % 20 == 7
    most = np.abs(problem.A[:, 5]).sum(1) * 0.8
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[bad, 5], upper[bad, 5] = 1.02 * most[bad], 2.0 * most[bad]
    answer = problem._replace(lower=lower, upper=upper).solved()
    np.testing.assert_array_equal(answer.status, np.where(bad, -1, 1))
    assert np.isfinite(answer.x).all()
    assert np.isfinite(answer.multipliers).all()
    np.testing.assert_array_equal(answer.x[~bad], problem.solved().x[~bad])
    crossed = (np.where(bad[:, None], 0.9, problem.box[0]), problem.box[1])
    np.testing.assert_array_equal(problem.solved(box=crossed).status == -1, bad)
    E, e = np.repeat(problem.A[:, :1], 2, 1), problem.lower[:, :1] + 0.3 + np.stack([0.0 * bad, 0.1 * bad], 1)
    np.testing.assert_array_equal(condyle.qp(problem.H, problem.g, equal=(E, e)).status, np.where(bad, -1, 1))
    np.testing.assert_array_equal(problem.solved(equal=(E, e)).status == -1, bad)


def test_what_is_feasible_is_never_called_infeasible() -> None:
    problem = many(8, 8, count=200)
    most = np.abs(problem.A[:, 5]).sum(1) * 0.8
    for share in (0.9, 0.99, 1.0 - 1e-5):  # of what the box can reach
        lower, upper = np.full((200, 8), -20.0), np.full((200, 8), 20.0)
        lower[:, 5] = share * most
        answer = problem._replace(lower=lower, upper=upper).solved()
        assert (answer.status >= 0).all()
        assert np.mean(answer.status == 1) > 0.98


def test_numbers_that_are_none() -> None:
    problem = many(4, 2)
    g, low = problem.g.copy(), problem.box[0].copy()
    g[3, 1] = np.nan
    low[::2] = -np.inf
    answer = problem._replace(g=g).solved(box=(low, problem.box[1]))
    assert answer.status[3] == 0
    assert (np.delete(answer.status, 3) == 1).all()
    wide = problem.solved(box=(np.maximum(low, -1e6), problem.box[1]))
    np.testing.assert_allclose(np.delete(answer.x, 3, 0), np.delete(wide.x, 3, 0), rtol=0, atol=1e-6)


def test_a_start_that_is_near_saves_iterations() -> None:
    problem = many(12, 12, 2, count=200)
    first = problem.solved()
    g = problem.g + 0.01 * np.random.default_rng(3).normal(size=problem.g.shape)
    after = problem._replace(g=g)
    cold = after.solved()
    for start in (first.x, (first.x, first.multipliers), (100.0 * first.x, 100.0 * first.multipliers)):
        warm = after.solved(start=start)
        assert (warm.status == 1).all()
        np.testing.assert_allclose(warm.x, cold.x, rtol=0, atol=1e-6)
    few = {name: after.solved(iterations=6, start=start) for name, start in (("cold", None), ("warm", first[:2]))}
    assert np.mean(few["cold"].status == 1) < 0.2
    assert np.mean(few["warm"].status == 1) > 0.9


def test_the_same_x_as_quadprog() -> None:
    quadprog = pytest.importorskip("quadprog", reason="compares with quadprog, which is not installed")
    for n, m, p in SIZES:
        problem = many(n, m, p, count=40)
        answer = problem.solved()
        for k in range(40):
            eye, (E, e), A = np.eye(n), (part[k] for part in problem.equal), problem.A[k]
            rows = np.concatenate([E, eye, -eye, A, -A]).T
            box = (problem.box[0][k], -problem.box[1][k])
            limits = np.concatenate([e, *box, problem.lower[k], -problem.upper[k]])
            x = quadprog.solve_qp(problem.H[k], -problem.g[k], np.ascontiguousarray(rows), limits, p)[0]
            np.testing.assert_allclose(answer.x[k], x, rtol=0, atol=1e-6)


def test_rows_of_zeros_hold_or_do_not() -> None:
    """They say nothing about x, and nothing about its size."""
    g, A, box = np.array([1.0, -2.0]), np.array([[0.0, 0.0], [1.0, 1.0]]), (-1e-3, 1e-3)
    for H in (np.zeros((2, 2)), np.eye(2)):
        alone = condyle.qp(H, g, A[1:], upper=5e-4, box=box)
        both = condyle.qp(H, g, A, upper=[7e4, 5e-4], box=box)
        assert alone.status == both.status == 1
        np.testing.assert_allclose(both.x, alone.x, rtol=0, atol=1e-9)
        assert condyle.qp(H, g, A, lower=[7e-5, -1.0], box=box).status == -1


def test_without_rows_there_are_none() -> None:
    H, g = np.eye(3), np.array([[1.0, 2.0, -3.0], [0.0, 0.0, 9.0]])
    answer = condyle.qp(H, g, np.zeros((0, 3)), np.zeros(0), np.zeros(0), box=(-1.0, 1.0))
    np.testing.assert_allclose(answer.x, condyle.qp(H, g, box=(-1.0, 1.0)).x, rtol=0, atol=1e-12)


def test_a_limit_that_is_infinite_in_a_state_is_none() -> None:
    """It is no measure of how large x may be."""

    def linear(g: Any, low: Any, high: Any) -> Any:
        return condyle.qp(np.zeros((2, 2)), g, box=(low, high)).x

    f = condyle.function(linear, inputs={"g": 2, "low": 2, "high": 2}).compile()
    x = f([[1.0, 2.0], [1.0, -1e-4]], [-3.0, -4.0], [[np.inf, np.inf], [np.inf, 2e-4]])
    np.testing.assert_allclose(x, [[-3.0, -4.0], [-3.0, 2e-4]], rtol=0, atol=1e-6)
