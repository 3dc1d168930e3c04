"""Steps of the interior point method, and what they begin with, against its equations with arrays and dense systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.algorithms.quadratic_program import Problem, Side, State, answers, held, precision, scaled, step, stiffened

ROWS, BOX = (Side(3, 1.0), Side(3, -1.0), Side(4, -1.0)), (Side(0, 1.0), Side(1, -1.0))


def small_problem(seed: int, feasible: bool = True) -> tuple[Problem, Any]:
    """Of 3 variables, 2 rows, an equality and 5 sides, and an x."""
    random = np.random.default_rng(seed)
    B, x, rows = random.normal(size=(3, 3)), random.normal(size=3), random.normal(size=(3, 3))
    places = np.concatenate([x, rows @ x])
    sides = (*BOX, *ROWS)
    room = random.uniform(0.1, 0.8, 5) * (1.0 if feasible else -1.0)
    limits = [side.sign * places[side.place] + more for side, more in zip(sides, room, strict=True)]
    numbers = B @ B.T, random.normal(size=3), rows
    return Problem(*(part.tolist() for part in numbers), sides, limits, [float(places[5]) + 0.2]), x


def sides_of(problem: Problem) -> tuple[Any, Any, Any]:
    """G of the sides, h, E."""
    A = np.concatenate([np.eye(3), problem.rows])
    G = np.array([side.sign * A[side.place] for side in problem.sides])
    return G, np.array(problem.limits), A[len(A) - 1 :]


def test_a_type_has_its_numbers() -> None:
    wanted = {
        np.float64: (1e7, 1e-10, 1e-14, 1e-15, 6e-7, 1e-7, 1e-14, 1e-9, 1e-8, 1e-5, 1e8),
        np.float32: (1e3, 1e-7, 1e-6, 1e-6, 1e-4, 1e-5, 1e-7, 1e-6, 1e-4, 1e-2, 1e4),
    }
    for dtype, numbers in wanted.items():
        for x in (0.0, 3.0, -7.0, 1e9):
            np.testing.assert_allclose(np.array(precision(np.full(1, x, dtype))).ravel(), numbers, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("feasible", [False, True])
def test_a_scaled_problem_is_of_order_one(seed: int, feasible: bool) -> None:
    """Rows are unit vectors. x is in units of the step to the minimum of the stiffest entry, or of what is missed;
    slacks are at least 0.3, and s z is 0.09."""
    problem, x = small_problem(seed, feasible)
    small, state, units = scaled(problem, x.tolist(), [])
    G, h, E = sides_of(problem)
    norms = np.array([1.0, 1.0, 1.0, *np.linalg.norm(problem.rows, axis=1)])
    of_sides = np.array([norms[side.place] for side in problem.sides])
    G, h, E, e = G / of_sides[:, None], h / of_sides, E / norms[-1], problem.equal[0] / norms[-1]
    x[0], x[1] = min(x[0], h[0]), max(x[1], -h[1])
    room, gap = h - G @ x, E @ x - e
    H, g = np.array(problem.hessian), np.array(problem.gradient)
    steepest, stiffest = np.abs(H @ x + g).max(), np.diag(H).max()
    missed = max(np.abs(gap).max(), -room.min())
    length = max(min(steepest / stiffest, np.abs(room).max()), missed)
    force = max(steepest, stiffest * length)
    np.testing.assert_allclose([units.x, units.force], [length, force], rtol=1e-12)
    np.testing.assert_allclose(units.places, 1.0 / norms, rtol=1e-12)
    np.testing.assert_allclose(small.hessian, H * length / force, rtol=1e-12)
    np.testing.assert_allclose(small.gradient, g / force, rtol=1e-12)
    np.testing.assert_allclose(small.limits, h / length, rtol=1e-12)
    np.testing.assert_allclose(small.equal, [e / length], rtol=1e-12)
    theta = max(0.3 - room.min() / length, 0.0)
    np.testing.assert_allclose(state.theta, theta, rtol=1e-12)
    np.testing.assert_allclose(np.array(state.z) * (room / length + theta), 0.09, rtol=1e-12)
    np.testing.assert_allclose(state.x, x / length, rtol=1e-12)
    np.testing.assert_allclose(state.w, small.places(state.x)[3:], rtol=0, atol=1e-12)
    assert (state.left, state.steps, state.y) == (1.0, 0.0, [0.0])


def test_a_start_with_multipliers_keeps_them_where_they_are_near() -> None:
    """Where the residual is below 0.3; slacks are at least that residual or 0.01, and s z its square."""
    problem, x = small_problem(1)
    problem = problem._replace(equal=[float(np.dot(problem.rows[2], x))], limits=[9.0] * 5)
    forces = np.array([0.4, -0.3, 0.0, 0.2, -0.1, 0.5])
    H, A = np.array(problem.hessian), np.concatenate([np.eye(3), problem.rows])
    for size in (0.0, 1e-3, 0.1, 0.25, 0.35, 1.0):
        unit = problem._replace(gradient=(-H @ x - A.T @ forces + size * np.array([1.0, 0.0, 0.0])).tolist())
        small, state, units = scaled(unit, x.tolist(), forces.tolist())
        by_place = forces / (np.array(units.places, float) * units.force)
        wrong = size / units.force
        slack = min(max(wrong, 0.01), 0.3)
        room = np.array(small.room(small.places(state.x)), float)
        theta = max(slack - room.min(), 0.0)
        z = [max(side.sign * by_place[side.place], 0.0) * (wrong < 0.3) for side in problem.sides]
        np.testing.assert_allclose(state.theta, theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.z, np.maximum(z, slack**2 / (room + theta)), rtol=1e-9)
        np.testing.assert_allclose(state.y, [by_place[-1] * (wrong < 0.3)], rtol=1e-12)


def stepped(stiff: Problem, state: State) -> tuple[State, float]:
    """The state after a step, and how far it is from being the last, by a dense system of x, s and z."""
    hold, (G, h, E) = 1e7, sides_of(stiff)
    x, z, theta, n = np.array(state.x), np.array(state.z), float(state.theta), len(stiff.sides)
    s, gap = np.maximum(h + theta - G @ x, 1e-15), E @ x - stiff.equal
    zeros, eye = np.zeros((3, n)), np.eye(n)
    K = np.block([[np.array(stiff.hessian), zeros, G.T], [G, eye, 0.0 * eye], [zeros.T, np.diag(z), np.diag(s)]])
    slope = -float(state.left) * np.array(stiff.gradient) - hold * E.T @ gap

    def solved(products: Any) -> list[Any]:
        return np.split(np.linalg.solve(K, np.concatenate([slope, np.full(n, -theta), products])), [3, 3 + n])

    _, ds, dz = solved(-s * z)
    mu, bend, late = s @ z / n, -ds * dz, float(state.steps >= 14.0)
    longest = 1.0 / max(1.0, (-ds / s).max(), (-dz / z).max())
    ahead = (s + longest * ds) @ (z + longest * dz) / n
    centre = max((ahead / mu) ** 3, 0.5 * late) * mu
    dx, ds, dz = solved(-s * z + centre + (1.0 - late) * bend)
    taken = min(1.0, 0.999 / max(1e-3, (-ds / s).max(), (-dz / z).max()))
    rest, y = 1.0 - taken, np.array(state.y) + taken * hold * (E @ dx + gap)
    x, z, gap = x + taken * dx, z + taken * dz, E @ (x + taken * dx) - stiff.equal
    w = np.array(stiff.rows) @ x
    missed = np.abs(dx).max() * (rest + 1e-3 + late - (bend / (s * state.z)).min())
    far = missed - 6e-7 * max(np.abs(x).max(), 0.01), mu - 1e-7, rest * theta - 1e-9, rest * state.left - 1e-8
    wide = 1e6 * (1.0 + mu) - rest * theta * z.sum() - np.abs(y * gap).sum()
    going = min(*(max(*far, np.abs(gap).max() - 1e-8), mu - 1e-14), wide)
    return State(x, w, z, rest * theta, rest * state.left, state.steps + 1.0, y), float(going)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", [0.0, 13.0, 14.0])
def test_a_step_is_that_of_mehrotra(seed: int, steps: float) -> None:
    """Predictor and corrector with one matrix; after 14 steps plain ones that aim mu at a half at least."""
    problem, x = small_problem(seed, seed % 2 == 0)
    small, state, _ = scaled(problem, x.tolist(), [])
    E, stiff = sides_of(small)[2], stiffened(small, state)
    H = np.array(small.hessian) + 1e7 * E.T @ E + 1e-10 * np.eye(3)
    np.testing.assert_allclose(stiff.hessian, H, rtol=1e-12)
    pulled = sides_of(small)[0].T @ state.z + E.T @ state.y
    slope = np.array(small.hessian) @ state.x + small.gradient + pulled
    np.testing.assert_allclose(stiff.gradient, slope, rtol=0, atol=1e-12)
    z = np.array(state.z) * np.random.default_rng(seed).uniform(0.2, 3.0, 5)
    state = state._replace(z=z.tolist(), y=[0.3], steps=steps, left=0.7)
    found, done = step(stiff, state)
    wanted, going = stepped(stiff, state)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * max(1.0, np.abs(other).max()))
    assert not done and going > 0.0


@pytest.mark.parametrize("seed", range(12))
def test_the_loop_ends_where_nothing_is_left(seed: int) -> None:
    """At a minimum, or where there is none."""
    feasible = seed % 3 != 0
    problem, x = small_problem(seed)
    if not feasible:  # a row is at most less than it is at least
        problem.limits[2] = -problem.limits[3] - 0.4
    small, state, units = scaled(problem, x.tolist(), [])
    stiff, done = stiffened(small, state), 0.0
    while not done:
        _, going = stepped(stiff, state)
        state, done = step(stiff, state)
        assert done == float(going < 0.0) and state.steps < 30.0
    x, _, residual, status = answers(problem, small, state, units, 1.0)
    assert status == (1.0 if feasible else -1.0)
    if feasible:
        G, h, E = sides_of(problem)
        assert (G @ x - h).max() < 1e-6 and np.abs(E @ x - problem.equal).max() < 1e-6 and residual < 1e-6


@pytest.mark.parametrize(("mu", "wanted"), [(1e-15, {1.0}), (1e-9, {0.0, 1.0}), (1.1e-7, {0.0})])
def test_a_step_is_the_last_where_it_leaves_little(mu: float, wanted: set[float]) -> None:
    """Far from all limits: of the gradient, of s z, or of what the curvature of a long step leaves of it. Below mu =
    1e-14 every step is the last, and none above 1e-7."""
    ends = set[float]()
    for seed in range(3):
        problem, x = small_problem(seed)
        limits, rows = [h + 1e3 for h in problem.limits], [*problem.rows[:2], [0.0] * 3]
        small, state, _ = scaled(problem._replace(limits=limits, rows=rows, equal=[0.0]), x.tolist(), [])
        stiff, room = stiffened(small, state), np.array(small.room(small.places(state.x)))
        for left in np.geomspace(1e-7, 1e-4, 60):
            here = state._replace(left=float(left), z=(mu / room).tolist())
            ends.add(done := float(step(stiff, here)[1]))
            assert done == float(stepped(stiff, here)[1] < 0.0)
    assert ends == wanted


def test_without_limits_a_problem_is_scaled_by_its_step() -> None:
    problem = Problem([[2.0, 0.0], [0.0, 8.0]], [3.0, -1.0], [], (), [], [])
    small, state, units = scaled(problem, [0.5, 0.25], [])
    assert (units.x, units.force) == (4.0 / 8.0, 4.0) and state.x == [1.0, 0.5]
    assert small.hessian == [[0.25, 0.0], [0.0, 1.0]] and small.gradient == [0.75, -0.25]


def test_a_solution_is_held_by_springs() -> None:
    """The stiffest has 1e8 times H's largest entry, in units of unit rows, and holds equalities; at a limit stands one
    more in series, of stiffness multiplier / slack."""
    sides = Side(0, 1.0), Side(1, -1.0), Side(2, -1.0), Side(3, 1.0)
    rows = [[3.0, 4.0], [0.0, 0.5], [2.0, 0.0]]
    x, limits = [0.5, 0.25], [0.5, 1.0, -3.0, 1.125]
    problem = Problem([[2.0, 0.0], [0.0, 5.0]], [0.0, 0.0], rows, sides, limits, [1.0])
    found, top = held(problem, x, [7.0, -1e10, 3.0, 2.0, 6.0]), 5e8
    # the slacks are 0, 1.25, negative, 1; of the third side the multiplier has the wrong sign
    wanted = [top, top * 1e10 / (top * 1.25 + 1e10), 0.0, top / 0.25 * 2.0 / (top / 0.25 + 2.0)]
    np.testing.assert_allclose(found.d, wanted, rtol=1e-12)
    np.testing.assert_allclose(found.weights, [*wanted, top / 4.0], rtol=1e-12)
    A = np.concatenate([np.eye(2), rows])
    matrix = np.array(problem.hessian) + A.T @ np.diag(found.weights) @ A + 5e-10 * np.eye(2)
    np.testing.assert_allclose(matrix @ found.factored.solve([1.0, -2.0]), [1.0, -2.0], rtol=1e-6)
