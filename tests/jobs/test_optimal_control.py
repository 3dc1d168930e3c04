"""Optimal control: plans of linear problems by matrices, batches, predictive control, statuses, errors, exports."""

from __future__ import annotations

import resource
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.cpu.build import least_lanes, supported
from condyle.backends.cpu.target import AVX512
from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.optimal_control import OptimalControl
from tests.backends.c.test_export import COMPILERS, STRICT
from tests.programs import call

Array = Any
GOAL = np.array([0.5, -0.7])


@cache
def arm() -> condyle.Robot:
    return condyle.chain(2, 3)


def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [at.q - goal, 0.1 * at.v, 0.01 * u]}


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [10.0 * (at.q - goal), at.v]}


def problem(f: Callable[..., Any] = running, end: Callable[..., Any] = last, **options: Any) -> OptimalControl:
    settings: dict[str, Any] = {"knots": 20, "dt": 0.05, "inputs": {"goal": 2}, "bounds": {"u": (-20.0, 20.0)}}
    return OptimalControl(arm(), f, end, **{**settings, **options})


@cache
def solver(dtype: str = "float64", threads: int = 1) -> Any:
    return problem().compile(dtype=dtype, threads=threads)


def plan_of(job: OptimalControl, **inputs: Any) -> Any:
    return job.compile(threads=1).solve(np.zeros(2), np.zeros(2), **{"goal": GOAL, **inputs})


# Linear problems, whose plans follow from matrices.


def cart(bounds: Any = False, integrator: str = "semi_implicit_euler") -> OptimalControl:
    """A mass of 2 kg on a rail."""
    rail = condyle.Builder(gravity=(0.0, 0.0, 0.0)).body("base").body("mass", mass=2.0, inertia=2e-3 * np.eye(3))
    robot = rail.joint("slide", parent="base", child="mass", type="prismatic", axis=(1.0, 0.0, 0.0)).build()

    def costs(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [at.q - goal, 0.3 * at.v, 0.2 * u]}

    def end(at: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [3.0 * (at.q - goal), at.v]}

    return OptimalControl(
        robot, costs, end, knots=12, dt=0.1, inputs={"goal": 1}, bounds={"u": bounds}, integrator=integrator
    )


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "euler"])  # accelerations, and torques, as variables
def test_a_linear_problem_has_the_gains_of_its_riccati_equation(integrator: str) -> None:
    job, h = cart(integrator=integrator), 0.1
    assert job.by_acceleration == (integrator == "semi_implicit_euler")
    A = np.array([[1.0, h], [0.0, 1.0]])
    B = np.array([[0.5 * h * h], [0.5 * h]]) if job.by_acceleration else np.array([[0.0], [0.5 * h]])
    Q, R, P = np.diag([1.0, 0.09]), np.array([[0.04]]), np.diag([9.0, 1.0])
    gains = []
    for _ in range(12):
        K = -np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A + B @ K)
        gains.append(K)
    x, controls = np.array([0.3, -1.0]), []
    start, goal = x.copy(), 0.8
    for K in reversed(gains):
        controls.append(K @ (x - [goal, 0.0]))
        x = A @ x + B @ controls[-1]
    plan = job.compile(threads=1).solve(start[:1], start[1:], goal=[goal])
    assert plan.solved and plan.iterations <= 2
    np.testing.assert_allclose(plan.u, controls, atol=1e-9)
    np.testing.assert_allclose(plan.K, gains[::-1], atol=1e-9)
    np.testing.assert_allclose([plan.q[-1, 0], plan.v[-1, 0]], x, atol=1e-9)


@pytest.mark.slow
def test_the_form_of_joints_is_the_dense_one_where_joints_turn() -> None:
    """Rounding of gains of about 20 is 1e-13; the last robot's planar joint has the dense form alone."""
    cases: list[tuple[int, tuple[str, ...], bool]] = [
        (1, ("revolute", "spherical"), True),
        (2, ("planar", "revolute"), False),
    ]
    for seed, types, floating in cases:
        robot = condyle.random_tree(3, seed, types=types, floating_base=floating)
        rng = np.random.default_rng(seed)
        goal = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))

        def costs(at: Any, u: Any, goal: Any) -> dict[str, Any]:
            return {"residual": [at.difference(goal, at.q), 0.1 * at.v, 0.05 * u]}

        plans = []
        for is_dense in (False, True):
            job = OptimalControl(robot, costs, knots=4, dt=0.05, inputs={"goal": "nq"}, bounds={"u": False})
            assert not job.by_acceleration
            job._is_step = not is_dense
            assert (job.job("float64", 8).running.turning is None) == (is_dense or "planar" in types)
            plans.append(job.compile(threads=1).solve(robot.neutral(), np.full(robot.nv, 0.1), goal=goal, most=2))
        for name in ("q", "v", "u", "K"):
            np.testing.assert_allclose(getattr(plans[0], name), getattr(plans[1], name), rtol=1e-9, atol=1e-10)


def test_a_bound_is_kept_and_its_multiplier_is_the_slope_there() -> None:
    job = cart(bounds=(-0.5, 0.5))
    plan = job.compile(threads=1).solve([0.0], [0.0], goal=[0.8], tolerance=1e-9)
    free = cart().compile(threads=1).solve([0.0], [0.0], goal=[0.8])
    assert plan.solved and np.abs(free.u).max() > 0.6 and plan.cost > free.cost
    assert np.abs(plan.u).max() <= 0.5
    other = job.compile(threads=1).solve([0.0], [0.0], goal=[-0.8], tolerance=1e-9)
    for sign, way in ((1.0, plan), (-1.0, other)):
        presses = sign * way.multipliers["u"] > 1e-3
        assert presses.any() and np.all(np.abs(way.u[presses] - sign * 0.5) < 1e-6)


# Batches, targets, types.


def test_problems_of_a_batch_are_those_alone_to_the_bit_in_any_order() -> None:
    rng = np.random.default_rng(0)
    q, v, goal = (rng.normal(size=(40, 2)) for _ in range(3))
    goal[7] = np.nan
    every, order = solver(), rng.permutation(40)
    plan, other = every.solve(q, v, goal=goal), solver(threads=2).solve(q[order], v[order], goal=goal[order])
    assert plan.status[7] == "not finite" and (np.delete(plan.status, 7) == "solved").all()
    assert len(np.unique(plan.iterations)) > 2  # each ends by itself
    for name in ("q", "v", "u", "cost", "iterations", "K"):
        mine, theirs = getattr(plan, name), getattr(other, name)
        np.testing.assert_array_equal(mine[order], theirs)
    alone = every.solve(q[3], v[3], goal=goal[3])
    np.testing.assert_array_equal(alone.u, plan.u[3])
    grid = every.solve(q[:4].reshape(2, 2, 2), np.zeros(2), goal=GOAL)
    assert grid.q.shape == (2, 2, 21, 2) and grid.u.shape == (2, 2, 20, 2) and grid.cost.shape == (2, 2)
    assert "20 knots" in repr(grid)


def test_panels_are_no_wider_than_registers_need_and_have_code() -> None:
    """Else columns would be turned into rows, with the same answers."""
    for dtype in ("float64", "float32"):
        small = solver(dtype)
        schedule, of = small.job.schedule("cold"), small.job.functions
        assert schedule.lanes == least_lanes(dtype, (3,))
        forms = [small.dynamics.kernel(of[call.kernel]).columns for call in schedule.calls() if call.columns]
        assert len(forms) == 3 and all(form is None or form.lanes == schedule.lanes for form in forms)
        assert any(forms) == (AVX512 in supported())


def test_targets_and_types_agree() -> None:
    """float32: the tolerance is what it resolves; plans are as near as the cost is flat there."""
    plan, small = plan_of(problem()), solver("float32")
    single = small.solve(*(np.zeros(2, np.float32),) * 2, goal=GOAL.astype(np.float32), tolerance=1e-4)
    assert single.q.dtype == np.float32 and single.solved
    assert single.cost == pytest.approx(plan.cost, rel=1e-4)
    slow = problem(knots=4).compile("numpy").solve(np.zeros(2), np.zeros(2), goal=GOAL, most=4)
    fast = problem(knots=4).compile(threads=1).solve(np.zeros(2), np.zeros(2), goal=GOAL, most=4)
    np.testing.assert_allclose(slow.u, fast.u, rtol=1e-9, atol=1e-9)


# Costs, limits, inputs by knot.


def test_equalities_limits_costs_and_inputs_by_knot() -> None:
    def costs(at: Any, u: Any, goal: Any, weight: Any) -> dict[str, Any]:
        speed = [at.v - 1.0, -1.0 - at.v]
        return {"cost": weight * (1.0 - np.cos(at.q - goal)).sum() + 0.005 * (u @ u), "below": speed}

    def end(at: Any, goal: Any) -> dict[str, Any]:
        return {"equal": [at.q - goal, at.v]}

    weight = np.linspace(1.0, 2.0, 21)
    for integrator in ("semi_implicit_euler", "rk4"):
        inputs = {"goal": "nq", "weight": ()}
        job = problem(costs, end, inputs=inputs, by_knot=("weight",), integrator=integrator)
        plan = plan_of(job, weight=weight, tolerance=1e-8)
        assert plan.solved and plan.violation < 1e-8
        np.testing.assert_allclose(plan.q[-1], GOAL, atol=1e-8)
        assert np.abs(plan.v).max() <= 1.0 + 1e-8 < 1.0 + np.abs(plan.v).max()
        assert plan.multipliers["below"].shape == (20, 4) and plan.multipliers["last_equal"].shape == (4,)
        assert plan.multipliers["below"].max() > 1e-3 and plan.multipliers["u"].shape == (20, 2)


def test_the_state_now_may_break_a_limit_of_the_state() -> None:
    plan = problem(bounds={"v": (-1.0, 1.0)}).compile(threads=1).solve(np.zeros(2), [1.5, 0.0], goal=GOAL)
    assert plan.solved and plan.v[0, 0] == 1.5 and np.abs(plan.v[1:]).max() <= 1.0 + 1e-6


def test_dynamics_of_one_s_own() -> None:
    def car(at: Any, u: Any) -> dict[str, Any]:
        return {"q": at.q + 0.05 * at.v, "v": at.v + 0.05 * (u[0] + 0.1 * np.sin(u[0])) * np.ones(2)}

    job = problem(dynamics=car, controls=1, bounds={"u": (-2.0, 2.0)})
    plan = plan_of(job)
    assert plan.solved and plan.u.shape == (20, 1)
    after = plan.v[:-1] + 0.05 * (plan.u + 0.1 * np.sin(plan.u))
    np.testing.assert_allclose(plan.v[1:], after, atol=1e-6)


# Predictive control.


def test_a_step_at_a_converged_plan_changes_nothing() -> None:
    for options in ({}, {"integrator": "rk4"}):
        every = problem(**options).compile(threads=1)
        plan = every.solve(np.zeros(2), np.zeros(2), goal=GOAL, tolerance=1e-10)
        again = every.step(plan, np.zeros(2), np.zeros(2), shift=0, goal=GOAL)
        np.testing.assert_allclose(again.u, plan.u, atol=1e-5)  # 20 N m, at a tolerance of 1e-10 of the cost
        np.testing.assert_allclose(again.q, plan.q, atol=1e-7)
        near = every.solve(np.zeros(2), np.zeros(2), goal=GOAL, start=plan)
        assert near.iterations == 1 and near.cost == pytest.approx(plan.cost, rel=1e-6)
        guess = every.solve(np.zeros(2), np.zeros(2), goal=GOAL, start=(plan.q, plan.v, plan.u))
        assert guess.solved and guess.cost == pytest.approx(plan.cost, rel=1e-6)


def test_ten_thousand_steps_reach_the_goal_and_keep_memory() -> None:
    every, robot = solver(), arm().compile()
    plan = every.solve(np.zeros(2), np.zeros(2), goal=GOAL)
    q, v, most = np.zeros(2), np.zeros(2), 0.0
    for k in range(10_000):
        if k == 1000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if k % 50 == 0:  # the robot moves now and then, and the plan from then on
            goal = GOAL if k % 2000 < 1000 else -GOAL
        plan = every.step(plan, q, v, goal=goal)
        u = plan.u[0]
        most = max(most, float(np.abs(u).max()))
        q, v = robot.step(q, v, u, 0.05)
    assert np.isfinite(q).all() and most <= 20.0
    np.testing.assert_allclose(q, -GOAL, atol=0.05)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # kB


# What cannot be solved.


def test_statuses_say_what_is_wrong_and_plans_stay_finite() -> None:
    def apart(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {**running(at, u, goal), "below": [u[0] - 1.0, 2.0 - u[0]]}

    def undefined(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [np.sqrt(goal - 5.0) * at.q, u]}

    def downwards(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"cost": goal[0] - u @ u}

    cases: list[tuple[OptimalControl, set[str]]] = [
        (problem(apart), {"infeasible"}),
        (problem(bounds={"u": (-1e-3, 1e-3), "v": (0.5, 1.0)}), {"infeasible"}),
        (problem(undefined), {"not finite"}),
        (problem(downwards, bounds={"u": False}), {"most", "no descent", "not finite"}),
        (problem(knots=1), {"solved"}),
        (problem(lambda at, u, goal: {"residual": at.q - goal}), {"solved"}),
    ]
    for job, allowed in cases:
        plan = plan_of(job)
        assert str(plan.status) in allowed
        assert np.isfinite(plan.q).all() and np.isfinite(plan.v).all() and np.isfinite(plan.u).all()
        assert bool(plan.solved) == (plan.status == "solved")


def test_errors_say_what_is_allowed() -> None:
    every, rest = solver(), np.zeros(2)
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("argument 'speed'", lambda: problem(lambda at, u, speed: {"residual": u})),
        ("answers 'wrong'", lambda: problem(lambda at, u, goal: {"wrong": u})),
        ("'cost' is taken", lambda: problem(inputs={"cost": 2})),
        ("tolerance", lambda: every.solve(rest, rest, goal=GOAL, tolerance=0.0)),
        ("most", lambda: every.solve(rest, rest, goal=GOAL, most=0)),
        ("start=", lambda: every.solve(rest, rest, goal=GOAL, start=(rest, rest))),
        ("shift", lambda: every.step(every.solve(rest, rest, goal=GOAL), rest, rest, shift=21, goal=GOAL)),
    ]
    for words, run in wrong:
        with pytest.raises(UnsupportedError, match=words):
            run()
    for words, inputs in (("missing a required argument: 'goal'", {}), ("'other'", {"goal": GOAL, "other": 1.0})):
        with pytest.raises(TypeError, match=words):
            every.solve(rest, rest, **inputs)
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        every.solve(np.zeros(3), rest, goal=GOAL)
    with pytest.raises(ShapeError, match=r"goal has shape \(3,\)"):
        every.solve(rest, rest, goal=np.zeros(3))
    with pytest.raises(ShapeError, match="cost has 2 entries"):
        problem(lambda at, u, goal: {"cost": at.q - goal})


@pytest.mark.slow  # 6 s: the compiler
def test_the_exported_c_computes_the_same(tmp_path: Path) -> None:
    """Its own test holds solve to the library's answers."""
    for dtype in ("float64", "float32"):
        folder = tmp_path / dtype
        problem(bounds={"u": (-20.0, 20.0), "v": (-2.0, 2.0)}).export("c", folder, name="arm", dtype=dtype)
        call([COMPILERS[0], *STRICT, "-march=native", "arm.c", "test.c", "-o", "check", "-lm"], folder)
        said = call(["./check"], folder)
        assert said.count("right") == 24 and "wrong" not in said
        assert "malloc" not in (folder / "arm.c").read_text()
