"""Newton's method on the impulses of a step, against its equations with arrays and differences of F."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.algorithms.contact_newton import JointRow, Linear, Problem, cut, factored, solved
from tests.accuracies import DIFFERENCES

Array = np.ndarray
CONTACTS, LEAST = 2, 1e-24
JOINTS = (
    JointRow(0, 0.3, None, None),
    JointRow(1, None, -0.2, 0.4),
    JointRow(2, 0.1, -0.1, None),
    JointRow(3, 0.2, None, 0.3),
)
N = 3 * CONTACTS + len(JOINTS)
CONDITION = 100.0  # what solving with a slope by differences makes of the errors of differences, in these problems


def random_problem(seed: int, rank: int = N // 2) -> tuple[Problem, Array]:
    """With rows of joints of all kinds, and impulses. rank: of G, but for rounding of a robot."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(N, rank))
    G = half @ half.T / N + 1e-3 * np.eye(N)
    rates = np.diag(G).copy()
    for k in range(0, 3 * CONTACTS, 3):
        rates[k : k + 2] = np.linalg.eigvalsh(G[k : k + 2, k : k + 2])[-1]
    numbers = (G, 2.0 * rng.normal(size=N), 1.0 / rates, rates, 1e-3 * rng.uniform(0.5, 1.0, N), [2.0, 5.0])
    return Problem(*(np.array(x).tolist() for x in numbers), JOINTS), rng.normal(size=N)


def joint_impulse(joint: JointRow, w: float, g: float) -> float:
    """p = (u - w) / g with the u that makes phi(u) + (u - w)^2 / (2 g) least."""
    grip = g * (joint.grip or 0.0)
    u = np.sign(w) * max(abs(w) - grip, 0.0)
    low, high = (-np.inf if joint.low is None else joint.low), (np.inf if joint.high is None else joint.high)
    return (min(max(u, low), high) - w) / g


def across_cut(x: Array, most: float) -> Array:
    return x * min(most / np.sqrt(x @ x + LEAST), 1.0)


def misses(problem: Problem, p: Array) -> Array:
    """F(p) = p - P(p - s u)."""
    G, b, s = (np.array(x) for x in (problem.rows, problem.b, problem.steps))
    u = b + G @ p
    after = p - s * u
    for k, mu in enumerate(problem.friction):
        after[3 * k + 2] = max(after[3 * k + 2], 0.0)
        after[3 * k : 3 * k + 2] = across_cut(after[3 * k : 3 * k + 2], float(mu) * after[3 * k + 2])
    for i, joint in enumerate(problem.joints, 3 * len(problem.friction)):
        after[i] = joint_impulse(joint, u[i] - G[i, i] * p[i], G[i, i])
    return p - after


def merit(problem: Problem, p: Array) -> float:
    return float(((misses(problem, p) * np.array(problem.rates)) ** 2).sum())


def swept(problem: Problem, p: Array) -> Array:
    """Two sweeps over the joints, then over the contacts: the normal first, then both tangents."""
    G, b, s, p = (np.array(x) for x in (problem.rows, problem.b, problem.steps, p))
    for _ in range(2):
        for i, joint in enumerate(problem.joints, 3 * len(problem.friction)):
            p[i] = joint_impulse(joint, b[i] + G[i] @ p - G[i, i] * p[i], G[i, i])
        for k, mu in enumerate(problem.friction):
            n, across = 3 * k + 2, slice(3 * k, 3 * k + 2)
            p[n] = max(p[n] - s[n] * (b[n] + G[n] @ p), 0.0)
            p[across] = across_cut(p[across] - s[across] * (b[across] + G[across] @ p), float(mu) * p[n])
    return p


def slope(problem: Problem, p: Array, R: Array) -> Array:
    """F' = 1 - A + A s (G + R), by differences: F moves by A s R more with R."""
    h, b = 1e-6, np.array(problem.b)
    ways = h * np.eye(len(b))
    by_p = [misses(problem, p + way) - misses(problem, p - way) for way in ways]
    moved = [[problem._replace(b=(b + sign * way).tolist()) for sign in (1.0, -1.0)] for way in ways]
    by_b = [misses(ahead, p) - misses(behind, p) for ahead, behind in moved]
    return (np.array(by_p).T + np.array(by_b).T * R) / (2.0 * h)


def iterated(problem: Problem, p: Array, extra: float) -> tuple[Array, float]:
    """After two sweeps the best of three lengths of a step, or none; and that length."""
    p = swept(problem, p)
    R = np.array(problem.damping) + extra * np.array(problem.rates)
    d = np.linalg.solve(slope(problem, p, R), -misses(problem, p))
    ends = {t: p + t * d for t in (0.0, 1.0, 0.5, 0.2)}
    best = min(ends, key=lambda t: merit(problem, ends[t]))
    return ends[best], best


def numbers(x: Any) -> Array:
    return np.array([float(y) for y in x])


@pytest.mark.parametrize("seed", range(4))
def test_misses_and_sweeps_are_those_of_the_equations(seed: int) -> None:
    problem, p = random_problem(seed)
    u = problem.velocity(p.tolist())
    found = problem.misses(p.tolist(), u)
    np.testing.assert_allclose(numbers(found), misses(problem, p), rtol=0, atol=1e-13)
    np.testing.assert_allclose(float(problem.merit(found)), merit(problem, p), rtol=1e-12)
    after, velocity = problem.swept(p.tolist())
    np.testing.assert_allclose(numbers(after), swept(problem, p), rtol=0, atol=1e-13)
    np.testing.assert_allclose(numbers(velocity), numbers(problem.velocity(after)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_is_that_of_differences(seed: int) -> None:
    """Its equations, its transpose, and the direction of a step."""
    problem, p = random_problem(seed, N + 2)
    right = np.random.default_rng(seed).normal(size=N)
    wanted = slope(problem, p, np.array(problem.damping))
    u = problem.velocity(p.tolist())
    linear = problem.linearised(p.tolist(), u)
    x = solved(factored(linear.matrix), linear.turned(right.tolist()))
    np.testing.assert_allclose(wanted @ numbers(x), right, rtol=0, atol=DIFFERENCES * np.abs(numbers(x)).max())
    d = problem.direction(p.tolist(), u, problem.misses(p.tolist(), u))
    np.testing.assert_allclose(
        wanted @ numbers(d), -misses(problem, p), rtol=0, atol=DIFFERENCES * np.abs(numbers(d)).max()
    )
    without = slope(problem, p, np.zeros(N))
    linear = problem._replace(damping=[1e-5] * N).linearised(p.tolist(), u)
    by = np.array([numbers(linear.derivative(row.tolist())) for row in np.eye(N)]).T
    back = np.array([numbers(linear.transposed(row.tolist())) for row in np.eye(N)]).T
    np.testing.assert_allclose(by, np.linalg.inv(without), rtol=0, atol=DIFFERENCES * np.abs(by).max())
    np.testing.assert_allclose(back, by.T, rtol=0, atol=1e-12 * np.abs(by).max())


@pytest.mark.parametrize("x", [1e-3, 1e-2, 0.1, 0.5, 1.0])
def test_what_damping_leaves_of_an_answer(x: float) -> None:
    """With matrix 1 and damping x: (1 - x)^2 (1 + 3 x + 6 x^2), which is 1 / (1 - x) but for 10 x^3."""
    for answer in (Linear([[1.0]], [{0: x}], []).derivative([1.0]), Linear([[1.0]], [{0: x}], []).transposed([1.0])):
        assert float(answer[0]) == pytest.approx((1 - x) ** 2 * (1 + 3 * x + 6 * x * x), abs=1e-15)


@pytest.mark.parametrize("extra", [0.0, 0.4])
def test_an_iteration_takes_the_best_of_three_lengths(extra: float) -> None:
    """After two sweeps; `extra` is divided by ten after a whole step, else (10 extra + 0.001) / (1 + extra)."""
    seen = set[float]()
    for seed in range(40):
        problem, p = random_problem(seed)
        found, more, least = problem.iterated(p.tolist(), extra)
        wanted, best = iterated(problem, p, extra)
        seen.add(best)
        np.testing.assert_allclose(
            numbers(found), wanted, rtol=0, atol=CONDITION * DIFFERENCES * max(1.0, np.abs(wanted).max())
        )
        np.testing.assert_allclose(float(least), merit(problem, numbers(found)), rtol=1e-9, atol=1e-18)
        follows = extra / 10.0 if best == 1.0 else (10.0 * extra + 1e-3) / (1.0 + extra)
        assert float(more) == pytest.approx(follows, rel=1e-12)
    assert seen == {0.0, 0.2, 0.5, 1.0}


def test_the_end_is_near_where_the_residual_is_small() -> None:
    problem, _ = random_problem(0)
    assert float(problem.is_near(0.0)) == pytest.approx(1e-12 + 9e-12 * np.dot(problem.b, problem.b), rel=1e-12)
    assert float(problem.is_near(3.0)) == pytest.approx(-3.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_last_step_is_left_out_where_it_leads_away(seed: int) -> None:
    """It is taken where it brings the residual down, or near enough."""
    problem, p = random_problem(seed)
    d = np.linalg.solve(slope(problem, p, np.array(problem.damping)), -misses(problem, p))
    takes = merit(problem, p + d) < merit(problem, p)
    wanted = numbers(cut((p + d if takes else p).tolist(), problem.friction))
    np.testing.assert_allclose(
        numbers(problem.ended(p.tolist())), wanted, rtol=0, atol=CONDITION * DIFFERENCES * max(1, np.abs(d).max())
    )


@pytest.mark.parametrize("seed", range(3))
def test_joints_are_solved_for_the_impulses_of_contacts(seed: int) -> None:
    """By an iteration of theirs alone, and two more sweeps."""
    problem, p = random_problem(seed)
    n, G = 3 * CONTACTS, np.array(problem.rows)
    b = (np.array(problem.b) + G[:, :n] @ p[:n])[n:]
    held = (np.array(x)[n:].tolist() for x in (problem.steps, problem.rates, problem.damping))
    alone = Problem(G[n:, n:].tolist(), b.tolist(), *held, (), JOINTS)
    wanted = [*p[:n], *swept(alone, iterated(alone, p[n:], 0.0)[0])]
    np.testing.assert_allclose(numbers(problem.with_joints_solved(p.tolist())), wanted, rtol=0, atol=DIFFERENCES)


def test_impulses_are_cut_off_at_their_cones() -> None:
    p = [3.0, -4.0, 2.0, 0.1, 0.0, 1.0, 1.0, 1.0, -1.0, 7.0]
    np.testing.assert_allclose(numbers(cut(p, [0.5, 0.2, 1.0])), [0.6, -0.8, 2.0, 0.1, 0.0, 1.0, 0.0, 0.0, 0.0, 7.0])
