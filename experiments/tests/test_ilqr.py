"""iLQR solves a linear-quadratic problem exactly, in blocks too, and stops where differences of the cost are zero."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from experiments import riccati
from experiments.ilqr import Options, Solver
from experiments.paths import Path
from experiments.problems import Functions, Problem, Weights
from experiments.tests.gantries import gantry, least_cost

PLAIN = Options(iterations=1, rho=0.0, rho_limits=(0.0, 1e7))


@pytest.fixture(scope="module")
def sliding():
    return Functions(gantry())


@pytest.fixture(scope="module")
def reaching():
    running, final = Weights(0.1, 0.0, 0.1, 1e-4), Weights(100.0, 0.0, 10.0, 1e-4)
    goal = np.array([0.4, 0.1, 0.9])
    return Functions(Problem(condyle.load("iiwa14"), "iiwa_link_7", 8, 0.02, running, final, np.zeros(7), goal))


def at_rest(functions, trials, seed=0):
    """Robots that stand still somewhere, held against gravity: q, v and u of every knot."""
    n, knots = functions.problem.robot.nv, functions.problem.knots
    q = np.repeat(np.random.default_rng(seed).uniform(-1.0, 1.0, (trials, 1, n)), knots, axis=1)
    return q, np.zeros_like(q), functions.dynamics.generalized_gravity(q)


def test_one_iteration_solves_a_linear_quadratic_problem(sliding):
    q, v, u = at_rest(sliding, 3)
    found = Solver(sliding, PLAIN).solve(q, v, u)
    assert (found.length == 1.0).all()
    for trial in range(3):
        torques, cost = least_cost(sliding.problem, np.concatenate([q[trial, 0], v[trial, 0]]))
        assert np.isclose(found.cost[trial, 1], cost, rtol=1e-9)
        assert np.allclose(found.path.u[trial, :-1], torques, rtol=1e-6, atol=1e-7)
        assert (found.path.u[trial, -1] == 0.0).all()


@pytest.mark.parametrize("blocks", [(4, 1), (4, 2), (4, 4), (2, 2)])
def test_blocks_come_to_the_same_solution(sliding, blocks):
    q, v, u = at_rest(sliding, 2)
    options = Options(
        iterations=25, rho=0.0, rho_limits=(0.0, 1e7), backward_blocks=blocks[0], forward_blocks=blocks[1]
    )
    found = Solver(sliding, options).solve(q, v, u)
    for trial in range(2):
        torques, cost = least_cost(sliding.problem, np.concatenate([q[trial, 0], v[trial, 0]]))
        assert np.isclose(found.cost[trial, -1], cost, rtol=1e-8)
        assert np.allclose(found.path.u[trial, :-1], torques, atol=1e-4)
    assert np.abs(found.path.defect).max(initial=0.0) < 1e-6
    assert found.path.defect.shape == (2, blocks[1] - 1, 6)


@pytest.mark.parametrize("rho", [0.0, 12.5])
def test_gains_are_the_textbooks_by_a_and_b(reaching, rho):
    """The acceleration as the input changes nothing: gains by u are those of A and B of the Euler step."""
    problem = reaching.problem
    rng = np.random.default_rng(3)
    q, v, u = (rng.uniform(-1.0, 1.0, (1, 8, 7)) for _ in range(3))
    u[:, -1] = 0.0
    solver = Solver(reaching, Options(iterations=1))
    path = Path(q, v, u, np.zeros((1, 0, 14)))
    goals = np.broadcast_to(problem.goal, (1, 8, 3)).copy()
    gains, _ = solver.backward_pass(path, goals, solver.no_values(path), np.array([rho]))
    A, B = problem.robot.compile(integrator="euler").step_derivatives(q[0], v[0], u[0], problem.h)
    J = problem.robot.compile(frames=("iiwa_link_7",), reference_frame="local_world_aligned").frame_jacobians(q[0])[
        :, 0, :3
    ]
    tip = reaching.dynamics.frame_placements(q[0]).translation[:, 0]
    V, p, g1 = np.zeros((14, 14)), np.zeros(14), 0.0
    for j in reversed(range(8)):
        w = problem.weights()[j]
        H = np.zeros((21, 21))
        H[:7, :7] = w[0] * J[j].T @ J[j]
        H[7:14, 7:14], H[14:, 14:] = w[2] * np.eye(7), w[3] * np.eye(7)
        g = np.concatenate([w[0] * J[j].T @ (tip[j] - problem.goal), w[2] * v[0, j], w[3] * u[0, j]])
        still = j == 7
        knot = riccati.textbook(V, p, *((0 * A[j], 0 * B[j]) if still else (A[j], B[j])), H, g, rho)
        V, p, g1 = knot.V, knot.p, g1 + knot.g[0]
        assert np.allclose(gains.K[0, j], knot.K, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(knot.K).max()))
        assert np.allclose(gains.k[0, j], knot.k, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(knot.k).max()))
    assert np.isclose(gains.g1[0], g1, rtol=1e-7)


def test_a_given_slope_serves_as_the_robots_own(reaching):
    def slope(q, v, a):
        by = reaching.dynamics.inverse_dynamics_derivatives(q, v, a)
        return np.concatenate([by.dtau_dq, by.dtau_dv], axis=-1)

    options = Options(iterations=3, backward_blocks=2, forward_blocks=2)
    own, given = (Solver(reaching, options, source).solve(*at_rest(reaching, 2)) for source in (None, slope))
    assert np.allclose(own.cost, given.cost, rtol=1e-10)
    assert (own.length[:, 0] > 0.0).all()


def test_it_stops_where_differences_of_the_cost_are_zero(reaching):
    q, v, u = at_rest(reaching, 2, seed=4)
    found = Solver(reaching, Options(iterations=60)).solve(q, v, u)
    assert (np.diff(found.cost, axis=1) <= 0.0).all()
    begin = abs(slope(reaching, q[0], v[0], u[0])).max()
    end = abs(slope(reaching, *(part[0] for part in (found.path.q, found.path.v, found.path.u)))).max()
    assert end < 1e-5 * begin


def slope(functions, q, v, u):
    """Central differences of the cost by the torques, from the first state."""
    problem, e = functions.problem, 1e-5
    each = np.eye(56).reshape(56, 8, 7)
    torques = u + e * np.concatenate([each, -each])
    torques[:, -1] = 0.0
    at = (np.repeat(q[:1], 112, axis=0), np.repeat(v[:1], 112, axis=0))
    zero = np.zeros((112, 8, 7))
    path = functions.follow.rollout(
        *at, zero, zero, torques, zero, np.zeros((7, 14)), 0.0, problem.steps(), problem.goal, problem.rest,
        problem.weights(), by_time=("q0", "v0", "u0", "k", "h", "w"), sum=("cost",), last=True,
    )  # fmt: skip
    return ((path.cost[:56] - path.cost[56:]) / (2 * e))[:49]


def test_a_trial_whose_gradient_is_no_number_keeps_its_trajectory(reaching):
    q, v, u = at_rest(reaching, 2, seed=5)
    dynamics = reaching.dynamics

    def broken(q, v, a):
        by = dynamics.inverse_dynamics_derivatives(q, v, a)
        found = np.concatenate([by.dtau_dq, by.dtau_dv], axis=-1)
        found[1] = np.nan
        return found

    found = Solver(reaching, Options(iterations=4), broken).solve(q, v, u)
    assert (found.length[0] > 0.0).any() and (found.length[1] == 0.0).all()
    assert np.array_equal(found.path.q[1], q[1]) and (found.cost[1] == found.cost[1, 0]).all()


def test_blocks_that_do_not_fit_are_refused(sliding):
    with pytest.raises(ValueError, match="a multiple of forward_blocks=3"):
        Options(backward_blocks=4, forward_blocks=3)
    with pytest.raises(ValueError, match="16 knots are no multiple of 3"):
        Solver(sliding, Options(backward_blocks=3))
