"""The parts of an iteration of optimal control, on numbers by hand: searches, ends, barriers, bounds, panels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.optimal_control import OptimalControl, _sides
from condyle.jobs.optimal_control.iteration import Knot, convex, log_sum, turned
from condyle.jobs.optimal_control.problem import TAKEN, Rules, Side
from condyle.jobs.optimal_control.scheduled import moved
from condyle.jobs.optimal_control.search import Search, carry
from condyle.jobs.optimal_control.solver import STATUSES, Plan, Solver, checked, rising

NONE: Any = None  # the parts here compute no functions
EPS = 2.0**-52


def state(**entries: float) -> np.ndarray:
    """mu, nu, damping, iterations, status, cost, violation, iterations without a step."""
    names = ("barrier", "penalty", "damping", "count", "status", "value", "error", "failed")
    assert set(entries) <= set(names)
    return np.array([entries.get(name, 0.0) for name in names])


def facts(*rows: tuple[float, float, float, float, float]) -> np.ndarray:
    """Of each knot: cost, sum and largest of the violation, sum of log s, sum of s l."""
    return np.array(rows, np.float64).reshape(-1)


@pytest.mark.parametrize(
    ("barrier", "least", "damping", "failed", "want"),
    [
        (0.5, 0.1, 7.0, 0.0, (0.5, 1e-12)),
        (0.05, 0.1, 7.0, 0.0, (0.1, 1e-12)),
        (0.5, 0.1, 7.0, 1.0, (0.5, 7.0)),
        (0.5, 0.1, 1e8, 1.0, (0.5, 1e-12)),
        (0.5, 0.1, 0.99e8, 3.0, (0.5, 0.99e8)),
    ],
)
def test_a_plan_hands_on_its_barrier_and_what_kept_it_from_a_step(
    barrier: float, least: float, damping: float, failed: float, want: tuple[float, float]
) -> None:
    """Damping only where no step was found, and not the one that ended it."""
    start = state(barrier=barrier, penalty=3.0, damping=damping, count=9, status=1, value=5, error=6, failed=failed)
    found = carry(NONE, {"start_state": start, "asked": np.array([1e-6, 100.0, least])})
    np.testing.assert_array_equal(found["state"], state(barrier=want[0], penalty=3.0, damping=want[1]))
    np.testing.assert_array_equal(found["reg"], [want[1]])


SEARCH = Search(knots=2, rows=4, sums=5, corner=1, eps=EPS)
FLAT = facts((2.0, 0.0, 0.0, 3.0, 0.5), (1.0, 0.0, 0.0, 1.0, 0.1))


def begun(moves: Any, V: float = -2.0, knots: Any = FLAT, **entries: float) -> tuple[np.ndarray, list[float]]:
    """The state, and the search: lengths of both steps, tries, phi, its slope, and what the model goes down by."""
    values = {"state": state(**{"barrier": 0.5, "penalty": 2.0, **entries}), "facts": knots}
    values |= {"moves": np.array(moves, np.float64).reshape(-1), "V": np.array([[9.0, V], [9.0, 9.0]])}
    found = SEARCH.begin(NONE, values)
    return found["new_state"], found["search"].tolist()


def test_a_search_begins_at_the_longest_step_within_the_limits() -> None:
    """0.995 of the way to s = 0, and to l = 0; phi = cost - mu log s + nu |violation|."""
    after, found = begun([(-3.0, 1.0, 0.1, 1.99), (-1.0, 2.0, 0.5, 0.2)])
    assert found == pytest.approx([1.0, 0.5, 0.0, 3.0 - 0.5 * 4.0, -4.0 - 0.5 * 3.0, 1.0], rel=1e-15)
    np.testing.assert_array_equal(after, state(barrier=0.5, penalty=2.0))
    assert begun([(-3.0, 0.0, 1.99, 0.0), (0.0, 0.0, 0.0, 3.98)])[1][:2] == [0.5, 0.25]
    assert begun([(-3.0, 0.0, -1.0, -1.0), (0.0, 0.0, -2.0, -2.0)])[1][:2] == [1.0, 1.0]
    assert begun([(1e30, 0.0, 0.0, 0.0), (0.0,) * 4])[1][:2] == [0.0, 0.0], "the slope is no number"
    assert begun([(0.99e30, 0.0, 0.0, 0.0), (0.0,) * 4])[1][:2] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("violation", "slope", "V", "penalty"),
    [
        (2.0, 0.7, -9.0, 2.0),
        (2.0, 7.0, -9.0, 7.5),
        (2.0, -1.0, 28.0, 15.0),
        (0.0, 7.0, 28.0, 2.0),
        (EPS, 7.0, 28.0, 2.0),
        (0.5, 0.99 * 0.7e12 / 3.0, -9.0, 0.99e12),
        (0.5, 1.01 * 0.7e12 / 3.0, -9.0, 2.0),
    ],
)
def test_the_penalty_makes_the_slope_go_down(violation: float, slope: float, V: float, penalty: float) -> None:
    """1.5 times what makes 0.3 of the violation count, by the slope or the model; not where it would be 1e12."""
    at = facts((2.0, violation, violation, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 0.0))
    after, found = begun([(slope, 0.0, 0.0, 0.0), (0.0,) * 4], V, at)
    assert after[1] == pytest.approx(penalty, rel=1e-12)
    assert found[4] == pytest.approx(slope - penalty * violation, rel=1e-12)
    assert found[3] == pytest.approx(3.0 + penalty * violation, rel=1e-12) and found[5] == abs(V) / 2.0


def judged(cost: float, length: float = 0.5, tries: float = 0.0, down: float = -2.0, **entries: float) -> Any:
    before = np.array([length, 0.8, tries, 10.0, down, 7.0])
    at = facts((cost, 0.0, 0.0, 0.0, 0.0), (0.0,) * 5)
    values = {"state": state(**{"barrier": 0.5, "penalty": 2.0, **entries}), "search": before, "facts": at}
    found = SEARCH.judge(NONE, values)
    return found["accepted"].tolist(), found["new_search"].tolist()


def test_a_trial_is_taken_where_phi_is_low_enough() -> None:
    """By a part of 1e-4 of the slope, and the rounding of 10 eps (1 + phi + nu times all terms)."""
    enough, rounding = 10.0 - 1e-4 * 0.5 * 2.0, 10.0 * EPS * (1.0 + 10.0 + 2.0 * 5)
    assert judged(enough)[0] == [1.0] and judged(enough + 0.9 * rounding)[0] == [1.0]
    assert judged(enough + 1.2 * rounding)[0] == [0.0]
    assert judged(10.0 + 0.9 * rounding, down=5.0)[0] == [1.0], "a slope up asks for nothing"
    assert judged(10.0 + 1.2 * rounding, down=5.0)[0] == [0.0]
    assert judged(99.0, length=0.0)[0] == [1.0], "where nothing moves"
    assert judged(0.0)[1] == [0.5, 0.8, 1.0, 10.0, -2.0, 7.0]


def test_a_trial_that_is_refused_is_halved_and_none_after_nine() -> None:
    assert judged(99.0)[1] == [0.25, 0.8, 1.0, 10.0, -2.0, 7.0]
    assert judged(99.0, tries=7.0)[1][:3] == [0.25, 0.8, 8.0]
    assert judged(99.0, tries=8.0)[1][:3] == [0.0, 0.0, 9.0]
    assert judged(0.0, tries=8.0)[1][:3] == [0.5, 0.8, 9.0]


def test_what_is_judged_are_cost_barrier_and_violation_of_all_knots() -> None:
    at = facts((2.0, 1.0, 9.0, 3.0, 0.0), (4.0, 0.5, 9.0, -1.0, 0.0))
    phi = 6.0 - 0.5 * 2.0 + 2.0 * 1.5
    for before, taken in ((phi, 1.0), (phi - 1e-9, 0.0), (phi + 1e-9, 1.0)):
        search = np.array([1.0, 1.0, 0.0, before, 0.0, 0.0])
        values = {"state": state(barrier=0.5, penalty=2.0), "search": search, "facts": at}
        assert SEARCH.judge(NONE, values)["accepted"] == [taken]


GOOD: dict[str, Any] = {"cost": 4.0, "worst": 1e-7, "gap": 1e-7, "length": 1.0, "dual": 1.0, "tries": 1.0}
GOOD |= {"promised": 1e-7, "damping": 1e-12, "barrier": 1e-3, "count": 3.0, "failed": 2.0, "least": 0.0, "rows": 4}


def finished(**changes: Any) -> Any:
    """After an iteration of a problem with a tolerance of 1e-6 and 10 iterations."""
    at = SimpleNamespace(**{**GOOD, **changes})
    before = state(barrier=at.barrier, penalty=2.0, damping=at.damping, count=at.count, failed=at.failed)
    rows = facts((at.cost, 5.0, at.worst, 0.0, at.gap), (0.0, 5.0, 0.5 * at.worst, 0.0, 0.0))
    search = np.array([at.length, at.dual, at.tries, 0.0, 0.0, at.promised])
    values = {"state": before, "search": search, "facts": rows, "asked": np.array([1e-6, 10.0, at.least])}
    found = Search(2, at.rows, 5, 1, EPS).finish(NONE, values)
    assert found["new_reg"][0] == found["new_state"][2]
    return found["new_state"], found["done"].tolist() == [1.0]


SIZE = 4.0 + 1e-3


@pytest.mark.parametrize(
    ("change", "status", "done"),
    [
        ({}, 1.0, True),
        ({"worst": 1e-6}, 1.0, True),
        ({"worst": 1.01e-6}, 0.0, False),
        ({"gap": 0.99e-6 * SIZE}, 1.0, True),
        ({"gap": 1.01e-6 * SIZE}, 0.0, False),
        ({"promised": 0.99e-6 * SIZE}, 1.0, True),
        ({"promised": 1.01e-6 * SIZE}, 0.0, False),
        ({"damping": 1e-5}, 1.0, True),
        ({"damping": 1.01e-5}, 0.0, False),
        ({"cost": -4.0, "gap": 0.99e-6 * SIZE}, 1.0, True),
        ({"cost": 0.0, "gap": 0.99e-9, "promised": 0.0}, 1.0, True),
        ({"cost": 0.0, "gap": 1.01e-9, "promised": 0.0}, 0.0, False),
        ({"worst": 1.0, "count": 9.0}, 0.0, True),
        ({"worst": 1.0, "count": 8.0}, 0.0, False),
        ({"worst": 1.0, "damping": 1e7, "length": 0.0}, -1.0, True),
        ({"promised": 1.0, "damping": 1e7, "length": 0.0}, -2.0, True),
        ({"promised": 1.0, "damping": 0.99e7, "length": 0.0}, 0.0, False),
        ({"cost": 1e30}, -3.0, True),
        ({"cost": np.nan}, -3.0, True),
        ({"cost": -1.01e30}, -3.0, True),
        ({"cost": 0.99e30, "promised": 1e30}, 0.0, False),
    ],
)
def test_a_plan_is_solved_where_all_is_within_the_tolerance(change: dict[str, Any], status: float, done: bool) -> None:
    after, ends = finished(**change)
    assert (after[4], ends) == (status, done)
    if np.isfinite(after[5]):
        at = {**GOOD, **change}
        assert (after[1], after[3], after[5], after[6]) == (2.0, at["count"] + 1.0, at["cost"], at["worst"])


@pytest.mark.parametrize(
    ("change", "barrier"),
    [
        ({"gap": 4e-4, "length": 0.71}, 1e-5),
        ({"gap": 4e-4, "length": 0.7}, 7e-5),
        ({"gap": 4e-4, "dual": 0.7}, 7e-5),
        ({"gap": 4e-4, "dual": 0.31}, 7e-5),
        ({"gap": 4e-4, "length": 0.3}, 1e-3),
        ({"gap": 40.0}, 1e-3),
        ({"gap": 4e-4, "length": 0.0}, 1e-3),
        ({"gap": 0.0}, 0.1 * 1e-6 * SIZE / 4),
        ({"gap": 4e-4, "least": 0.5}, 0.5),
        ({"gap": 4e-4, "rows": 8}, 5e-6),
    ],
)
def test_the_barrier_goes_down_with_the_gap_where_steps_are_long(change: dict[str, Any], barrier: float) -> None:
    """A tenth of the mean gap beyond 0.7 of a step, 0.7 of it beyond 0.3; never up, and not below what is asked."""
    assert finished(**change)[0][0] == pytest.approx(barrier, rel=1e-12)


def test_without_limits_there_is_no_barrier_and_no_gap() -> None:
    after, ends = finished(rows=0, gap=1.0, barrier=0.25)
    assert (after[0], after[4], ends) == (0.25, 1.0, True)


@pytest.mark.parametrize(
    ("change", "damping", "failed"),
    [
        ({}, 1e-12, 0.0),
        ({"damping": 1e-6}, 1e-12, 0.0),
        ({"damping": 2e-6}, 2e-8, 0.0),
        ({"damping": 2e-6, "tries": 2.0}, 2e-8, 0.0),
        ({"damping": 2e-6, "tries": 3.0}, 1e-2, 0.0),
        ({"damping": 0.5, "tries": 3.0}, 5.0, 0.0),
        ({"length": 0.0}, 1e-6, 3.0),
        ({"length": 0.0, "damping": 2e-6}, 2e-5, 3.0),
    ],
)
def test_damping_grows_after_hard_searches_and_shrinks_after_easy_ones(
    change: dict[str, Any], damping: float, failed: float
) -> None:
    after, _ = finished(**change)
    assert after[2] == pytest.approx(damping, rel=1e-12) and after[7] == failed


# Pieces of a knot.


RULES = Rules(None, None, None, (), {}, (), ())
PLAIN = Knot(2, 1, 4, RULES, None, (), EPS)


def test_panels_are_columns_in_groups_of_lanes() -> None:
    matrix = np.arange(10.0).reshape(2, 5)
    want = np.zeros((2, 2, 4))
    want[0], want[1, :, 0] = matrix[:, :4], matrix[:, 4]
    np.testing.assert_array_equal(PLAIN.panel(matrix), want)
    np.testing.assert_array_equal(PLAIN.panel(matrix[:, :4]), want[:1])


def test_numbers_of_a_knot() -> None:
    assert (PLAIN.nx, PLAIN.variables, PLAIN.delta) == (4, ("q", "v"), 2.0**-26)
    assert [Knot(2, 1, 4, RULES, None, (), eps).together for eps in (EPS, 1e-9, 1.1e-9, 2.0**-23)] == [12, 12, 4, 4]
    moving = Knot(2, 1, 4, RULES, condyle.functions.FUNCTIONS["step"], (), EPS)
    assert moving.variables == ("q", "v", "u")
    sides = [Side(name, 7, 1, 1.0, 0.0, 1.0) for name in ("q", "v", "u")]
    assert [moving.variable(side) for side in sides] == [1, 3, 5]


@pytest.mark.parametrize("together", [1, 2, 4, 12])
def test_a_sum_of_logarithms_is_that_of_products(together: int) -> None:
    x = np.array([1e-9, 2.0, 3.0, 4.0, 5.0])
    assert log_sum(x, together) == pytest.approx(np.log(x).sum(), rel=1e-14)


def test_a_matrix_is_made_positive_by_its_pivots() -> None:
    """Itself where it is positive; a pivot's sign changes before what is behind it is eliminated by it. Pivots are 1e-9
    of the largest diagonal at least.
    """
    L, D = np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [-1.0, 3.0, 1.0]]), np.array([2.0, 3.0, 5.0])
    H = L @ np.diag(D) @ L.T
    np.testing.assert_allclose(convex(H), H, rtol=1e-13)
    np.testing.assert_allclose(convex(np.array([[-2.0, 4.0], [4.0, 1.0]])), [[2.0, 4.0], [4.0, 15.0]], rtol=1e-13)
    np.testing.assert_allclose(convex(H - np.diag([0.0, 6.0, 0.0])), H, rtol=1e-13)  # the second pivot was -3
    np.testing.assert_allclose(convex(np.diag([4.0, 0.0])), np.diag([4.0, 4e-9]), rtol=1e-13)


def test_slopes_of_a_joint_that_turns() -> None:
    """J1 = [E, -h [v] E; 0, E] and J2 = h [1, -h [v] Jr; 0, Jr] of a free joint; E and h Jr of a spherical one."""
    rng, h = np.random.default_rng(0), 0.1
    E, Jr, v = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=6)
    by_q, by_v = turned(E, Jr, v[:3], h)
    assert by_q is E and np.array_equal(by_v, h * Jr)
    cross = np.cross(np.eye(3), v[:3]).T @ np.diag([-1.0, -1.0, -1.0])
    np.testing.assert_allclose(cross @ E[:, 0], np.cross(v[:3], E[:, 0]), rtol=1e-14)
    by_q, by_v = turned(E, Jr, v, h)
    zero = np.zeros((3, 3))
    np.testing.assert_allclose(by_q, np.block([[E, -h * cross @ E], [zero, E]]), rtol=1e-13)
    np.testing.assert_allclose(by_v, h * np.block([[np.eye(3), -h * cross @ Jr], [zero, Jr]]), rtol=1e-13)


SIDES = (Side("q", 0, 0, 1.0, 2.0, 4.0), Side("v", 1, 1, -1.0, -3.0, 1.0), Side("u", 0, 0, 1.0, 5.0, 5.0))
HELD = Knot(2, 1, 4, Rules(None, None, None, SIDES, {}, (True, True, False), ()), None, (), EPS)
POINT: dict[str, Any] = {"q": np.array([4.0, 0.0]), "v": np.array([0.0, -1.0]), "u": np.array([10.0])}


def test_bounds_are_rows_in_units_of_their_scale() -> None:
    """(4 - 2) / 4, -(-1 - -3) and (10 - 5) / 5; of the first knot those of the state are -1."""
    below, equal = HELD.limits(NONE, POINT)
    assert below.tolist() == [0.5, -2.0, 1.0] and equal is None
    assert HELD.limits(NONE, {**POINT, "free": 1.0})[0].tolist() == [0.5, -2.0, 1.0]
    assert HELD.limits(NONE, {**POINT, "free": 0.0})[0].tolist() == [-1.0, -1.0, 1.0]
    assert PLAIN.limits(NONE, POINT) == (None, None)


def test_slacks_begin_at_a_tenth_at_least() -> None:
    found = HELD.prepare(NONE, {**POINT, "state": state(barrier=0.5)})
    np.testing.assert_allclose(found["slack"], [0.1, 2.0, 0.1], rtol=1e-15)
    np.testing.assert_allclose(found["multiplier"], [5.0, 0.25, 5.0], rtol=1e-15)


def test_a_step_of_slacks_and_multipliers_solves_both_equations_in_first_order() -> None:
    """c + s + dc + ds = 0 and s l + ds l + s dl = mu; MOVES say the longest steps."""
    rng = np.random.default_rng(1)
    slack, multiplier, dx, du = rng.uniform(1, 2, 3), rng.uniform(1, 2, 3), rng.normal(size=4), rng.normal(size=1)
    knot = Knot(2, 1, 4, HELD.rules, condyle.functions.FUNCTIONS["step"], (), EPS)
    gradient = rng.normal(size=5)
    more = {"slack": slack, "multiplier": multiplier, "dx": dx, "du": du, "gradient": gradient}
    found = knot.step(NONE, {**POINT, **more, "state": state(barrier=0.5)})
    change = np.array([dx[0] / 4.0, -dx[3], du[0] / 5.0])
    dslack, dmultiplier = found["dslack"], found["dmultiplier"]
    np.testing.assert_allclose(np.array([0.5, -2.0, 1.0]) + slack + change + dslack, 0.0, atol=1e-14)
    np.testing.assert_allclose(slack * multiplier + dslack * multiplier + slack * dmultiplier, 0.5, rtol=1e-13)
    slope, logs, boundary, dual = found["moves"]
    assert slope == pytest.approx(gradient @ [*dx, *du], rel=1e-13)
    assert logs == pytest.approx((dslack / slack).sum(), rel=1e-13)
    assert boundary == pytest.approx((-dslack / slack).max(), rel=1e-13)
    assert dual == pytest.approx((-dmultiplier / multiplier).max(), rel=1e-13)


def test_facts_of_a_knot() -> None:
    """No cost here: what is violated, logarithms, and the gap."""
    slack, multiplier = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    found = HELD.measure(NONE, {**POINT, "slack": slack, "multiplier": multiplier})["facts"]
    np.testing.assert_allclose(found, [0.0, 1.5 + 0.0 + 4.0, 4.0, np.log(6.0), 32.0], rtol=1e-14)


# What people say of a problem.


@pytest.mark.parametrize(
    ("lower", "upper", "want"),
    [
        (-1.0, 3.0, [(1.0, 3.0, 2.0), (-1.0, -1.0, 2.0)]),
        (-np.inf, 3.0, [(1.0, 3.0, 3.0)]),
        (-np.inf, -0.5, [(1.0, -0.5, 1.0)]),
        (-5.0, np.inf, [(-1.0, -5.0, 5.0)]),
        (2.0, 2.0, [(1.0, 2.0, 2.0), (-1.0, 2.0, 2.0)]),
        (0.5, 0.5, [(1.0, 0.5, 1.0), (-1.0, 0.5, 1.0)]),
        (-np.inf, np.inf, []),
    ],
)
def test_bounds_are_sides_in_units_of_half_of_the_range(lower: float, upper: float, want: Any) -> None:
    found = _sides("q", 3, 2, lower, upper)
    assert [(side.sign, side.limit, side.scale) for side in found] == want
    assert all(side[:3] == ("q", 3, 2) for side in found)


ARM = condyle.chain(2, 3)


def problem(robot: Any = ARM, **options: Any) -> OptimalControl:
    return OptimalControl(robot, lambda at, u: {"residual": u}, **{"knots": 3, "dt": 0.05, **options})


@pytest.mark.parametrize("value", [3.0, (1.0,), (1.0, 2.0, 3.0), "ab", (np.zeros(3), 1.0), None])
def test_bounds_that_are_no_pair_are_refused(value: Any) -> None:
    said = r"^bounds: q: give True, False or \(lower, upper\), each \(2,\) or a number$"
    with pytest.raises(ShapeError, match=said):
        problem(bounds={"q": value})


@pytest.mark.parametrize("value", [(1.0, -1.0), (np.nan, 1.0), (0.0, np.nan), ([0.0, 2.0], [1.0, 1.0])])
def test_bounds_that_no_number_meets_are_refused(value: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"^bounds: q: a lower bound is above the upper one, or is no number$"):
        problem(bounds={"q": value})
    assert problem(bounds={"q": (1.0, 1.0)})._sides[0].limit == 1.0


def test_bounds_of_the_model() -> None:
    robot = condyle.load("iiwa14")
    sides = problem(robot, bounds={"u": True, "q": True, "v": True})._sides
    limits = {(side.quantity, side.entry, side.sign): side.limit for side in sides}
    for k in range(7):
        assert limits["u", k, 1.0] == robot.effort[k] and limits["u", k, -1.0] == -robot.effort[k]
        assert limits["v", k, 1.0] == robot.velocity[k] and limits["v", k, -1.0] == -robot.velocity[k]
        assert limits["q", k, 1.0] == robot.upper[k] and limits["q", k, -1.0] == robot.lower[k]
    assert len(limits) == 42 and problem(robot, bounds={"u": False})._sides == ()
    assert {side.quantity for side in problem(robot)._sides} == {"u"}


def test_actuators_are_the_controls_and_bring_their_ranges() -> None:
    motor = condyle.Actuator("a", {ARM.joint_names[1]: 1.0}, control=(-3.0, 5.0))
    found = problem(ARM.with_actuators((motor,)), actuators=True)
    assert (found.nu, found._root, found.by_acceleration) == (1, 0, False)
    assert [(side.entry, side.sign, side.limit) for side in found._sides] == [(0, 1.0, 5.0), (0, -1.0, -3.0)]


def test_a_floating_base_has_no_controls() -> None:
    base = condyle.random_tree(2, 3, types=("revolute",), floating_base=True)
    found = problem(base)
    assert (found.nu, found._root, found.by_acceleration) == (base.nv - 6, 6, False)
    rock = condyle.Builder("rock").body("stone", mass=1.0, inertia=1e-3 * np.eye(3))
    rock.joint("free", parent="world", child="stone", type="free")
    with pytest.raises(UnsupportedError, match=r"^OptimalControl: robot 'rock' has no joint to control$"):
        problem(rock.build())
    with pytest.raises(
        UnsupportedError, match=r"^OptimalControl: dynamics= needs controls=, the number of entries of u$"
    ):
        problem(dynamics=lambda at, u: {"q": at.q, "v": at.v})


def test_an_input_may_not_have_the_name_of_an_array_of_ours() -> None:
    for name in ("q", "dslack", "Hx", "QU", "costate", "curves", "after_q", "x_bar", "y_weight", "last_x", "reg", "E"):
        assert TAKEN.fullmatch(name), name
    for name in ("goal", "w", "target", "quad", "weight_of", "lastly", "K2", "dslacks"):
        assert not TAKEN.fullmatch(name), name


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, np.inf])
def test_tolerances_are_above_0(tolerance: float) -> None:
    with pytest.raises(UnsupportedError, match=rf"^solve: tolerance={tolerance!r}, expected a number above 0$"):
        checked(1, tolerance)
    assert checked(7, 1e-300) == 7


def test_flags_rise_where_a_foot_lands() -> None:
    active = np.array([[[1, 0], [0, 1], [1, 1], [1, 0]]], "f4")
    want = [[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]]
    assert (
        rising(active, np.dtype("f8")).tolist() == want and rising(active.astype(int), np.dtype("f4")).tolist() == want
    )


def test_statuses_by_their_numbers() -> None:
    """From -3 on."""
    assert STATUSES == ("not finite", "no descent", "infeasible", "most", "solved")
    rows = np.zeros((5, 8))
    rows[:, 3], rows[:, 4], rows[:, 5], rows[:, 6] = np.arange(5) + 10, (-3, -2, -1, 0, 1), np.arange(5), 0.5
    plan = Plan(NONE, SimpleNamespace(state=rows), {})
    assert plan.status.tolist() == [*STATUSES] and plan.solved.tolist() == [False] * 4 + [True]
    assert plan.iterations.tolist() == [10, 11, 12, 13, 14] and plan.cost.tolist() == [0, 1, 2, 3, 4]
    assert plan.violation.tolist() == [0.5] * 5


def test_numbers_that_every_call_has() -> None:
    few: Any = SimpleNamespace(knots=3)
    assert Solver.constant(few, "free").tolist() == [[0.0], [1.0], [1.0]]
    assert Solver.constant(few, "state").tolist() == [0.1, 1.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0]
    solver = problem().compile("numpy", dtype="float32")
    assert repr(solver) == "<Solver of 3 knots: target numpy, float32>"
    assert solver._tight == pytest.approx(1e4 * 2.0**-23) and problem().compile("numpy")._tight == 1e-6
    first = solver._row(1.0, 2.0)
    assert first is solver._row(1.0, 2.0) and first.dtype == np.float32
    for k in range(63):
        solver._row(float(k), 0.0)
    assert len(solver._numbers) == 64 and first is solver._row(1.0, 2.0)
    solver._row(-1.0, 0.0)
    assert [*solver._numbers] == [(-1.0, 0.0)]


@pytest.mark.parametrize(
    ("rows", "shift", "want"),
    [
        (4, 0, [(0, 1, 0, 4)]),
        (4, 1, [(1, 1, 0, 3), (3, 0, 3, 1)]),
        (4, 3, [(3, 1, 0, 1), (3, 0, 1, 3)]),
        (4, 4, [(3, 0, 0, 4)]),
        (1, 0, [(0, 1, 0, 1)]),
    ],
)
def test_a_plan_is_moved_on_and_its_last_row_repeated(rows: int, shift: int, want: list[tuple[int, ...]]) -> None:
    """Of each move: where it reads, by which steps, where it writes, and how many rows."""
    moves: Any = moved("from", "to", rows, shift)
    assert [(move.source.row, move.source.step, move.target.row, move.count) for move in moves] == want
    assert {(move.source.slab, move.target.slab, move.target.step) for move in moves} == {("from", "to", 1)}
